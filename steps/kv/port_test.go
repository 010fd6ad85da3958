package kv_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"pgregory.net/rapid"
)

// drawDeployment draws one of the golden deployments with more servers, sizes and ports
// of its own.
func drawDeployment(t *rapid.T) *kv.Layout {
	all := goldens()
	names := slices.Sorted(maps.Keys(all)) // of maps no order can be drawn
	spec := all[rapid.SampledFrom(names).Draw(t, "deployment")]
	for i := range spec.Members {
		m := &spec.Members[i].Spec
		m.Args = append(slices.Clip(m.Args), steps.Arg{Name: "data_parallel_size", Value: int64(rapid.IntRange(1, 4).Draw(t, "replicas"))})
		if rapid.Bool().Draw(t, "fixed") {
			m.Port = 21000 + 1000*i + rapid.IntRange(0, 400).Draw(t, "port")
		}
	}
	l, err := kv.Connectors().NewLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Whatever is free, assigned ports are free, apart and complete, and what is rendered
// with them is valid and the same each time.
func TestPortsNeverCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawDeployment(t)
		busy := map[int]bool{}
		for range rapid.IntRange(0, 40).Draw(t, "busy") {
			busy[rapid.IntRange(20000, 21500).Draw(t, "port")] = true
		}
		ports, err := assign(l.Ports(), 20000, 31999, func(p int) bool { return !busy[p] })
		if err != nil {
			t.Fatal(err)
		}
		owner := map[int]kv.Port{}
		for _, n := range l.Ports() {
			for i := range n.Count {
				p := ports[n.Port] + i
				if n.Fixed == 0 && busy[p] {
					t.Fatalf("%s got the busy port %d", n.Port, p)
				}
				if other, dup := owner[p]; dup {
					t.Fatalf("%d is both %s and %s", p, other, n.Port)
				}
				owner[p] = n.Port
			}
		}
		checkSpacing(t, l, ports)
		in := kv.Assigned{Ports: ports}
		first, err := l.Render(in)
		if err != nil {
			t.Fatal(err)
		}
		second, err := l.Render(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatal(diff)
		}
		checkRendered(t, first)
	})
}

func checkSpacing(t *rapid.T, l *kv.Layout, ports map[kv.Port]int) {
	for _, n := range l.Ports() {
		if n.Fixed != 0 {
			continue
		}
		for _, o := range l.Ports() {
			if d := ports[o.Port] - ports[n.Port]; o.Port != n.Port && d >= 0 && d < n.Spacing {
				t.Fatalf("%s is %d above %s, which needs %d", o.Port, d, n.Port, n.Spacing)
			}
		}
	}
}

func checkRendered(t *rapid.T, r *kv.Rendered) {
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "PORT(") {
		t.Fatalf("a port is still a symbol: %s", text)
	}
	for name, e := range r.Members {
		seen := map[string]bool{}
		for _, v := range e.Env {
			if seen[v.Name] {
				t.Fatalf("%s: %s is set twice", name, v.Name)
			}
			seen[v.Name] = true
		}
		for _, f := range e.Files {
			if strings.HasSuffix(f.Name, ".json") && !json.Valid(f.Content) {
				t.Fatalf("%s: %s is no JSON: %s", name, f.Name, f.Content)
			}
		}
	}
}

func TestAssignSaysWhatIsMissing(t *testing.T) {
	needs := []kv.PortNeed{{Port: kv.Port{"decode", kv.PortKV}, Count: 3, Spacing: 3}}
	_, err := assign(needs, 20000, 20010, func(p int) bool { return p%3 != 0 })
	if err == nil || err.Error() != "no 3 free ports in a row between 20000 and 20010 for kv of decode; stop what listens there" {
		t.Error(err)
	}
}

func TestRenderRefusesPorts(t *testing.T) {
	l, err := kv.Connectors().NewLayout(pairOf("vllm", "", "nixl", transfer("nixl", kv.TCP)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Render(kv.Assigned{}); err == nil || !strings.Contains(err.Error(), "http of prefill has no port") {
		t.Error(err)
	}
	ports := map[kv.Port]int{}
	for i, n := range l.Ports() {
		ports[n.Port] = 20000 + i
	}
	ports[kv.Port{"decode", kv.PortHTTP}] = 20000
	if _, err := l.Render(kv.Assigned{Ports: ports}); err == nil ||
		!strings.Contains(err.Error(), "port 20000 is both http of prefill and http of decode") {
		t.Error(err)
	}
	// On another machine it is another port.
	if _, err := l.Render(kv.Assigned{Ports: ports, Hosts: map[string]string{"decode": "fd00::1"}}); err != nil {
		t.Error(err)
	}
}

func TestHosts(t *testing.T) {
	l, err := kv.Connectors().NewLayout(pairOf("vllm", "0.33.0", "mooncake", transfer("mooncake", kv.TCP)))
	if err != nil {
		t.Fatal(err)
	}
	in := l.Symbolic()
	in.Hosts = map[string]string{"prefill": "10.0.0.1", "decode": "fd00::1"}
	r, err := l.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	want := &kv.Router{
		Protocol: "mooncake", Host: "127.0.0.1",
		Prefill: []kv.Backend{{Name: "prefill", URL: "http://10.0.0.1:PORT(prefill.http)", Bootstrap: "10.0.0.1:PORT(prefill.bootstrap)"}},
		Decode:  []kv.Backend{{Name: "decode", URL: "http://[fd00::1]:PORT(decode.http)"}},
	}
	if diff := cmp.Diff(want, r.Router); diff != "" {
		t.Error(diff)
	}
}

// What the file sets comes after what the transfer adds, and wins.
func TestApply(t *testing.T) {
	own := steps.ServerSpec{Args: []steps.Arg{{Name: "a", Value: 1}}, Env: []steps.EnvVar{{Name: "OWN", Value: "1"}}}
	got := kv.Extra{Args: []steps.Arg{{Name: "b", Value: 2}}, Env: []steps.EnvVar{{Name: "ADDED", Value: "2"}}}.Apply(own)
	want := steps.ServerSpec{
		Args: []steps.Arg{{Name: "a", Value: 1}, {Name: "b", Value: 2}},
		Env:  []steps.EnvVar{{Name: "ADDED", Value: "2"}, {Name: "OWN", Value: "1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(own.Args) != 1 || len(own.Env) != 1 {
		t.Error("Apply changed the spec that it was given")
	}
}

func TestServiceOfTheFile(t *testing.T) {
	spec := pairOf("vllm", "0.6.4", "v0", transfer("mooncake", kv.TCP))
	spec.Services = []steps.ServiceSpec{{
		Name: "meta", Kind: "etcd", Executable: []string{"numactl", "etcd"}, Port: 2379,
		Args: []steps.Arg{{Name: "data_dir", Value: "/data"}, {Name: "log_level", Value: "debug"}, {Name: "enable_pprof", Value: true},
			{Name: "off", Value: nil}},
	}}
	l, err := kv.Connectors().NewLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Render(l.Symbolic())
	if err != nil {
		t.Fatal(err)
	}
	s := r.Services[0]
	args := strings.Join(s.Args, " ")
	if strings.Contains(args, "pipeline.etcd") || !strings.HasSuffix(args, "--data-dir /data --log-level debug --enable-pprof=true") ||
		!strings.Contains(args, "--listen-client-urls http://127.0.0.1:2379") {
		t.Error(args)
	}
	if s.Port != 2379 || s.Image != "" || len(s.Program) != 2 {
		t.Errorf("%+v", s)
	}
}
