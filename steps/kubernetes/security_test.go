package kubernetes

import (
	"context"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/servegate/pipeline/steps"
)

// restricted says whether a Pod keeps to the level "restricted" of the Pod Security Standards, the network of
// its node apart.
func restricted(pod core.PodSpec) bool {
	s := pod.SecurityContext
	if s == nil {
		s = &core.PodSecurityContext{}
	}
	for _, c := range pod.Containers {
		own := c.SecurityContext
		if own == nil || own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation || own.Capabilities == nil ||
			len(own.Capabilities.Add) > 0 ||
			len(own.Capabilities.Drop) != 1 || own.Capabilities.Drop[0] != "ALL" {
			return false
		}
		nonRoot, seccomp := s.RunAsNonRoot, s.SeccompProfile
		if own.RunAsNonRoot != nil {
			nonRoot = own.RunAsNonRoot
		}
		if own.SeccompProfile != nil {
			seccomp = own.SeccompProfile
		}
		if nonRoot == nil || !*nonRoot || seccomp == nil || seccomp.Type != core.SeccompProfileTypeRuntimeDefault {
			return false
		}
	}
	return true
}

// TestOwnPods: no Pod of ours asks for more than the level "restricted" leaves, and a server can be written so.
func TestOwnPods(t *testing.T) {
	seen := map[string]bool{}
	record := func(role string, pod core.PodSpec) {
		seen[role] = true
		if !restricted(pod) {
			t.Errorf("the Pod of role %s: %+v, %+v", role, pod.SecurityContext, pod.Containers[0].SecurityContext)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	client := newFake()
	client.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch made := a.(clienttesting.CreateAction).GetObject().(type) {
		case *core.Pod:
			record(made.Labels[roleLabel], made.Spec)
			cancel() // it would never run
		case *batch.Job:
			record("keeper", made.Spec.Template.Spec)
			cancel()
		}
		return false, nil, nil
	})
	r := runOf(steps.KubernetesSpec{Image: "i"})
	r.client, r.namespace, r.nodes = client, "bench", []Node{{Name: "k1"}}
	for _, make := range []func() error{
		func() error { return r.begin(ctx) },
		func() error { _, _, err := r.lookAt(ctx, r.lookPod(0, Want{})); return err },
		func() error { _, err := r.prepare(ctx, 0, &steps.ContainerSpec{Image: "i"}); return err },
		func() error { _, err := r.Tasks(0).place(ctx); return err },
	} {
		if make() == nil {
			t.Error("a Pod runs without a node")
		}
		ctx, cancel = context.WithCancel(t.Context())
	}
	cancel()
	if len(seen) != 4 {
		t.Errorf("Pods of %v", seen)
	}
	server, err := r.podOf(steps.Process{Name: "s", Argv: []string{"x"}, Container: &steps.ContainerSpec{
		Image: "i", User: "1000", CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges", "seccomp=builtin"},
	}}, Node{Name: "k1"}, "")
	if err != nil || !restricted(server.Spec) {
		t.Errorf("the server's Pod: %+v, %v", server, err)
	}
}

