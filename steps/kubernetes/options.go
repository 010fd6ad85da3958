package kubernetes

import (
	"cmp"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Options of a run in a cluster. Spec and RunID are required; other zero values mean the defaults.
type Options struct {
	Spec steps.KubernetesSpec
	// Dir is the folder that the path of a kubeconfig is meant from.
	Dir string
	// Getenv finds a variable of the environment; nil finds none.
	Getenv func(string) string
	// RunID and Owner mark what is made, for [Leftovers]. Owner may be "".
	RunID, Owner string
	// Version that this program must have in the image, and Self its path here, by whose content builds are told
	// apart that have no version of their own.
	Version, Self string
	// Lifetime bounds the run from its first Pod on, the wait for nodes apart; 0 for no bound.
	Lifetime time.Duration
	// Tell is called with news of waiting, Warn with what speaks against the results.
	Tell, Warn func(text string)

	// Silence is how long the keeper waits for a sign of life; 5 min.
	Silence time.Duration
	// Patience is how long an API server that does not answer is asked again; 2 min.
	Patience time.Duration
	// CallWait bounds one request; 15 s.
	CallWait time.Duration
	// StartWait is how long a scheduled Pod may take to start, its image apart; 2 min.
	StartWait time.Duration
	// PullWait is how long the pull of an image may take; 30 min.
	PullWait time.Duration
	// KillWait is how long a Pod may take to vanish after its grace; 2 min, since a kubelet may look for an API
	// server that was away with pauses of half a minute.
	KillWait time.Duration
	// Poll is the time between two looks at what is waited for; 300 ms.
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

// The classes of steps.EvictionError.
const (
	ClassAPILost       = "api_lost"
	ClassForbidden     = "forbidden"
	ClassQuota         = "quota_exceeded"
	ClassRefused       = "pod_refused"
	ClassUnschedulable = "unschedulable"
	ClassImage         = "image_not_pulled"
	ClassNotStarted    = "pod_not_started"
	ClassOutOfMemory   = "out_of_memory"
	ClassEvicted       = "pod_evicted"
	ClassDeleted       = "pod_deleted"
	ClassNodeLost      = "node_lost"
)

func evicted(class, reason string) error {
	return &steps.EvictionError{Class: class, Reason: steps.Line(reason, maxReason)}
}

// maxReason bounds what is quoted of a cluster's words.
const maxReason = 600
