package kubernetes

import (
	"context"
	"errors"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/servegate/pipeline/steps"
)

// started is a run on a cluster whose Pods run as soon as they are made.
func started(t *testing.T) *Run {
	t.Helper()
	client := newFake()
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*core.Pod)
		pod.Spec.NodeName = "k1"
		pod.Status = core.PodStatus{Phase: core.PodRunning, ContainerStatuses: []core.ContainerStatus{{Name: containerName,
			State: core.ContainerState{Running: &core.ContainerStateRunning{}}}}}
		return false, nil, nil
	})
	r := runOf(steps.KubernetesSpec{Image: "i"})
	r.client, r.namespace, r.nodes, r.patience = client, "bench", []Node{{Name: "k1", Address: "10.0.0.1"}}, r.opt.Patience
	r.tunnels = map[string]string{}
	return r
}

// change changes a Pod of the cluster.
func change(t *testing.T, r *Run, name string, do func(*core.Pod)) {
	t.Helper()
	pods := fakeOf(r).CoreV1().Pods(r.namespace)
	pod, err := pods.Get(t.Context(), name, meta.GetOptions{})
	if err == nil {
		do(pod)
		_, err = pods.Update(t.Context(), pod, meta.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// deletes has somebody ask for the end of a Pod, which takes its grace.
func deletes(pod *core.Pod) { pod.DeletionTimestamp = &meta.Time{} }

// evicts has the cluster take a Pod away.
func evicts(pod *core.Pod) {
	pod.Status.Conditions = []core.PodCondition{{Type: core.DisruptionTarget, Status: core.ConditionTrue, Reason: "EvictionByEvictionAPI",
		Message: "Eviction API: evicting"}}
}

func ends(pod *core.Pod) {
	pod.Status.ContainerStatuses[0].State = core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: 2}}
}

// TestLoadPodReplaced: tasks share a Pod, and one that was lost in between is replaced before the next.
func TestLoadPodReplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		lose func(*core.Pod) // nil removes it
		why  string
	}{
		"gone":    {nil, "was deleted by someone else"},
		"deleted": {deletes, "was deleted by someone else"},
		"evicted": {evicts, "EvictionByEvictionAPI"},
		"ended":   {ends, "has ended: exit status 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := started(t)
			var told []string
			r.opt.Tell = func(text string) { told = append(told, text) }
			tasks := r.Tasks(0)
			first, err := tasks.place(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if again, err := tasks.place(t.Context()); err != nil || again.Name != first.Name || len(told) > 0 {
				t.Fatalf("the second task: %v, %v, told %q", again, err, told)
			}
			if tt.lose == nil {
				err = r.client.Pods(r.namespace).Delete(t.Context(), first.Name, meta.DeleteOptions{})
			} else {
				change(t, r, first.Name, tt.lose)
			}
			if err != nil {
				t.Fatal(err)
			}
			next, err := tasks.place(t.Context())
			if err != nil || next.Name == first.Name || len(told) != 1 || !strings.Contains(told[0], tt.why) {
				t.Errorf("%v, %v, told %q", next, err, told)
			}
			if left, err := r.client.Pods(r.namespace).List(t.Context(), meta.ListOptions{}); err != nil || len(left.Items) != 1 {
				t.Errorf("%v, %v", left, err)
			}
		})
	}
}

