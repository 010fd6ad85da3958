// Package place is the seam between what a plan launches and where it runs: this machine,
// hosts with Docker, the nodes of a Slurm job, virtual time. Each of them is one package
// below this one and one row of the list that the session is given; nothing else knows
// which there are.
//
// The life of a place:
//
//  1. [Kind.Takes] is asked for every process of the plan. The kinds are asked in the order
//     of the list, and the first that takes a process has it.
//  2. [Kind.New] makes the place when the first process falls to it. It asks nothing of the
//     outside world: `validate` and `plan` make places too.
//  3. [Place.Check] and [Place.GPUs] say what the place makes of a target. [Set] gives each
//     process GPUs of its own by that.
//  4. [Place.Open] gets the place, however long that takes: a job waits in its queue.
//     [Place.Preflight] sees, once the run has begun, whether all is there, and removes what
//     an interrupted run has left.
//  5. [Place.Assign] binds a process to a [Slot], anew for every launch. The engine starts
//     the process by the slot's launcher and knows no more of the place.
//  6. [Place.Close] gives back what Open got.
//
// [Base] has the answers of a place that has nothing to say; a place embeds it and
// overrides what it does differently.
package place

import (
	"context"
	"log/slog"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/probe"
)

// Kind is a kind of place: a row of the list that the session is given.
type Kind struct {
	Name string
	// Takes reports whether a process runs in a place of this kind.
	Takes func(Options, Process) bool
	// New makes the place. It fails where the options are wrong.
	New func(Options) (Place, error)
}

// Options are what a place is made from.
type Options struct {
	Config *lang.Config
	Plan   *plan.Plan
	// Dir is the folder of the pipeline file.
	Dir string
	// Self is the path of this program, and Version its version.
	Self, Version string
	Environ       []string
	Now           func() time.Time
	Allow         docker.Allow
	Redact        *event.Redactor
	// Connectors of KV caches that simulated servers play; nil means all.
	Connectors kv.Table

	// Shown says that the place is only shown or checked: nothing is launched there, and
	// nothing below is set.
	Shown bool

	RunID string
	// Resumed says that a killed part of the run may have left something.
	Resumed bool
	// Spawner starts processes that are noted in the journal.
	Spawner steps.Spawner
	// Folder makes a folder of a launch in the run directory.
	Folder func(name string) (string, error)
	// Info and Warn take what a user should know; Log is the same for packages that log.
	Info, Warn func(text string)
	Log        *slog.Logger
}

// Getenv finds a variable of the environment.
func (o Options) Getenv(name string) string { return spawn.Getenv(o.Environ)(name) }

// Target is the processes that serve together.
type Target struct {
	Processes []Process
	// Together says that the servers must reach each other.
	Together bool
	// Alone says that the target is one server with the machine for itself, which finds its
	// GPUs by itself.
	Alone bool
}

// Process is a process of a target. One that a URL names already answers: it is not placed.
type Process struct {
	Name string
	// Role is RoleServer of what has GPUs; services and the router run beside the servers.
	Role Role
	// Spec of a server on one node, as the file declares it, even where a simulated one takes
	// its place.
	Spec steps.ServerSpec
	// Contained says that it is started in a container.
	Contained bool
}

// Role of a process in its target.
type Role int

// The roles of processes.
const (
	RoleServer Role = iota
	RoleService
	RoleRouter
)

// LoadWorker is the command of this program that generates the load of one run on a node.
const LoadWorker = "load-worker"

// Slot is where a process runs.
type Slot struct {
	// Spec of a server as it is started there: its GPUs, its network, what it listens on. Of that of
	// a router what it listens on is used alone, "" for Host.
	Spec steps.ServerSpec
	// Host is the address at which others reach the process, "" for the loopback address.
	Host     string
	Launcher steps.Launcher
	// Self is how this program is started there.
	Self Self
	// Ask makes of an engine one that asks processes of this place; nil leaves it as it is.
	Ask func(steps.Engine) steps.Engine
	// Show makes of a process what is started at this place, for display; nil means itself.
	Show func(steps.Process) (steps.Process, error)
}

// Self is how this program is started in a slot.
type Self struct {
	Program string
	// Image that has it, "" where it is no container.
	Image string
}

