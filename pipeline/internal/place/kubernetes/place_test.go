package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kubernetes"
	"github.com/servegate/pipeline/steps/kv"
)

// placed is a file with servers of one target, in a place that is only shown.
func placed(spec steps.KubernetesSpec, machines *plan.Machines, servers ...steps.ServerSpec) (*config.Config, place.Options) {
	cfg := &config.Config{}
	cfg.Settings.Kubernetes = &spec
	p := &plan.Plan{Config: cfg, Machines: machines}
	for i, s := range servers {
		s.Addr = "server.vllm." + string(rune('a'+i))
		cfg.Servers = append(cfg.Servers, &config.Server{Addr: s.Addr, Spec: s})
		p.Targets = append(p.Targets, plan.Target{Addr: s.Addr})
	}
	return cfg, place.Options{Plan: p, Shown: true}
}

// TestWants: a node offers room for the servers of each target there, or of all that stay loaded together, each
// machine the same, and the node that load comes from is there as well.
func TestWants(t *testing.T) {
	two := 2
	servers := []steps.ServerSpec{{Image: "i", GPUs: 1}, {Image: "i", GPUs: 8, Nodes: 2}, {URL: "http://h", GPUs: 9, Node: 5}}
	for name, tt := range map[string]struct {
		spec     steps.KubernetesSpec
		machines *plan.Machines
		resident string
		want     []string // of each node, the GPUs of each server of each group
	}{
		"servers":       {want: []string{"[1] [4]", "[] [4]"}},
		"with the load": {spec: steps.KubernetesSpec{LoadNode: &two}, want: []string{"[1] [4]", "[] [4]", ""}},
		"machines": {
			spec: steps.KubernetesSpec{LoadNode: &two}, machines: &plan.Machines{Count: 2, Width: 3},
			want: []string{"[1] [4]", "[] [4]", "", "[1] [4]", "[] [4]", ""},
		},
		"loaded together": {resident: steps.ResidentLoaded, want: []string{"[1 4]", "[4]"}},
	} {
		_, opt := placed(tt.spec, tt.machines, servers...)
		opt.Plan.Resident = tt.resident
		p, err := newPods(opt)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range p.wants() {
			var groups []string
			for _, group := range w.Groups {
				gpus := []int{}
				for _, c := range group {
					gpus = append(gpus, c.GPUs.Count)
				}
				groups = append(groups, fmt.Sprint(gpus))
			}
			got = append(got, strings.Join(groups, " "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAssign(t *testing.T) {
	one := 1
	_, opt := placed(steps.KubernetesSpec{Image: "pipeline:1", LoadNode: &one}, nil, steps.ServerSpec{Image: "i"})
	set := place.NewSet([]place.Kind{Kind()}, opt)
	server := place.Process{Name: "s", Spec: steps.ServerSpec{Image: "i", Node: 1}, Contained: true}
	alone, err := set.Assign(place.Target{Processes: []place.Process{server}})
	if err != nil || alone[0].Host != "" || alone[0].Spec.ListenHost() != place.AnyAddress || alone[0].Spec.Container != nil {
		t.Errorf("alone: %+v, %v", alone, err)
	}
	router := place.Process{Name: "router", Role: place.RoleRouter}
	both, err := set.Assign(place.Target{Together: true, Processes: []place.Process{server, router}})
	if err != nil || both[0].Host != "NODE1" || both[0].Spec.Container.Network != steps.NetworkHost || both[1].Self.Image != "pipeline:1" ||
		both[1].Spec.Listen != place.AnyAddress {
		t.Errorf("together: %+v, %v", both, err)
	}
}

func TestCheck(t *testing.T) {
	_, opt := placed(steps.KubernetesSpec{}, nil)
	for name, tt := range map[string]struct {
		process place.Process
		fault   string
	}{
		"an image":      {place.Process{Contained: true, Spec: steps.ServerSpec{Image: "i"}}, ""},
		"an executable": {place.Process{Spec: steps.ServerSpec{Executable: []string{"vllm"}}}, "give it an image"},
		"GPUs by name": {place.Process{Contained: true, Spec: steps.ServerSpec{Image: "i",
			Env: []steps.EnvVar{{Name: place.VisibleDevices, Value: "0"}}}}, "it names its GPUs"},
		"a mount": {place.Process{Contained: true, Spec: steps.ServerSpec{Image: "i",
			Container: &steps.ContainerSpec{Mounts: []steps.Mount{{Source: "/x"}}}}}, "kubernetes does not support container.mounts"},
	} {
		found := place.NewSet([]place.Kind{Kind()}, opt).Check(place.Target{Processes: []place.Process{tt.process}})
		if (tt.fault == "") != (len(found) == 0) || len(found) > 0 && !strings.Contains(found[0].Error(), tt.fault) {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestSurveyed: what a run would lack is missing, and what it need not see is not.
func TestSurveyed(t *testing.T) {
	where := kubernetes.Where{Namespace: "bench", Server: "https://h:6443", Context: "c"}
	for name, tt := range map[string]struct {
		survey kubernetes.Survey
		want   string
	}{
		"well": {
			kubernetes.Survey{Where: where, Version: "v1.34.4", Nodes: []kubernetes.NodeGPUs{{Name: "a", GPUs: 8}, {Name: "b", GPUs: 2}}},
			"ok v1.34.4, namespace bench of https://h:6443 (context c)\nok all that a run needs in namespace bench\nok a (8), b (2)\n",
		},
		"nothing": {
			kubernetes.Survey{Where: where, NoNamespace: true, Missing: []string{"create pods", "get pods/log"}, Nodes: []kubernetes.NodeGPUs{}},
			"missing there is no namespace bench of https://h:6443 (context c)\nmissing in namespace bench this user may not create pods, get " +
				"pods/log\nwarn none that is ready for Pods\n",
		},
		"nodes unseen": {
			kubernetes.Survey{Where: where, Version: "v1"},
			"ok v1, namespace bench of https://h:6443 (context c)\nok all that a run needs in namespace bench\nok this user may not list nodes, " +
				"which a run does not need\n",
		},
		"terminating": {
			kubernetes.Survey{Where: where, Version: "v1", Terminating: true},
			"missing namespace bench of https://h:6443 (context c) is being deleted\nok all that a run needs in namespace bench\nok this user may " +
				"not list nodes, which a run does not need\n",
		},
		"no pull secret": {
			kubernetes.Survey{Where: where, Version: "v1", NoPullSecrets: []string{"registry"}},
			"ok v1, namespace bench of https://h:6443 (context c)\nok all that a run needs in namespace bench\nok this user may not list nodes, " +
				"which a run does not need\nmissing namespace bench does not have registry of pull_secrets\n",
		},
		"Pods that a quota refuses": {
			kubernetes.Survey{Where: where, Version: "v1", Refused: []string{"load0: must specify limits.cpu",
				"server.vllm.a: must specify limits.cpu"}},
			"ok v1, namespace bench of https://h:6443 (context c)\nok all that a run needs in namespace bench\nok this user may not list nodes, " +
				"which a run does not need\n" +
				"missing the API server would refuse load0: must specify limits.cpu\nmissing the API server would refuse server.vllm.a: must specify " +
				"limits.cpu\n",
		},
	} {
		got := ""
		for _, c := range surveyed(tt.survey, "nvidia.com/gpu") {
			got += string(c.Status) + " " + c.Found + "\n"
			if (c.Status == doctor.OK) != (c.Fix == "") {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestTrials: doctor tries what is launched, each once, a deployment on the network of its nodes with its services
// and its router.
func TestTrials(t *testing.T) {
	cfg, _ := placed(steps.KubernetesSpec{Image: "pipeline:1", LoadNode: new(0)}, nil, steps.ServerSpec{Image: "i"},
		steps.ServerSpec{URL: "http://h"}, steps.ServerSpec{Image: "i", GPUs: 4, Nodes: 2})
	pd := steps.DeploymentSpec{
		Addr: "deployment.pd", Transfer: &steps.TransferSpec{Connector: "mooncake"},
		Services: []steps.ServiceSpec{{Name: "etcd", Kind: "etcd", Image: "etcd:3"}},
		Router:   &steps.RouterSpec{Protocol: "v0", Prefill: []string{"prefill"}, Decode: []string{"decode"}},
	}
	var servers []*config.Server
	for _, m := range []steps.Member{{Name: "prefill", Role: steps.RoleProducer}, {Name: "decode", Role: steps.RoleConsumer}} {
		m.Spec = steps.ServerSpec{Addr: m.Name, Image: "i", Engine: "vllm", Version: "0.6.4.post1", Model: "m"}
		pd.Members = append(pd.Members, m)
		servers = append(servers, &config.Server{Addr: m.Name, Spec: m.Spec})
	}
	cfg.Deployments = []*config.Deployment{{Addr: pd.Addr, Spec: pd, Servers: servers}}
	bm := &config.Benchmark{}
	for _, target := range []string{"server.vllm.a", "server.vllm.b", "server.vllm.c", "deployment.pd", "server.vllm.a"} {
		bm.Cells = append(bm.Cells, config.Cell{Target: target})
	}
	cfg.Benchmarks = []*config.Benchmark{bm}
	var got []string
	for _, trial := range trials(cfg, kv.Connectors()) {
		got = append(got, fmt.Sprintf("%s %s %s", trial.Name, trial.Container.Image, trial.Container.Network))
	}
	want := []string{"server.vllm.a i ", "server.vllm.c i host", "prefill i host", "decode i host",
		"deployment.pd.service.etcd etcd:3 host", "deployment.pd.router pipeline:1 host"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