// TestTaskEvicted: a task whose Pod is being taken away has lost its place, in words that say which Pod and where;
// what is no loss of a place is none.
func TestTaskEvicted(t *testing.T) {
	for name, tt := range map[string]struct {
		lose  func(*core.Pod)
		err   error // of the API server
		class steps.EvictionClass
		text  string
	}{
		"there":         {func(*core.Pod) {}, nil, "", ""},
		"deleted":       {deletes, nil, steps.EvictionPodDeleted, "(load0) on node k1 was deleted by someone else"},
		"evicted":       {evicts, nil, steps.EvictionPodEvicted, "(load0) on node k1: EvictionByEvictionAPI: Eviction API: evicting"},
		"it crashed":    {ends, nil, "", ""},
		"not to be got": {nil, errors.New("no such thing"), "", ""},
	} {
		r := started(t)
		pod, err := r.Tasks(0).place(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if tt.lose != nil {
			change(t, r, pod.Name, tt.lose)
		}
		if tt.err != nil {
			fakeOf(r).PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object,
				error) {
				return true, nil, tt.err
			})
		}
		err = (&task{run: r, pod: pod}).evicted(t.Context())
		e, _ := errors.AsType[*steps.EvictionError](err)
		if (tt.class == "") != (err == nil) || e != nil && (e.Class != tt.class || !strings.Contains(e.Reason, tt.text)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServerDeleted: a server whose Pod somebody deletes has not failed, also where it has the time to end well.
func TestServerDeleted(t *testing.T) {
	for name, tt := range map[string]struct {
		asked bool
		class steps.EvictionClass
	}{"by someone": {false, steps.EvictionPodDeleted}, "by us": {true, ""}} {
		r := started(t)
		pod, err := r.Tasks(0).place(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{run: r, pod: pod, process: steps.Process{Name: "s"}, done: make(chan struct{})}
		s.asked.Store(tt.asked)
		change(t, r, pod.Name, deletes)
		running := s.Evicted(t.Context())
		change(t, r, pod.Name, ends)
		state, ended := s.await(t.Context())
		for _, err := range []error{running, ended} {
			e, _ := errors.AsType[*steps.EvictionError](err)
			if (tt.class == "") != (err == nil) || e != nil && e.Class != tt.class {
				t.Errorf("%s: %v", name, err)
			}
		}
		if state != "exit status 2" {
			t.Errorf("%s: it ended with %q", name, state)
		}
	}
}

// TestStopDenied: a server that this user may no longer stop says which right is missing and what to do.
func TestStopDenied(t *testing.T) {
	r := started(t)
	pod, err := r.Tasks(0).place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fakeOf(r).PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name,
			errors.New(`User "bench" cannot delete resource "pods" in API group "" in the namespace "bench"`))
	})
	s := &Server{run: r, pod: pod, process: steps.Process{Name: "s"}, done: make(chan struct{}), cancel: func() {}}
	close(s.done)
	err = s.Stop(t.Context())
	for _, want := range []string{
		"its Pod " + pod.Name + " may still run", `cannot delete resource "pods"`, "see that the RoleBinding of this user",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestTunnelsForgotten: a run of many launches keeps the tunnels of the servers that it has.
func TestTunnelsForgotten(t *testing.T) {
	r := started(t)
	for range 3 {
		pod, err := r.Tasks(0).place(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, end := context.WithCancel(t.Context())
		s := &Server{run: r, pod: pod, process: steps.Process{Name: "s", Port: 8000}, tunnel: &tunnel{address: "127.0.0.1:4000", end: end},
			done: make(chan struct{}), cancel: func() {}}
		r.remember(s.BaseURL(), "http://"+s.direct())
		s.unreach()
		close(s.done)
		if got := r.Direct(s.BaseURL()); got != "http://10.0.0.1:8000" {
			t.Errorf("of a server that is not stopped yet: %s", got)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.tunnels) > 0 {
		t.Errorf("tunnels are left: %v", r.tunnels)
	}
	r.tunnels["http://127.0.0.1:4000"] = "http://10.0.0.1:9000"
	r.forget("http://127.0.0.1:4000", "http://10.0.0.1:8000")
	if len(r.tunnels) != 1 {
		t.Error("the tunnel of another server at the same port was forgotten")
	}
}

// TestLooksThatEnd: a Pod that was to say what its node is was killed, or has another program.
func TestLooksThatEnd(t *testing.T) {
	for code, want := range map[int32]string{137: "was killed: exit status 137 (signal: killed): its limit of memory is 8Mi",
		1: "does not have this program as its entrypoint"} {
		r := started(t)
		r.client = newFake(&core.Pod{
			ObjectMeta: meta.ObjectMeta{Name: "p", Namespace: r.namespace},
			Spec: core.PodSpec{Containers: []core.Container{{Name: containerName,
				Resources: core.ResourceRequirements{Limits: core.ResourceList{core.ResourceMemory: resource.MustParse("8Mi")}}}}},
			Status: core.PodStatus{ContainerStatuses: []core.ContainerStatus{{Name: containerName, State: core.ContainerState{
				Terminated: &core.ContainerStateTerminated{Reason: "Error", ExitCode: code},
			}}}},
		})
		if _, err := r.readLook(t.Context(), "p"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("exit status %d: %v", code, err)
		}
	}
}

// TestNamespaceDeleted: a Pod that goes with its namespace is not said to be deleted by somebody.
func TestNamespaceDeleted(t *testing.T) {
	r := started(t)
	keeper := r.bare("keeper", "keeper")
	if err := r.create(t.Context(), keeper); err != nil {
		t.Fatal(err)
	}
	fakeOf(r).PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p",
			errors.New("unable to create new content in namespace bench because it is being terminated"))
	})
	const want = "namespace bench is being deleted, and with it the run (pod_deleted)"
	if err := r.create(t.Context(), r.bare("next", "next")); err == nil || err.Error() != want {
		t.Errorf("the next Pod: %v", err)
	}
	change(t, r, keeper.Name, deletes)
	r.lookAtKeeper(t.Context(), keeper.Name)
	if err := r.keeperLoss(); err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestKeeperLost: a Pod that is deleted because the keeper's node is drained names the keeper's loss, and
// not a hand that was nobody's.
func TestKeeperLost(t *testing.T) {
	for name, tt := range map[string]struct {
		lose  []func(*core.Pod)
		class steps.EvictionClass
		text  string
	}{
		"has its place": {nil, steps.EvictionPodDeleted, "(load0) on node k1 was deleted by someone else"},
		"evicted": {[]func(*core.Pod){evicts}, steps.EvictionPodEvicted,
			"(keeper) on node k2: EvictionByEvictionAPI: Eviction API: evicting; it kept the run"},
		"deleted": {[]func(*core.Pod){deletes}, steps.EvictionPodDeleted,
			"(keeper) on node k2 was deleted by someone else, or with the Job of the run; it kept the run"},
		"deleted, then evicted": {[]func(*core.Pod){deletes, evicts}, steps.EvictionPodEvicted, "(keeper) on node k2: EvictionByEvictionAPI"},
		"evicted, then deleted": {[]func(*core.Pod){evicts, func(pod *core.Pod) { pod.Status.Conditions = nil; deletes(pod) }},
			steps.EvictionPodEvicted,
			"(keeper) on node k2: EvictionByEvictionAPI"},
	} {
		t.Run(name, func(t *testing.T) {
			r := started(t)
			keeper := r.bare("keeper", "keeper")
			if err := r.create(t.Context(), keeper); err != nil {
				t.Fatal(err)
			}
			change(t, r, keeper.Name, func(pod *core.Pod) { pod.Spec.NodeName = "k2" })
			pod, err := r.Tasks(0).place(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, lose := range append(tt.lose, func(*core.Pod) {}) {
				change(t, r, keeper.Name, lose)
				if !r.lookAtKeeper(t.Context(), keeper.Name) {
					t.Fatal("the keeper is there")
				}
			}
			if err := r.client.Pods(r.namespace).Delete(t.Context(), keeper.Name, meta.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if r.lookAtKeeper(t.Context(), keeper.Name) {
				t.Error("the keeper is gone")
			}
			change(t, r, pod.Name, deletes)
			s := &Server{run: r, pod: pod, process: steps.Process{Name: "s"}, done: make(chan struct{})}
			for _, err := range []error{s.Evicted(t.Context()), (&task{run: r, pod: pod}).evicted(t.Context())} {
				e, ok := errors.AsType[*steps.EvictionError](err)
				if !ok || e.Class != tt.class || !strings.Contains(e.Reason, tt.text) {
					t.Errorf("%v, want %s: %s", err, tt.class, tt.text)
				}
			}
		})
	}
}

// TestOtherRuns: a run warns of others in its namespace, and not of itself.
func TestOtherRuns(t *testing.T) {
	r := started(t)
	var warned []string
	r.opt.Warn = func(text string) { warned = append(warned, text) }
	job := func(run string) {
		t.Helper()
		of := runOf(steps.KubernetesSpec{})
		of.opt.RunID = run
		if _, err := r.client.Jobs(r.namespace).Create(t.Context(), &batch.Job{ObjectMeta: of.meta("run", "keeper")},
			meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	job("r1")
	r.warnOthers(t.Context())
	if len(warned) > 0 {
		t.Errorf("alone: %q", warned)
	}
	job("r2")
	r.warnOthers(t.Context())
	if len(warned) != 1 || !strings.HasPrefix(warned[0], "namespace bench has other runs as well: r2 (Job pipeline-run-") ||
		strings.Contains(warned[0], "r1") {
		t.Errorf("beside another: %q", warned)
	}
	fakeOf(r).PrependReactor("list", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil,
			errors.New("no")
	})
	if r.warnOthers(t.Context()); len(warned) != 1 {
		t.Errorf("unlisted: %q", warned)
	}
}