// TestMetadata: all Pods have the labels and annotations of the file, those of servers some more, and all keep ours.
func TestMetadata(t *testing.T) {
	r := runOf(steps.KubernetesSpec{
		Image: "i", Labels: map[string]string{"sidecar.istio.io/inject": "false"}, Annotations: map[string]string{"a.example/all": "1"},
		ServerAnnotations: map[string]string{"k8s.v1.cni.cncf.io/networks": "roce"},
	})
	server, err := r.podOf(steps.Process{Name: "s", Argv: []string{"x"}, Container: &steps.ContainerSpec{Image: "i"}}, Node{Name: "k1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, pod := range []*core.Pod{server, r.keeperPod(), r.lookPod(0, Want{}), r.loadPod(0, Node{Name: "k1"}),
		r.pullPod(Node{Name: "k1"}, &steps.ContainerSpec{Image: "i"})} {
		if pod.Labels["sidecar.istio.io/inject"] != "false" || pod.Labels[runLabel] != "r1" || pod.Annotations["a.example/all"] != "1" ||
			(pod.Annotations["k8s.v1.cni.cncf.io/networks"] == "roce") != (i == 0) {
			t.Errorf("%s: labels %v, annotations %v", pod.Labels[roleLabel], pod.Labels, pod.Annotations)
		}
	}
}

// TestLookPod: the Pod that looks for a node asks for what the servers of the largest group there take, and for all
// their volumes.
func TestLookPod(t *testing.T) {
	r := runOf(steps.KubernetesSpec{Image: "i", Queue: "gpu", Resources: map[string]string{"cpu": "4", "memory": "1Gi"}})
	server := func(gpus int, memory int64, volumes ...string) *steps.ContainerSpec {
		c := &steps.ContainerSpec{Image: "i", Memory: memory, GPUs: &steps.GPURequest{Count: gpus}}
		for _, name := range volumes {
			c.Volumes = append(c.Volumes, steps.Volume{Name: name, Target: "/" + name})
		}
		return c
	}
	pod := r.lookPod(0, Want{Groups: [][]*steps.ContainerSpec{{server(1, 6<<30, "weights")},
		{server(2, 0, "weights"), server(1, 2<<30, "cache")}, nil}})
	limits := pod.Spec.Containers[0].Resources.Limits
	for name, want := range map[core.ResourceName]string{"nvidia.com/gpu": "3", "memory": "6Gi", "cpu": "8"} {
		if got := limits[name]; got.String() != want {
			t.Errorf("%s: %s, want %s", name, got.String(), want)
		}
	}
	load := 0
	r.opt.Spec.LoadNode = &load
	beside := r.lookPod(0, Want{Groups: [][]*steps.ContainerSpec{{server(1, 6<<30)}}}).Spec.Containers[0].Resources.Limits
	if cpu, memory := beside[core.ResourceCPU], beside[core.ResourceMemory]; cpu.String() != "4100m" || memory.String() != "6272Mi" {
		t.Errorf("%s and %s beside the load generator, want 4100m and 6272Mi", cpu.String(), memory.String())
	}
	r.opt.Spec.LoadNode = nil
	var claimed []string
	for _, v := range pod.Spec.Volumes {
		claimed = append(claimed, v.PersistentVolumeClaim.ClaimName)
	}
	if len(claimed) != 2 || claimed[0] != "weights" || claimed[1] != "cache" || pod.Labels[queueLabel] != "gpu" {
		t.Errorf("claims %v, labels %v", claimed, pod.Labels)
	}
	idle := r.lookPod(1, Want{})
	if len(idle.Spec.Containers[0].Resources.Limits)+len(idle.Spec.Volumes) > 0 || idle.Labels[queueLabel] != "" {
		t.Errorf("a node without servers is asked for %v", idle.Spec)
	}
}

// TestKeeperOfThisRun: the keeper is found by the Job that owns it, among those of earlier parts of the run.
func TestKeeperOfThisRun(t *testing.T) {
	r := runOf(steps.KubernetesSpec{Image: "i"})
	keeper := func(name string, owner meta.OwnerReference) *core.Pod {
		pod := r.bare(name, "keeper")
		pod.Name, pod.Namespace, pod.OwnerReferences = name, "bench", []meta.OwnerReference{owner}
		pod.Spec.Containers = []core.Container{{}}
		pod.Status.ContainerStatuses = []core.ContainerStatus{{Name: containerName,
			State: core.ContainerState{Running: &core.ContainerStateRunning{}}}}
		return pod
	}
	other := r.owner
	other.UID = "other"
	r.client, r.namespace, r.patience = newFake(keeper("a-other", other), keeper("b-own", r.owner), keeper("c-other", other)),
		"bench", r.opt.Patience
	if name, err := r.awaitKeeper(t.Context()); name != "b-own" || err != nil {
		t.Errorf("%s, %v", name, err)
	}
}
