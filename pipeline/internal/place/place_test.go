package place_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/dockerhost"
	"github.com/servegate/pipeline/pipeline/internal/place/local"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// assign places servers on this machine or the hosts of a docker block, and returns their
// specs by name.
func assign(parts []place.Part, hosts *steps.DockerSpec, simulated string, together bool) (map[string]steps.ServerSpec, error) {
	cfg := &config.Config{}
	cfg.Settings.Docker = hosts
	set := place.NewSet([]place.Kind{dockerhost.Kind(), local.Kind()}, place.Options{Plan: &plan.Plan{Config: cfg, Simulated: simulated},
		Shown: true})
	t := place.Target{Together: together}
	for _, p := range parts {
		t.Processes = append(t.Processes, place.Process{Name: p.Name, Spec: p.Spec, Contained: p.Spec.Image != "" && simulated == ""})
	}
	slots, err := set.Assign(t)
	out := map[string]steps.ServerSpec{}
	for i, s := range slots {
		out[parts[i].Name] = s.Spec
	}
	return out, err
}

func specsOf(parts []place.Part) map[string]steps.ServerSpec {
	out := map[string]steps.ServerSpec{}
	for _, p := range parts {
		out[p.Name] = p.Spec
	}
	return out
}

// gpusOf lists which GPUs each server got.
func gpusOf(specs map[string]steps.ServerSpec) map[string]string {
	out := map[string]string{}
	for name, spec := range specs {
		if spec.Image == "" || spec.Container == nil || spec.Container.GPUs == nil {
			for _, e := range spec.Env {
				if e.Name == place.VisibleDevices {
					out[name] = e.Value
				}
			}
			continue
		}
		out[name] = strings.Join(spec.Container.GPUs.IDs, ",")
	}
	return out
}

// onHostNetwork sees that containers are in the network of their machine.
func onHostNetwork(t *testing.T, specs map[string]steps.ServerSpec) {
	t.Helper()
	for name, spec := range specs {
		if spec.Image != "" && spec.Container.Network != steps.NetworkHost {
			t.Errorf("%s is in network %q", name, spec.Container.Network)
		}
	}
}

func TestPlaced(t *testing.T) {
	process := func(name string, gpus int, env ...steps.EnvVar) steps.Member {
		return steps.Member{Name: name, Spec: steps.ServerSpec{Executable: []string{"vllm"}, GPUs: gpus, Env: env}}
	}
	container := func(name string, gpus int, c *steps.ContainerSpec) steps.Member {
		return steps.Member{Name: name, Spec: steps.ServerSpec{Image: "engine:v1", GPUs: gpus, Container: c}}
	}
	visible := func(ids string) steps.EnvVar { return steps.EnvVar{Name: place.VisibleDevices, Value: ids} }
	named := func(ids ...string) *steps.ContainerSpec {
		return &steps.ContainerSpec{GPUs: &steps.GPURequest{IDs: ids}}
	}
	for name, tt := range map[string]struct {
		members []steps.Member
		want    map[string]string
		err     string
	}{
		"processes, numbered in their order": {members: []steps.Member{process("p", 1), process("d", 2)},
			want: map[string]string{"p": "0", "d": "1,2"}},
		"containers": {members: []steps.Member{container("p", 2, nil), container("d", 1, nil)},
			want: map[string]string{"p": "0,1", "d": "2"}},
		"around those that are named": {members: []steps.Member{process("p", 2), container("d", 1, named("1"))},
			want: map[string]string{"p": "0,2", "d": "1"}},
		"the env's own choice": {members: []steps.Member{process("p", 1, visible("0")), process("d", 1)},
			want: map[string]string{"p": "0", "d": "1"}},
		"both on each": {members: []steps.Member{process("p", 1), container("d", 1, nil)},
			want: map[string]string{"p": "0", "d": "1"}},
		"without GPUs": {members: []steps.Member{process("p", 0), process("d", 0)}, want: map[string]string{}},
		"devices of ROCm choose themselves": {members: []steps.Member{container("p", 1,
			&steps.ContainerSpec{Devices: []steps.ContainerDevice{{Host: "/dev/kfd"}}})}, want: map[string]string{}},
		"one GPU twice": {members: []steps.Member{container("p", 1, named("3")), process("d", 1, visible("2,3"))},
			err: `servers "p" and "d" both name GPU 3`},
		"another network": {
			members: []steps.Member{container("p", 1, &steps.ContainerSpec{Network: steps.NetworkBridge})},
			err:     `server "p" has network = "bridge"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			parts := place.Spread(tt.members)
			before := gpusOf(specsOf(parts))
			got, err := assign(parts, nil, "", true)
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
			if diff := cmp.Diff(before, gpusOf(specsOf(parts))); diff != "" {
				t.Errorf("the file's own spec was changed:\n%s", diff)
			}
			onHostNetwork(t, got)
		})
	}
	// Without a transfer servers need not reach each other.
	alone, err := assign(place.Spread([]steps.Member{container("a", 0, &steps.ContainerSpec{Network: steps.NetworkBridge})}), nil, "", false)
	if err != nil || alone["a"].Container.Network != steps.NetworkBridge {
		t.Errorf("%v, %v", alone, err)
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
	two := &steps.DockerSpec{Hosts: []steps.DockerHost{{URL: "tcp://10.0.0.1:2376"}, {URL: "tcp://10.0.0.2:2376"}}}
	for name, tt := range map[string]struct {
		members []steps.Member
		hosts   *steps.DockerSpec
		alone   bool // they need not reach each other
		want    map[string]string
		err     string
	}{
		"one on each": {members: []steps.Member{image("p", 0, 1, 2), image("d", 1, 1, 2)}, hosts: two,
			want: map[string]string{"p": "0,1", "d": "0,1"}},
		"both on one": {members: []steps.Member{image("p", 1, 1, 1), image("d", 1, 1, 1)}, hosts: two,
			want: map[string]string{"p": "0", "d": "1"}},
		"spread": {members: []steps.Member{image("s", 0, 2, 4), image("d", 1, 1, 1)}, hosts: two, want: map[string]string{"s": "0,1",
			"s.node1": "0,1", "d": "2"}},
		"without a block": {members: []steps.Member{image("s", 0, 2, 4), image("d", 5, 1, 1)}, want: map[string]string{"s": "0,1",
			"s.node1": "2,3", "d": "4"}},
		"beyond":        {members: []steps.Member{image("d", 2, 1, 1)}, hosts: two, err: `server "d" is on node 2, beyond the 2 hosts`},
		"spread beyond": {members: []steps.Member{image("s", 1, 2, 2)}, hosts: two, err: `server "s.node1" is on node 2`},
		"a program":     {members: []steps.Member{program(0, 1), image("d", 1, 1, 1)}, hosts: two, err: "give it an image"},
		"a spread one":  {members: []steps.Member{program(0, 2)}, hosts: two, alone: true, err: "give it an image"},
		"alone, here":   {members: []steps.Member{program(0, 1)}, hosts: two, alone: true, want: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := assign(place.Spread(tt.members), tt.hosts, "", !tt.alone)
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
			onHostNetwork(t, got)
		})
	}
}
