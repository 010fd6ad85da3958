package kubernetes

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/servegate/pipeline/steps"
)

// amounts of cpu, requested and as a limit, "" for none.
func amounts(requested, limit string) core.ResourceRequirements {
	var out core.ResourceRequirements
	if requested != "" {
		out.Requests = core.ResourceList{core.ResourceCPU: resource.MustParse(requested)}
	}
	if limit != "" {
		out.Limits = core.ResourceList{core.ResourceCPU: resource.MustParse(limit)}
	}
	return out
}

func TestAltered(t *testing.T) {
	for name, tt := range map[string]struct {
		asked, got core.ResourceRequirements
		want       string
	}{
		"nothing":          {amounts("", ""), amounts("", ""), ""},
		"as asked":         {amounts("2", "2"), amounts("2000m", "2"), ""},
		"set by a default": {amounts("", ""), amounts("100m", "200m"), "requests cpu=100m, limits cpu=200m"},
		"cut":              {amounts("2", "2"), amounts("2", "200m"), "limits cpu=200m (asked for 2)"},
		"removed":          {amounts("2", "2"), amounts("2", ""), "limits cpu unset (asked for 2)"},
	} {
		if got := altered(tt.asked, tt.got); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestAlteredServer: a server whose resources the cluster has cut says so in the result, and once as a warning.
func TestAlteredServer(t *testing.T) {
	r := started(t)
	fakeOf(r).PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*core.Pod)
		pod.Spec.Containers[0].Resources = amounts("", "200m")
		pod.Spec.Containers = slices.Insert(pod.Spec.Containers, 0, core.Container{Name: "sidecar"})
		return false, nil, nil
	})
	var warned []string
	r.opt.Warn = func(text string) { warned = append(warned, text) }
	r.images.Store("0 i", "id")
	for range 2 {
		p := steps.Process{Name: "s", Argv: []string{"serve"}, Port: 8000, Container: &steps.ContainerSpec{Image: "i"}}
		s, err := r.Launcher(0).Start(t.Context(), p, &strings.Builder{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.(*Server).Describe()["kubernetes.altered_resources"]; got != "limits cpu=200m" {
			t.Errorf("described as %q", got)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(warned) != 1 || !strings.HasSuffix(warned[0], ": limits cpu=200m") {
		t.Errorf("warned %q", warned)
	}
}

// quota has a cluster refuse Pods whose containers do not name all of some resources.
func quota(client fakeCluster, requests, limits []core.ResourceName) {
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*core.Pod)
		for _, c := range pod.Spec.Containers {
			for _, part := range []struct {
				names []core.ResourceName
				has   core.ResourceList
			}{{requests, c.Resources.Requests}, {limits, c.Resources.Limits}} {
				for _, name := range part.names {
					if _, ok := part.has[name]; !ok {
						return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name,
							errors.New("failed quota: q: must specify "+string(name)))
					}
				}
			}
		}
		return false, nil, nil
	})
}

var both = []core.ResourceName{core.ResourceCPU, core.ResourceMemory}

// TestQuota: under a quota on processors and memory the Pods of ours are admitted, and a server that names
// none is not. Nothing is made to find that out.
func TestQuota(t *testing.T) {
	named := map[string]string{"cpu": "2", "memory": "1Gi"}
	for name, tt := range map[string]struct {
		spec             steps.KubernetesSpec
		requests, limits []core.ResourceName
		refused          string // names of Pods
	}{
		"none":                        {},
		"requests":                    {requests: both, refused: "server"},
		"limits":                      {limits: both, refused: "load0, server"},
		"limits, all named":           {spec: steps.KubernetesSpec{Resources: named, LoadResources: named}, requests: both, limits: both},
		"limits, of the load as well": {spec: steps.KubernetesSpec{Resources: named}, limits: both, refused: "load0"},
		"limits, memory of the server": {spec: steps.KubernetesSpec{Resources: map[string]string{"cpu": "2"}, LoadResources: named},
			limits: both, refused: "server"},
	} {
		t.Run(name, func(t *testing.T) {
			r := started(t)
			tt.spec.Image, tt.spec.LoadNode = "i", new(0)
			r.opt.Spec = tt.spec
			client := fakeOf(r)
			quota(client, tt.requests, tt.limits)
			refused, err := r.try(t.Context(), []Trial{{"server", &steps.ContainerSpec{Image: "v"}}})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, text := range refused {
				who, why, _ := strings.Cut(text, ": ")
				if !strings.Contains(why, "must specify") {
					t.Errorf("%q does not say why", text)
				}
				names = append(names, who)
			}
			if got := strings.Join(names, ", "); got != tt.refused {
				t.Errorf("refused: %q, want %q", got, tt.refused)
			}
			for _, a := range client.Actions() {
				if c, ok := a.(clienttesting.CreateActionImpl); ok && !slices.Equal(c.CreateOptions.DryRun, []string{meta.DryRunAll}) {
					t.Errorf("%s is no dry run: %v", a.GetResource().Resource, c.CreateOptions)
				}
			}
			pull := r.pullPod(r.nodes[0], &steps.ContainerSpec{Image: "v"})
			if _, err := client.Pods(r.namespace).Create(t.Context(), pull, meta.CreateOptions{}); err != nil {
				t.Errorf("the Pod that pulls: %v", err)
			}
		})
	}
}

