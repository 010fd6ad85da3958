package engine

import (
	"context"
	"io"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/cgroup"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/probe"
)

// Options holds the options of a run.
type Options struct {
	Plan *plan.Plan
	// Store stores the evidence; *store.Dir implements it.
	Store Store
	Bus   *event.Bus

	// Target resolves a target once the outputs of all steps are known. It is called for every launch. An error is a
	// fault of the file.
	Target func(addr string, outputs config.Outputs) (TargetSpec, error)
	// Lane returns the lane of the plan with a number; nil means that there is one lane, and Target resolves its
	// targets.
	Lane func(lane int) Lane
	// Step resolves a step once the outputs of the steps before it are known. It may be nil for a plan without steps.
	// An error is a fault of the file.
	Step func(addr string, outputs config.Outputs) (StepSpec, error)
	// Ports reserves free ports; *process.Ports implements it.
	Ports Ports
	// Env is the environment of the steps; the engine sets Log.
	Env steps.ActionEnv
	// Cache caches steps that have a cache key; nil means no cache.
	Cache *store.Cache
	// Probe describes the machine, once; nil means no description.
	Probe func(context.Context) map[string]string
	// NICs lists the machine's network devices with their traffic counters; nil means no list.
	NICs func() []probe.NIC
	// Preflight checks before the start whether the machine has what the plan needs; nil means no check. An error is
	// the machine's fault.
	Preflight func(context.Context) error
	// Machine monitors the hardware that targets use; nil means no monitoring.
	Machine Machine
	// Front returns the address to which a planned repeat sends its load in place of the server's, and a function that
	// stops it; nil means the server's address.
	Front func(repeat int, baseURL string) (url string, stop func() error, err error)
	// Load executes one run of a workload; nil means load.Run.
	Load func(context.Context, load.Options) (load.Result, error)
	// Drive executes one run with another load generator; nil means that no plan needs one. The run names its files in
	// the run directory. An error states why there is no result.
	Drive func(context.Context, DriveOptions) (result.Run, error)
	// Groups names the folders of control groups, for the quota of other load generators; the zero value is the system's.
	Groups cgroup.System
	// InTurn awaits the members of a wave one after the other. In a model they become ready at the same moment, and the order
	// of their events is fixed then.
	InTurn bool
	// Watchers watch each run, in addition to the watchers of every run.
	Watchers []Watch
	// EndLeft ends the processes that killed programs have left, waits for their end and returns their numbers and
	// commands; nil means that left processes stay.
	EndLeft func(owners []string) ([]string, error)
	// Now is the clock for time stamps; nil means time.Now.
	Now func() time.Time
	// After is the clock for waits between two polls of a server; nil means time.After.
	After func(time.Duration) <-chan time.Time

	// Secrets returns the secrets in outputs of steps; nil means none.
	Secrets func(config.Outputs) []string
	// Redact masks secrets in text from servers; nil masks nothing.
	Redact *event.Redactor
	// Bare omits the parts of runs that decide nothing: histograms and series over time.
	Bare bool
	// KeepGoing measures the other targets to the end when one is given up.
	KeepGoing bool
	// Resume holds the outcome of the earlier parts of this run; nil starts from the beginning.
	Resume *Outcome
}

// StepSpec is a resolved step.
type StepSpec struct {
	Action steps.Action
	Object steps.Object
}

// Store stores the files of a run.
type Store interface {
	// WriteJSON writes a value to the file with a name.
	WriteJSON(name string, v any) error
	// WriteRecords writes the records of a run and returns the name of their file, "" for none.
	WriteRecords(name string, write func(io.Writer) error) (file string, err error)
	// Log opens the log of a process.
	Log(name string) (*store.Log, error)
}

// Ports reserves ports of a host. Each stays reserved until it is released.
type Ports interface {
	// TakeRow reserves count free consecutive ports. No other process gets one of the spacing ports from first on.
	TakeRow(host string, count, spacing int) (first int, release func(), err error)
	// Hold keeps count ports from first on, which the file chooses, from being reserved for others.
	Hold(first, count int) (release func())
}

// These time limits cannot be set in a file.
const (
	describeTimeout = 60 * time.Second // a description is worth no longer wait
	resetTimeout    = 60 * time.Second
	pollTimeout     = 60 * time.Second // one check of readiness, including a canary on a slow machine
	healthTimeout   = 10 * time.Second // for a server with failed requests to answer a poll
	stopMargin      = 30 * time.Second // beyond the grace, for the kill and the clean-up
	interruptGrace  = 4 * time.Second  // grace of all servers after an interrupt; all must end within 7 s
	heartbeat       = 60 * time.Second
)

// localhost is the address of servers that we start.
const localhost = "127.0.0.1"

func (o *Options) withDefaults() Options {
	out := *o
	if out.Load == nil {
		out.Load = load.Run
	}
	if out.Front == nil {
		out.Front = func(_ int, baseURL string) (string, func() error, error) {
			return baseURL, func() error { return nil }, nil
		}
	}
	if out.Machine == nil {
		out.Machine = Unwatched{}
	}
	if out.Now == nil {
		out.Now = time.Now
	}
	if out.After == nil {
		out.After = time.After
	}
	if out.Secrets == nil {
		out.Secrets = func(config.Outputs) []string { return nil }
	}
	if out.EndLeft == nil {
		out.EndLeft = func([]string) ([]string, error) { return nil, nil }
	}
	return out
}
