package kubernetes

import (
	"errors"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servegate/pipeline/steps"
)

// TestQueueSays: of a Pod that its queue keeps back is said what the queue says of it, and of no other.
func TestQueueSays(t *testing.T) {
	r := runOf(steps.KubernetesSpec{QueueTimeout: time.Nanosecond, Queue: "gpu"})
	r.namespace, r.patience = "bench", r.opt.Patience
	says := func(about, text string) *core.Event {
		return &core.Event{
			ObjectMeta: meta.ObjectMeta{Name: about, Namespace: "bench"}, InvolvedObject: core.ObjectReference{Kind: "Workload", Name: about},
			Type: core.EventTypeWarning, Reason: "Pending", Message: text,
		}
	}
	pod := func(name, queue string) *core.Pod {
		return &core.Pod{
			ObjectMeta: meta.ObjectMeta{Name: name, Namespace: "bench", Labels: map[string]string{queueLabel: queue}},
			Spec:       core.PodSpec{SchedulingGates: []core.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}},
			Status: core.PodStatus{Conditions: []core.PodCondition{{Type: core.PodScheduled, Status: core.ConditionFalse,
				Reason: "SchedulingGated", Message: "blocked"}}},
		}
	}
	r.client = newFake(pod("p-1", "gpu"), pod("p-2", "gpu"), pod("p-3", ""), says("pod-p-1-4f0c1", "insufficient unused quota"),
		says("pod-p-11-aaaaa", "of another"))
	for name, want := range map[string]string{
		"p-1": "(1ns): SchedulingGated: blocked; queue gpu: Pending: insufficient unused quota",
		"p-2": "(1ns): SchedulingGated: blocked; queue gpu: no event says why; is there a LocalQueue of this name?",
		"p-3": "(1ns): SchedulingGated: blocked",
	} {
		_, err := r.awaitPod(t.Context(), name, running)
		if e, ok := errors.AsType[*steps.EvictionError](err); !ok || e.Class != steps.EvictionUnschedulable ||
			!strings.HasSuffix(e.Reason, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestQueueNobodyKeeps: a run whose Pods no queue has admitted says so, once.
func TestQueueNobodyKeeps(t *testing.T) {
	for queued, want := range map[string]int{"": 1, "true": 0} {
		r := started(t)
		r.opt.StartWait = time.Nanosecond
		warned := 0
		for range 2 {
			r.opt.Warn = func(text string) {
				warned++
				if !strings.Contains(text, `queue "gpu"`) || !strings.Contains(text, "namespace bench") {
					t.Error(text)
				}
			}
			pod := r.bare("node0", "node")
			pod.Labels[queueLabel], pod.Labels[queuedLabel] = "gpu", queued
			pod.Spec.Containers = []core.Container{{Name: containerName}}
			if _, _, err := r.lookAt(t.Context(), pod); err == nil {
				t.Error("a fake cluster has no machine to look at")
			}
		}
		if warned != want {
			t.Errorf("queued %q: %d warnings", queued, warned)
		}
	}
}
