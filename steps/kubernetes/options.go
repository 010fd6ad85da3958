package kubernetes

import (
	"cmp"
	"fmt"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Options of a run in a cluster. Spec and RunID are required; other zero values select the defaults.
type Options struct {
	Spec steps.KubernetesSpec
	// Dir is the base of a relative path of the kubeconfig.
	Dir string
	// Getenv finds a variable of the environment; nil finds none.
	Getenv func(string) string
	// RunID and Owner label the created objects, for [Leftovers]. Owner may be "".
	RunID, Owner string
	// Version that this program must have in the image. Self is its path here; its content identifies builds
	// with an ambiguous version.
	Version, Self string
	// Lifetime bounds the run from its first Pod on, the wait for nodes apart; 0 for no bound.
	Lifetime time.Duration
	// Tell receives progress of waits, Warn receives problems that affect the results.
	Tell, Warn func(text string)

	// Silence is how long the keeper waits without a heartbeat; default 5 min.
	Silence time.Duration
	// Patience is how long to retry an API server that does not answer; default 2 min.
	Patience time.Duration
	// CallWait limits one request; default 15 s.
	CallWait time.Duration
	// StartWait is how long a scheduled Pod may take to start, without the pull of its image; default 2 min.
	StartWait time.Duration
	// PullWait is how long the pull of an image may take; default 30 min.
	PullWait time.Duration
	// KillWait is how long a Pod may take to vanish after its grace; default 2 min, since a kubelet may wait
	// half a minute between retries after an outage of the API server.
	KillWait time.Duration
	// Poll is the interval between polls; default 300 ms.
	Poll time.Duration
}

func (o *Options) complete() {
	o.Silence = cmp.Or(o.Silence, 5*time.Minute)
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.CallWait = cmp.Or(o.CallWait, 15*time.Second)
	o.StartWait = cmp.Or(o.StartWait, 2*time.Minute)
	o.PullWait = cmp.Or(o.PullWait, 30*time.Minute)
	o.KillWait = cmp.Or(o.KillWait, 2*time.Minute)
	o.Poll = cmp.Or(o.Poll, 300*time.Millisecond)
	o.Spec.QueueTimeout = cmp.Or(o.Spec.QueueTimeout, 10*time.Minute)
	o.Spec.GPUResource = cmp.Or(o.Spec.GPUResource, "nvidia.com/gpu")
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
}

func evicted(class steps.EvictionClass, reason string) error {
	return &steps.EvictionError{Class: class, Reason: steps.Line(reason, maxReason)}
}

// maxReason limits the length of a quoted message of the cluster.
const maxReason = 600

func evictedf(class steps.EvictionClass, format string, args ...any) error {
	return evicted(class, fmt.Sprintf(format, args...))
}
