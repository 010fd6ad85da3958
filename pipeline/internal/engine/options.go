package engine

import (
	"context"
	"io"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/probe"
)

// Outputs of the steps carried out so far: by step address, then by name.
type Outputs = map[string]map[string]string

// Options of a run.
type Options struct {
	Plan *plan.Plan
	// Store keeps the evidence; *store.Dir is one.
	Store Store
	Bus   *event.Bus

	// Target resolves a target once the outputs of all steps are known. It is called
	// anew for every launch. An error is a fault of the file.
	Target func(addr string, outputs Outputs) (TargetSpec, error)
	// Lane is where the repeats of a lane of the plan are carried out; nil means that there is
	// one, and Target resolves what it launches.
	Lane func(lane int) Lane
	// Step resolves a step once the outputs of the steps before it are known. It may be
	// nil for a plan without steps. An error is a fault of the file.
	Step func(addr string, outputs Outputs) (StepSpec, error)
	// Ports hands out free ports; *process.Ports is one.
	Ports Ports
	// Env is what steps are given to work with; Log is set by the engine.
	Env steps.ActionEnv
	// Cache of steps that have a cache key; nil means that none is kept.
	Cache *store.Cache
	// Probe describes the machine, once; nil means not at all.
	Probe func(context.Context) map[string]string
	// NICs lists the machine's network devices with what they have carried; nil means that
	// nobody looks.
	NICs func() []probe.NIC
	// Preflight sees, before anything is started, whether the machine has what the plan
	// needs; nil means that nothing is looked at. An error is the machine's fault.
	Preflight func(context.Context) error
	// Machine looks after the hardware that targets use; nil means that nothing does.
	Machine Machine
	// Front gives the address that the load of a planned repeat is sent to in place of a
	// server's own, and what ends it; nil means the server's own.
	Front func(repeat int, baseURL string) (url string, stop func() error, err error)
	// Load carries out one run of a workload; nil means load.Run.
	Load func(context.Context, load.Options) (load.Result, error)
	// Drive has another load generator carry out one run; nil means that no plan has one.
	// What the run directory keeps of it is named in the run. An error is why there is no
	// result.
	Drive func(context.Context, DriveOptions) (result.Run, error)
	// Watchers watch each run, beside what watches every run.
	Watchers []Watch
	// EndLeft ends the processes that killed programs have left, waits for their end and returns
	// their numbers and commands; nil means that none is looked for.
	EndLeft func(owners []string) ([]string, error)
	// Now is the clock for time stamps; nil means time.Now.
	Now func() time.Time
	// After is the clock for waits between two questions to a server; nil means time.After.
	After func(time.Duration) <-chan time.Time

	// Secrets returns the secrets that outputs of steps bring; nil means that none does.
	Secrets func(Outputs) []string
	// Redact masks secrets in what servers say of themselves; nil masks nothing.
	Redact *event.Redactor
	// Bare leaves out of runs what decides nothing: histograms and series over time.
	Bare bool
	// KeepGoing measures the other targets to the end when one is given up.
	KeepGoing bool
	// Resume is what an earlier part of this run has done; nil starts from the beginning.
	Resume *State
}

// StepSpec is a step that is ready to be carried out.
type StepSpec struct {
	Action steps.Action
	Object steps.Object
}

// Store keeps what a run leaves behind.
type Store interface {
	// WriteJSON writes a value under the name of a file.
	WriteJSON(name string, v any) error
	// WriteRecords writes the records of a run and returns the name of their file, "" for
	// none.
	WriteRecords(name string, write func(io.Writer) error) (file string, err error)
	// Log opens the log of a process.
	Log(name string) (*store.Log, error)
}

// Ports hands out ports of a host; each is kept from others until it is released.
type Ports interface {
	// TakeRow reserves count free ports in a row. The next spacing ports from the first on
	// are given to no other process.
	TakeRow(host string, count, spacing int) (first int, release func(), err error)
	// Hold keeps a port that the file asks for, and those after it, from being handed out.
	Hold(first, count int) (release func())
}

// Limits of time that no file sets.
const (
	describeTimeout = 60 * time.Second // what a server says of itself is worth no more
	resetTimeout    = 60 * time.Second
	pollTimeout     = 60 * time.Second // one look at readiness; a canary on a slow machine included
	healthTimeout   = 10 * time.Second // for a server that failed requests to show that it lives
	stopMargin      = 30 * time.Second // beyond the grace, for the kill and what follows it
	interruptGrace  = 4 * time.Second  // grace of all servers once we were asked to end: 7 s is all there is
	heartbeat       = 60 * time.Second
)

// localhost is where servers that we start are reached.
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
		out.Secrets = func(Outputs) []string { return nil }
	}
	if out.EndLeft == nil {
		out.EndLeft = func([]string) ([]string, error) { return nil, nil }
	}
	return out
}
