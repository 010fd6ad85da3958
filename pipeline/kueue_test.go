package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// queueCases are those in which Kueue admits the Pods with GPUs.
func queueCases() []kubernetesCase {
	many := []string{"--var", "requests=600"}
	return []kubernetesCase{
		{"a queue that admits", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.queue(t, 1)
			return m.meanwhile(t, runStarts, func(*os.Process) {
				if pod := m.pod(t, "server", "server.vllm.sut"); pod.Labels["kueue.x-k8s.io/managed"] != "true" {
					t.Errorf("no Kueue has seen %s: %v", pod.Name, pod.Labels)
				}
			}, many...)
		}},
		{"a queue with a flavor for each node", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.queue(t, 1, "k2", "k1")
			return m.run(t, "--var", "target=pairs")
		}},
		{"a queue that is full", 4, "within queue_timeout (5s): SchedulingGated: Scheduling is blocked due to non-empty scheduling gates; " +
			"queue gpu: Pending: couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu",
			func(t *testing.T, m *namespace) (string, int) {
				t.Helper()
				m.queue(t, 1)
				m.occupy(t, "occupant", "")
				return m.run(t, "--var", "queue_timeout=5s")
			}},
		{"a queue that is full for a while", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.queue(t, 1)
			m.occupy(t, "occupant", "")
			return m.meanwhile(t, "insufficient unused quota", func(*os.Process) {
				if err := m.client.CoreV1().Pods(m.name).Delete(context.Background(), "occupant", meta.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			})
		}},
		{"a queue that is not there", 4, "queue none: no event says why; is there a LocalQueue of this name?",
			func(t *testing.T, m *namespace) (string, int) {
				t.Helper()
				m.queue(t, 1)
				m.edit(t, `"gpu"`, `"none"`)
				return m.run(t, "--var", "queue_timeout=5s")
			}},
		{"a queue that nobody keeps", 0, `queue "gpu" does not admit the Pods of this run`, func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.useQueue(t)
			return m.run(t)
		}},
		{"pre-empted in its queue", 4, "pod_evicted", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.queue(t, 1)
			text, code := m.meanwhile(t, runStarts, func(*os.Process) { m.occupy(t, "urgent", m.urgent(t)) }, many...)
			if want := "WorkloadEvictedDueToPreempted: Preempted to accommodate a workload"; !strings.Contains(text, want) {
				t.Errorf("it does not say %q", want)
			}
			return text, code
		}},
	}
}

// useQueue has the file name a queue.
func (m *namespace) useQueue(t *testing.T) {
	t.Helper()
	m.edit(t, "  kubernetes {\n", "  kubernetes {\n    queue = \"gpu\"\n")
}

// queue has Kueue keep a queue "gpu" in the namespace, with so many GPUs of each flavor: one for each node that is
// named, or one of any node.
func (m *namespace) queue(t *testing.T, gpus int, nodes ...string) {
	t.Helper()
	m.useQueue(t)
	m.label(t, "pipeline.test/kueue", "true")
	m.queued = true
	flavors := ""
	for i := range max(1, len(nodes)) {
		flavor, spec := fmt.Sprint(m.name, "-", i), "{}"
		if len(nodes) > 0 {
			spec = fmt.Sprintf(`{"nodeLabels": {%q: %q}}`, core.LabelHostname, nodes[i])
		}
		m.define(t, "resourceflavors", "ResourceFlavor", flavor, spec)
		flavors += fmt.Sprintf(`, {"name": %q, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": %d}]}`, flavor, gpus)
	}
	m.define(t, "clusterqueues", "ClusterQueue", m.name, `{"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"},
		"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [`+flavors[2:]+`]}]}`)
	m.define(t, "namespaces/"+m.name+"/localqueues", "LocalQueue", "gpu", fmt.Sprintf(`{"clusterQueue": %q}`, m.name))
	if !within(time.Minute, 100*time.Millisecond, func() bool {
		text, err := m.client.RESTClient().Get().AbsPath(kueueAPI, "namespaces", m.name, "localqueues", "gpu").DoRaw(context.Background())
		return err == nil && strings.Contains(string(text), `"reason":"Ready"`)
	}) {
		t.Fatal("the queue was never ready")
	}
}

const kueueAPI = "/apis/kueue.x-k8s.io/v1beta2"

// define makes an object of Kueue, until the test ends.
func (m *namespace) define(t *testing.T, path, kind, name, spec string) {
	t.Helper()
	ctx := context.Background()
	object := fmt.Appendf(nil, `{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": %q, "metadata": {"name": %q}, "spec": %s}`, kind, name, spec)
	if text, err := m.client.RESTClient().Post().AbsPath(kueueAPI, path).Body(object).SetHeader("Content-Type",
		"application/json").DoRaw(ctx); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Cleanup(func() { _ = m.client.RESTClient().Delete().AbsPath(kueueAPI, path, name).Do(ctx).Error() })
}

// urgent makes a priority class that comes before that of a run.
func (m *namespace) urgent(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	// the queue makes room, and not the scheduler, who would take it from the Pods of others
	class := &scheduling.PriorityClass{ObjectMeta: meta.ObjectMeta{Name: m.name}, Value: 1000, PreemptionPolicy: new(core.PreemptNever)}
	if _, err := m.client.SchedulingV1().PriorityClasses().Create(ctx, class, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.client.SchedulingV1().PriorityClasses().Delete(ctx, m.name, meta.DeleteOptions{}) })
	return m.name
}

// occupy has somebody else's Pod take a GPU of the queue.
func (m *namespace) occupy(t *testing.T, name, priority string) {
	t.Helper()
	ctx := context.Background()
	gpu := core.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	pod := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"kueue.x-k8s.io/queue-name": "gpu"}},
		Spec: core.PodSpec{
			PriorityClassName: priority, TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []core.Container{{Name: "main", Image: "docker.io/pipeline/pause:1", ImagePullPolicy: core.PullNever,
				Resources: core.ResourceRequirements{Limits: gpu}}},
		}}
	var err error
	// The API server hears of a priority class a moment after it has stored it, and Kueue of a namespace.
	if !within(time.Minute, 100*time.Millisecond, func() bool {
		_, err = m.client.CoreV1().Pods(m.name).Create(ctx, pod, meta.CreateOptions{})
		return !apierrors.IsForbidden(err) && (err == nil || !strings.Contains(err.Error(), "Namespace"))
	}) || err != nil {
		t.Fatal(err)
	}
	if !within(time.Minute, 100*time.Millisecond, func() bool {
		now, err := m.client.CoreV1().Pods(m.name).Get(ctx, name, meta.GetOptions{})
		return err == nil && now.Status.Phase == core.PodRunning
	}) {
		t.Fatalf("Pod %s never ran", name)
	}
}

// workloads are those that Kueue has of Pods of a run.
func (m *namespace) workloads() []string {
	text, err := m.client.RESTClient().Get().AbsPath(kueueAPI, "namespaces", m.name, "workloads").DoRaw(context.Background())
	var found meta.PartialObjectMetadataList
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, w := range found.Items {
		if strings.HasPrefix(w.Name, "pod-pipeline-") {
			out = append(out, "Workload "+w.Name)
		}
	}
	return out
}
