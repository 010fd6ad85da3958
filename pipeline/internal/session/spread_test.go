package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
)

func names(parts []part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Name)
	}
	return out
}

func TestSpread(t *testing.T) {
	parts := spread([]steps.Member{
		{Name: "prefill", Spec: steps.ServerSpec{GPUs: 1, Port: 8000}},
		{Name: "decode", Spec: steps.ServerSpec{GPUs: 8, Nodes: 2, Node: 1, Port: 8001}},
		{Name: "there", Spec: steps.ServerSpec{URL: "http://h", Nodes: 3}},
	})
	if diff := cmp.Diff([]string{"prefill", "decode", "decode.node1", "there"}, names(parts)); diff != "" {
		t.Fatal(diff)
	}
	for i, want := range []struct{ node, gpus, port, server, rank int }{{0, 1, 8000, 0, 0}, {1, 4, 8001, 1, 0}, {2, 4, 0, 1, 1}, {0, 0, 0, 2, 0}} {
		p := parts[i]
		if p.Spec.Node != want.node || p.Spec.GPUs != want.gpus || p.Spec.Port != want.port || p.server != want.server || p.rank != want.rank {
			t.Errorf("%s: %+v, want %+v", p.Name, p, want)
		}
	}
	alone := spread([]steps.Member{{Spec: steps.ServerSpec{Nodes: 2}}})
	if diff := cmp.Diff([]string{"node0", "node1"}, names(alone)); diff != "" {
		t.Error(diff)
	}
}

// Each host counts its own GPUs, and what cannot be there is refused with a remedy.
func TestPlacedOnHosts(t *testing.T) {
	image := func(name string, node, nodes, gpus int) steps.Member {
		return steps.Member{Name: name, Spec: steps.ServerSpec{Image: "engine:v1", Node: node, Nodes: nodes, GPUs: gpus}}
	}
	program := func(node, nodes int) steps.Member {
		return steps.Member{Name: "p", Spec: steps.ServerSpec{Executable: []string{"vllm"}, Node: node, Nodes: nodes}}
	}
	hosts := ground{hosts: 2, together: true}
	for name, tt := range map[string]struct {
		members []steps.Member
		on      ground
		want    map[string]string
		err     string
	}{
		"one on each":     {members: []steps.Member{image("p", 0, 1, 2), image("d", 1, 1, 2)}, on: hosts, want: map[string]string{"p": "0,1", "d": "0,1"}},
		"both on one":     {members: []steps.Member{image("p", 1, 1, 1), image("d", 1, 1, 1)}, on: hosts, want: map[string]string{"p": "0", "d": "1"}},
		"spread":          {members: []steps.Member{image("s", 0, 2, 4), image("d", 1, 1, 1)}, on: hosts, want: map[string]string{"s": "0,1", "s.node1": "0,1", "d": "2"}},
		"without a block": {members: []steps.Member{image("s", 0, 2, 4), image("d", 5, 1, 1)}, on: ground{together: true}, want: map[string]string{"s": "0,1", "s.node1": "2,3", "d": "4"}},
		"beyond":          {members: []steps.Member{image("d", 2, 1, 1)}, on: hosts, err: `server "d" is on node 2, beyond the 2 hosts`},
		"spread beyond":   {members: []steps.Member{image("s", 1, 2, 2)}, on: hosts, err: `server "s.node1" is on node 2`},
		"a program":       {members: []steps.Member{program(0, 1)}, on: hosts, err: "give it an image"},
		"a spread one":    {members: []steps.Member{program(0, 2)}, on: ground{hosts: 2}, err: "give it an image"},
		"alone, here":     {members: []steps.Member{program(0, 1)}, on: ground{hosts: 2}, want: map[string]string{}},
		"played here":     {members: []steps.Member{program(3, 1)}, on: groundOf(&steps.DockerSpec{Hosts: make([]steps.DockerHost, 2)}, SimulateProcess, true), want: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := placed(spread(tt.members), tt.on)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, gpusOf(got)); diff != "" {
				t.Error(diff)
			}
			for _, p := range got {
				if p.Spec.Image != "" && p.Spec.Container.Network != steps.NetworkHost {
					t.Errorf("%s is in network %q", p.Name, p.Spec.Container.Network)
				}
			}
		})
	}
}

// Where a daemon is reached through a forwarded socket its servers are at its own address.
func TestDockerHosts(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"DOCKER_HOST": "ssh://me@gpu2:22"}[name] }
	for name, tt := range map[string]struct {
		spec *steps.DockerSpec
		want []string // url and address
	}{
		"DOCKER_HOST": {nil, []string{"unix://TMP/pipeline-ssh-r/docker.sock gpu2"}},
		"two": {
			&steps.DockerSpec{Hosts: []steps.DockerHost{{URL: "tcp://10.0.0.1:2376", Certs: "my certs"}, {URL: "ssh://gpu3", Address: "10.9.0.3"}, {URL: "tcp://h:1", Certs: "/c"}}},
			[]string{"tcp://10.0.0.1:2376?certs=%2Ff%2Fmy+certs ", "unix://TMP/pipeline-ssh-r-1/docker.sock 10.9.0.3", "tcp://h:1?certs=%2Fc "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", "TMP")
			var got []string
			for _, h := range dockerHosts(tt.spec, "/f", "r", getenv) {
				got = append(got, h.url+" "+h.address)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
