package slurm

import (
	"cmp"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Options of a job. Spec, Spawner and RunID are required; other zero values mean the
// defaults.
type Options struct {
	Spec    steps.SlurmSpec
	Spawner steps.Spawner
	// Env of Slurm's commands, such as SLURM_CONF.
	Env []steps.EnvVar
	// JobID of the allocation that this program runs in, "" on a login node.
	JobID string
	// RunID and Owner mark what is made, for [Leftovers]. Owner may be "".
	RunID, Owner string
	// Unset are variables of our own processes that must not reach those on the nodes.
	Unset []string
	// Folder makes an empty folder of a start on a file system that the nodes share.
	Folder func(name string) (string, error)
	// Need is how much time of the job a launch must find left.
	Need time.Duration
	// Tell is called with news of the wait in the queue.
	Tell func(text string)

	// CallWait bounds one command of Slurm; 30 s.
	CallWait time.Duration
	// Patience is how long a controller that does not answer is asked again; 1 min.
	Patience time.Duration
	// StartWait is how long a step may wait until it runs; 2 min.
	StartWait time.Duration
	// KillWait is how long a killed step may take to vanish; 30 s.
	KillWait time.Duration
	// LookWait is how long a node may take to start a step that does nothing; 10 s.
	LookWait time.Duration
	// Poll is the time between two looks at what is waited for; 250 ms.
	Poll time.Duration
}

func (o *Options) complete() {
	o.CallWait = cmp.Or(o.CallWait, 30*time.Second)
	o.Patience = cmp.Or(o.Patience, time.Minute)
	o.StartWait = cmp.Or(o.StartWait, 2*time.Minute)
	o.KillWait = cmp.Or(o.KillWait, 30*time.Second)
	o.LookWait = cmp.Or(o.LookWait, 10*time.Second)
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	o.Spec.Nodes = max(o.Spec.Nodes, 1)
}

// The classes of steps.EvictionError.
const (
	ClassNodeLost      = "node_lost"
	ClassJobCancelled  = "job_cancelled"
	ClassStepCancelled = "step_cancelled"
	ClassPreempted     = "preempted"
	ClassTimeLimit     = "time_limit"
	ClassJobEnded      = "job_ended"
	ClassRefused       = "allocation_refused"
	ClassPending       = "job_pending"
)

func evicted(class, reason string) error {
	return &steps.EvictionError{Class: class, Reason: reason}
}
