package kubernetes

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/steps"
)

func runOf(spec steps.KubernetesSpec) *Run {
	opt := Options{Spec: spec, RunID: "r1", Owner: "boot/1"}
	opt.complete()
	return &Run{cluster: &cluster{opt: opt}, owner: meta.OwnerReference{Kind: "Job", Name: "j", UID: "u"}}
}

// TestPod: what a server asks for is in its Pod, and what is secret is not.
func TestPod(t *testing.T) {
	r := runOf(steps.KubernetesSpec{
		GPUResource: "amd.com/gpu", Queue: "gpu", Resources: map[string]string{"rdma/hca": "1"},
		Secrets:     map[string]string{"HF_TOKEN": "hf/token"},
		Tolerations: []steps.Toleration{{Key: "gpu"}}, PullSecrets: []string{"registry"},
	})
	p := steps.Process{
		Name: `server.vllm.sut["a b"]`, Argv: []string{"vllm", "serve", "$(HOME)"}, Port: 8000, StopGrace: 1500 * time.Millisecond,
		Env: []steps.EnvVar{{Name: "A", Value: "$(B)"}, {Name: "VLLM_API_KEY", Value: "s3cret", Secret: true},
			{Name: "HF_TOKEN", Value: "other"}},
		Files: []steps.File{{Name: "m.json", EnvVar: "CONFIG", Content: []byte("s3cret too")}},
		Container: &steps.ContainerSpec{
			Image: "vllm:1", GPUs: &steps.GPURequest{Count: 2}, ShmSize: 1 << 30, Memory: 8 << 30, User: "1000:7", Network: steps.NetworkHost,
			Volumes: []steps.Volume{{Name: "weights", Target: "/models", ReadOnly: true}}, Tmpfs: map[string]string{"/scratch": "rw,size=2g"},
			CapAdd: []string{"IPC_LOCK"},
		},
	}
	secret, err := r.secretOf(p)
	if err != nil || string(secret.Data["env.1"]) != "s3cret" || string(secret.Data["file.0"]) != "s3cret too" {
		t.Fatalf("%v, %v", secret, err)
	}
	pod, err := r.podOf(p, Node{Name: "k1", Selector: map[string]string{"gpu.kind": "h100"}}, secret.Name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(pod)
	if err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("the Pod holds a secret: %v\n%s", err, text)
	}
	c := pod.Spec.Containers[0]
	if got := strings.Join(c.Command, " "); got != "vllm serve $$(HOME)" {
		t.Errorf("command %q", got)
	}
	env := map[string]core.EnvVar{}
	for _, e := range c.Env {
		env[e.Name] = e
	}
	if env["A"].Value != "$$(B)" || env["CONFIG"].Value != "/var/run/pipeline/files/m.json" ||
		env["HF_TOKEN"].ValueFrom.SecretKeyRef.Name != "hf" || env["VLLM_API_KEY"].ValueFrom.SecretKeyRef.Name != secret.Name {
		t.Errorf("environment %v", c.Env)
	}
	limit := func(name string) string { q := c.Resources.Limits[core.ResourceName(name)]; return q.String() }
	if limit("amd.com/gpu") != "2" || limit("rdma/hca") != "1" || limit("memory") != "8Gi" {
		t.Errorf("limits %v", c.Resources.Limits)
	}
	at := map[string]string{}
	for _, m := range c.VolumeMounts {
		at[m.MountPath] = m.Name
	}
	if want := []string{"/dev/shm", "/models", "/scratch", "/var/run/pipeline/files"}; !slices.Equal(slices.Sorted(maps.Keys(at)), want) {
		t.Errorf("mounted at %v", at)
	}
	field := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0]
	if field.Values[0] != "k1" || !pod.Spec.HostNetwork || *pod.Spec.TerminationGracePeriodSeconds != 2 || pod.Labels[queueLabel] != "gpu" ||
		pod.Spec.NodeSelector["gpu.kind"] != "h100" ||
		len(pod.OwnerReferences) != 1 || *c.SecurityContext.RunAsUser != 1000 || pod.Spec.Tolerations[0].Operator != core.TolerationOpExists {
		t.Errorf("%s", text)
	}
}

// TestLost: how a Pod has lost its place is said in the cluster's words, and a server that ended by itself
// has not.
func TestLost(t *testing.T) {
	terminated := func(reason string, code int32) core.PodStatus {
		return core.PodStatus{Phase: core.PodFailed, ContainerStatuses: []core.ContainerStatus{{Name: containerName,
			State: core.ContainerState{Terminated: &core.ContainerStateTerminated{Reason: reason, ExitCode: code}}}}}
	}
	disrupted := func(reason string) core.PodStatus {
		return core.PodStatus{Conditions: []core.PodCondition{{Type: core.DisruptionTarget, Status: core.ConditionTrue, Reason: reason,
			Message: "said so"}}}
	}
	queue := core.PodCondition{Type: terminationTarget, Status: core.ConditionTrue, Reason: "WorkloadEvictedDueToPreempted",
		Message: "Preempted to accommodate a workload"}
	for name, tt := range map[string]struct {
		status core.PodStatus
		class  steps.EvictionClass
	}{
		"its queue":         {core.PodStatus{Phase: core.PodRunning, Conditions: []core.PodCondition{queue}}, steps.EvictionPodEvicted},
		"running":           {core.PodStatus{Phase: core.PodRunning}, ""},
		"a crash":           {terminated("Error", 1), ""},
		"the kernel's kill": {terminated("OOMKilled", 137), steps.EvictionOutOfMemory},
		"a higher priority": {disrupted("PreemptionByScheduler"), steps.EvictionPodEvicted},
		"an eviction":       {disrupted("EvictionByEvictionAPI"), steps.EvictionPodEvicted},
		"the kubelet's own": {core.PodStatus{Phase: core.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."},
			steps.EvictionPodEvicted},
		"a taint": {disrupted("DeletionByTaintManager"), steps.EvictionNodeLost},
		"no room after all": {core.PodStatus{Phase: core.PodFailed, Reason: "OutOfnvidia.com/gpu",
			Message: "Node didn't have enough resource"}, steps.EvictionPodRefused},
		"unlike its node": {core.PodStatus{Phase: core.PodFailed, Reason: "TopologyAffinityError", Message: "Resources cannot be allocated"},
			steps.EvictionPodRefused},
		"an unknown reason":  {disrupted("SomethingElse"), ""},
		"a reason of a life": {core.PodStatus{Phase: core.PodRunning, Reason: "Evicted"}, ""},
	} {
		pod := &core.Pod{Spec: core.PodSpec{Containers: []core.Container{{}}}, Status: tt.status}
		err := lost(pod)
		e, ok := errors.AsType[*steps.EvictionError](err)
		if (tt.class == "") != (err == nil) || ok && e.Class != tt.class {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPropertyNames: any name makes one that Kubernetes takes, and no two the same.
func TestPropertyNames(t *testing.T) {
	r := runOf(steps.KubernetesSpec{})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "name")
		a, b := r.objectName(text), r.objectName(text)
		if a == b || len(a) > 63 || strings.Trim(a, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasSuffix(a, "-") {
			t.Fatalf("%q, %q", a, b)
		}
		if v := labelValue(text); !labelValid.MatchString(v) {
			t.Fatalf("label %q", v)
		}
	})
}