// Place is where processes of a plan run.
type Place interface {
	// Check lists why the processes of a target cannot be here. It sees all of them, and is
	// asked where one is this place's.
	Check(Target) []Problem
	// CheckLoad reports why a workload cannot be measured here; delayed says that its
	// answers are to be delayed on the way.
	CheckLoad(w steps.Workload, delayed bool) error
	// Unprofiled reports why a server cannot be profiled here; around says that its profiler starts
	// it, and needs other programs beside it.
	Unprofiled(p Process, around bool) error
	// GPUs is what is known of the GPUs of a server before it has any.
	GPUs(Target, Process) GPUs
	// Assign binds a process to a slot. gpus are those that it was given, beside those that
	// the file names.
	Assign(t Target, p Process, gpus []string) (Slot, error)

	// Open gets the place before the run begins, and its time.
	Open(context.Context) error
	// Preflight sees whether the place has what the run needs, before anything is launched. An
	// error is the fault of a machine, not of a server.
	Preflight(context.Context) error
	// Close gives back what Open got. It may be called again, and without Open.
	Close(context.Context) error

	// Here reports whether a process of this place runs on this machine.
	Here(Process) bool
	// Needs is what the plan's needs of this machine become with this place.
	Needs(doctor.Needs) doctor.Needs
	// Daemon asks the place's daemon what the doctor wants to know; nil where it has none.
	Daemon() Daemon
	// Owner returns a function that finds whose a process on a GPU of this machine is, which
	// this program has not started itself.
	Owner(context.Context) func(pid int) probe.Owner
	// Facts is what is known of the machines of the run, given the facts of this one.
	Facts(here map[string]string) map[string]string
	// Lane is the part of the place on which the repeats of a lane are carried out; nil where
	// the place has no lanes.
	Lane(lane int) *Lane
	// Model is set by a place that exists in a model only, nil by all others.
	Model() *Model
}

// Lane is a part of a place that repeats are carried out on: nodes of a cluster, or a machine of several.
type Lane struct {
	// Place that its processes run in.
	Place Place
	// Nodes are the names of its machines, with commas between, as runs name them.
	Nodes string
	// Clock and Ports of a lane in a model; nil for a real one.
	Clock *engine.LaneClock
	Ports engine.Ports
	// Load generates load on LoadNode; nil means that this process does.
	Load     func(context.Context, engine.LoadRun) (load.Result, error)
	LoadNode string
}

// Model is a place of virtual time: no process, connection or machine takes part.
type Model struct {
	Ports engine.Ports
	Now   func() time.Time
	// AdvanceTo lets time go by until t, if it is not later already.
	AdvanceTo func(t time.Time)
	Load      func(context.Context, load.Options) (load.Result, error)
	// Try reports why a target cannot be modelled. That its servers would fail to start is
	// no reason: the run shows it.
	Try func(engine.TargetSpec) error
	// Notes are what a reader must know of the outcome.
	Notes func(*engine.Outcome) []string
}

// Daemon asks a daemon of containers about itself and some images.
type Daemon func(ctx context.Context, images []string) (doctor.Daemon, error)

// Problem is why a process cannot be somewhere.
type Problem struct {
	// Process is its name, "" where it is the target's problem.
	Process string
	Err     error
}

// Base is a place on this machine that needs nothing.
type Base struct{}

// Check implements Place: nothing speaks against it.
func (Base) Check(Target) []Problem { return nil }

// CheckLoad implements Place: nothing speaks against it.
func (Base) CheckLoad(steps.Workload, bool) error { return nil }

// Unprofiled implements Place: nothing speaks against it.
func (Base) Unprofiled(Process, bool) error { return nil }

// Open implements Place.
func (Base) Open(context.Context) error { return nil }

// Preflight implements Place.
func (Base) Preflight(context.Context) error { return nil }

// Close implements Place.
func (Base) Close(context.Context) error { return nil }

// Here implements Place: it is this machine.
func (Base) Here(Process) bool { return true }

// Needs implements Place: they stay what they are.
func (Base) Needs(n doctor.Needs) doctor.Needs { return n }

// Daemon implements Place: there is none.
func (Base) Daemon() Daemon { return nil }

// Owner implements Place: what this program has not started is not its own.
func (Base) Owner(context.Context) func(int) probe.Owner {
	return func(int) probe.Owner { return probe.OwnerForeign }
}

// Facts implements Place: those of this machine are all there is.
func (Base) Facts(here map[string]string) map[string]string { return here }

// Lane implements Place: there are none.
func (Base) Lane(int) *Lane { return nil }

// Model implements Place: it is real.
func (Base) Model() *Model { return nil }
