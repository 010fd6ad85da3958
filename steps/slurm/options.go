package slurm

import (
	"cmp"
	"fmt"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Options configure a job. Spec, Spawner and RunID are required; other zero values mean the defaults.
type Options struct {
	Spec    steps.SlurmSpec
	Spawner steps.Spawner
	// Env holds variables of Slurm's commands, such as SLURM_CONF.
	Env []steps.EnvVar
	// JobID of the allocation in which this program runs, "" on a login node.
	JobID string
	// RunID and Owner mark jobs and steps, for [Leftovers]. Owner may be "".
	RunID, Owner string
	// Unset lists variables of this program that must not reach programs on the nodes.
	Unset []string
	// Folder makes an empty folder for a start on a file system that the nodes share.
	Folder func(name string) (string, error)
	// Need is the time that the job must have left for a launch.
	Need time.Duration
	// Tell receives messages while the job waits in the queue.
	Tell func(text string)

	// CallWait is the timeout of one Slurm command; 30 s.
	CallWait time.Duration
	// Patience is how long calls to an unresponsive controller are retried; 1 min.
	Patience time.Duration
	// StartWait is how long a step may wait before it runs; 2 min.
	StartWait time.Duration
	// KillWait is how long a killed step may take to vanish; 30 s.
	KillWait time.Duration
	// LookWait is how long a node may take to start a step that does nothing; 10 s.
	LookWait time.Duration
	// Poll is the interval between checks; 250 ms.
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

func evicted(class steps.EvictionClass, reason string) error {
	return &steps.EvictionError{Class: class, Reason: reason}
}

func evictedf(class steps.EvictionClass, format string, args ...any) error {
	return evicted(class, fmt.Sprintf(format, args...))
}