// TestTryFails: a webhook without dry runs says nothing about the Pods, and an API server that fails does not either.
func TestTryFails(t *testing.T) {
	for text, fails := range map[string]bool{
		"admission webhook \"w\" does not support dry run": false,
		"no such thing": true,
	} {
		r := started(t)
		fakeOf(r).PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil,
				errors.New(text)
		})
		if refused, err := r.try(t.Context(), nil); len(refused) > 0 || (err != nil) != fails {
			t.Errorf("%s: %q, %v", text, refused, err)
		}
	}
}

// TestKeeperNeverCreated: what a Job can never do is said at once, and not after the wait for its Pod.
func TestKeeperNeverCreated(t *testing.T) {
	for text, never := range map[string]bool{
		`Error creating: pods "j-" is forbidden: no PriorityClass with name top was found`:       true,
		`Error creating: pods "j-" is forbidden: failed quota: q: must specify limits.cpu for x`: true,
		`Error creating: pods "j-" is forbidden: exceeded quota: q, requested: pods=1`:           false, // others end
	} {
		r := started(t)
		r.job, r.opt.StartWait = "j", 1
		if _, err := r.client.Events(r.namespace).Create(t.Context(), &core.Event{
			ObjectMeta: meta.ObjectMeta{Name: "e"}, Type: core.EventTypeWarning, Reason: "FailedCreate", Message: text,
			InvolvedObject: core.ObjectReference{Kind: "Job", Name: "j"},
		}, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := r.awaitKeeper(t.Context())
		e, ok := errors.AsType[*steps.EvictionError](err)
		want := steps.EvictionPodNotStarted
		if never {
			want = steps.EvictionPodRefused
		}
		if !ok || e.Class != want ||
			!strings.Contains(e.Reason, text) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestPullSecrets: pull secrets that the namespace does not have are found without reading or making one, and a run
// warns of them.
func TestPullSecrets(t *testing.T) {
	r := started(t)
	client := fakeOf(r)
	client.PrependReactor("create", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		create := a.(clienttesting.CreateActionImpl)
		secret := create.GetObject().(*core.Secret)
		resource := schema.GroupResource{Resource: "secrets"}
		switch {
		case !slices.Equal(create.CreateOptions.DryRun, []string{meta.DryRunAll}):
			t.Errorf("%s is made", secret.Name)
		case secret.Name == "registry":
			return true, nil, apierrors.NewAlreadyExists(resource, secret.Name)
		case secret.Name == "unknown":
			return true, nil, apierrors.NewForbidden(resource, secret.Name, errors.New("exceeded quota: q"))
		}
		return true, secret, nil
	})
	for secrets, want := range map[string]string{"": "", "registry": "", "registry unknown": "", "nope registry other": "nope, other"} {
		r.opt.Spec.PullSecrets = strings.Fields(secrets)
		warned := ""
		r.opt.Warn = func(text string) { warned += text }
		r.warnPullSecrets(t.Context())
		if (want == "") != (warned == "") || !strings.Contains(warned, want) {
			t.Errorf("%q: warned %q, want %q", secrets, warned, want)
		}
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "create" {
			t.Errorf("%s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

// TestResourcesOfServer: what a container asks for goes before what the file asks for each server, and requests may be less than
// limits, or without one.
func TestResourcesOfServer(t *testing.T) {
	r := runOf(steps.KubernetesSpec{Resources: map[string]string{"cpu": "32", "rdma/hca": "1"}})
	text := func(of core.ResourceList) string {
		var out []string
		for _, name := range slices.Sorted(maps.Keys(of)) {
			amount := of[name]
			out = append(out, string(name)+"="+amount.String())
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		c                steps.ContainerSpec
		requests, limits string
	}{
		{steps.ContainerSpec{}, "cpu=32 rdma/hca=1", "cpu=32 rdma/hca=1"},
		{steps.ContainerSpec{Memory: 1 << 30, Resources: map[string]string{"cpu": "16", "rdma/hca": "2"}}, "cpu=16 memory=1Gi rdma/hca=2",
			"cpu=16 memory=1Gi rdma/hca=2"},
		{steps.ContainerSpec{Resources: map[string]string{"cpu": "16"}, Requests: map[string]string{"cpu": "8"}}, "cpu=8 rdma/hca=1",
			"cpu=16 rdma/hca=1"},
		{steps.ContainerSpec{Requests: map[string]string{"cpu": "8"}}, "cpu=8 rdma/hca=1", "rdma/hca=1"},
		{steps.ContainerSpec{Memory: 2 << 30, Requests: map[string]string{"memory": "1Gi"}}, "cpu=32 memory=1Gi rdma/hca=1",
			"cpu=32 memory=2Gi rdma/hca=1"},
	} {
		if got := r.resources(&tt.c); text(got.Requests) != tt.requests || text(got.Limits) != tt.limits {
			t.Errorf("%v: requests %s, limits %s, want %s and %s", tt.c, text(got.Requests), text(got.Limits), tt.requests, tt.limits)
		}
	}
	for _, tt := range []struct {
		c    steps.ContainerSpec
		want string
	}{
		{steps.ContainerSpec{Resources: map[string]string{"cpu": "many"}}, `resources cpu = "many"`},
		{steps.ContainerSpec{Resources: map[string]string{"processors": "4"}}, `resources processors = "4"`},
		{steps.ContainerSpec{Resources: map[string]string{"rdma/hca": "500m"}}, `resources rdma/hca = "500m"`},
		{steps.ContainerSpec{Requests: map[string]string{"rdma/hca": "1"}}, "requests rdma/hca apart from its limit"},
		{steps.ContainerSpec{Resources: map[string]string{"cpu": "4"}, Requests: map[string]string{"cpu": "8"}},
			`requests cpu = "8" above its limit "4"`},
	} {
		tt.c.Image = "vllm:1"
		if err := Containers().Err(&tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// TestManifest: the Pod that is shown is the one that a run creates, without names that differ from run to run.
func TestManifest(t *testing.T) {
	p := steps.Process{Name: "decode", Argv: []string{"vllm", "serve", "m"}, Env: []steps.EnvVar{{Name: "KEY", Value: "s3cret", Secret: true}},
		Container: &steps.ContainerSpec{Image: "vllm:1", GPUs: &steps.GPURequest{Count: 2}}}
	spec := steps.KubernetesSpec{Namespace: "bench", ServerAnnotations: map[string]string{"k8s.v1.cni.cncf.io/networks": "roce"}}
	first, err := Manifest(spec, p, "NODE(1)")
	if err != nil {
		t.Fatal(err)
	}
	second, _ := Manifest(spec, p, "NODE(1)")
	for _, want := range []string{"kind: Pod\n", "namespace: bench\n", "name: pipeline-decode-RUN\n", "k8s.v1.cni.cncf.io/networks: roce\n",
		"nvidia.com/gpu: \"2\"\n", "image: vllm:1\n", "- NODE(1)\n"} {
		if !strings.Contains(first, want) {
			t.Errorf("there is no %q in\n%s", want, first)
		}
	}
	if first != second || strings.Contains(first, "s3cret") {
		t.Errorf("it changes, or holds a secret:\n%s\n%s", first, second)
	}
	p.Container = nil
	if text, err := Manifest(spec, p, "NODE(1)"); text != "" || err != nil {
		t.Errorf("a process that is no Pod: %q, %v", text, err)
	}
}
