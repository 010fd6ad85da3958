package steps

import (
	"strings"
	"time"
)

// KubernetesSpec is the namespace of a Kubernetes cluster in which servers run, as Pods that one
// Job owns.
type KubernetesSpec struct {
	// Image has this program as its entrypoint: it holds the run's place, looks at the nodes and
	// generates load.
	Image string
	// Namespace; "" selects the namespace of the context or of the Pod that this program runs in.
	Namespace string
	// Context of the kubeconfig and its path, "" for the current one and the usual places.
	Context, Kubeconfig string
	// Nodes that the machines block spreads repeats over, 0 without one: then the run has those that its
	// servers name.
	Nodes int
	// LoadNode is the node on which the load is generated, with the router before it; nil for
	// where the command runs.
	LoadNode *int

	// Queue is the local queue of Kueue, "" for none.
	Queue         string
	PriorityClass string
	// ServiceAccount of servers, "" for none at all: their Pods get no token.
	ServiceAccount string
	// PullSecrets are the names of secrets with credentials of registries.
	PullSecrets []string
	// Labels and Annotations of all Pods, and further annotations of the servers' Pods.
	Labels, Annotations, ServerAnnotations map[string]string
	// NodeSelector and Tolerations of all Pods.
	NodeSelector map[string]string
	Tolerations  []Toleration
	// GPUResource is the device plugin's name for a GPU.
	GPUResource string
	// Resources of each server beside its GPUs, by name, such as cpu and rdma/hca.
	Resources map[string]string
	// LoadResources of the load generator's Pod, nil for little and without a limit.
	LoadResources map[string]string
	// Secrets are variables of servers by name, each "SECRET/KEY" of the namespace.
	Secrets map[string]string
	// QueueTimeout bounds the wait for room on the cluster.
	QueueTimeout time.Duration
}

// Toleration of a taint. An empty Value matches all values.
type Toleration struct{ Key, Value, Effect string }

// NodeResource reports whether a resource of Kubernetes is one that each node has, and not of a device plugin.
func NodeResource(name string) bool {
	return name == "cpu" || name == "memory" || name == "ephemeral-storage" || strings.HasPrefix(name, "hugepages-")
}
