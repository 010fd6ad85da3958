// Package place separates what a plan launches from where it runs: this machine, hosts with
// Docker, the nodes of a Slurm job, a Kubernetes cluster, virtual time. Each of them is one package
// below this one and one row of the list that the session gets; no other code knows the list.
//
// The life of a place:
//
//  1. [Kind.Takes] is called for every process of the plan. The kinds are tried in the order
//     of the list, and the first that takes a process has it.
//  2. [Kind.New] makes the place for its first process. It contacts no daemon or cluster,
//     because `validate` and `plan` make places too.
//  3. [Place.Check] and [Place.GPUs] validate a target for the place. With them, [Set] assigns
//     separate GPUs to each process.
//  4. [Place.Open] gets the place, however long that takes: a job waits in its queue.
//     [Place.Preflight] checks, once the run has begun, that everything is available, and removes
//     what an interrupted run left.
//  5. [Place.Assign] binds a process to a [Slot], anew for every launch. The engine starts
//     the process with the slot's launcher and knows no more of the place.
//  6. [Place.Close] gives back what Open got.
//
// [Base] has default methods; a place embeds it and overrides what differs.
package place

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/probe"
)

// Kind is a kind of place: a row of the list that the session is given.
type Kind struct {
	Name string
	// Containers holds the kind's columns of the table of container capabilities, one for each runtime that starts
	// images there. [UnsupportedBy] applies a column.
	Containers []steps.ContainerSupport
	// Cleaner removes what killed runs left there, nil if nothing can be left.
	Cleaner NewCleaner
	// Examine checks, for the doctor, that the place has what a file needs of it, nil without such checks. It
	// changes nothing, and returns nothing for a file that does not use the place.
	Examine func(context.Context, Options) []doctor.Check
	// Applied returns what another tool would apply to start a server, without applying it; nil for a kind of place
	// that does not use another tool, and a nil result if the file does not say how to render it.
	Applied func(context.Context, Options, steps.ServerSpec) (*steps.Applied, error)
	// Takes reports whether a process runs in a place of this kind.
	Takes func(Options, Process) bool
	// New makes the place. It fails if the options are wrong.
	New func(Options) (Place, error)
}

// Options configure a place.
type Options struct {
	Plan *plan.Plan // with its configuration
	// Self is the path of this program, and Version its version.
	Self, Version string
	Environ       []string
	Now           func() time.Time
	Allow         docker.Allow
	Redact        *event.Redactor
	// Connectors of KV caches that simulated servers play; nil means all.
	Connectors kv.Table

	// Shown means that the place is only shown or checked: nothing is launched there, and the fields below are
	// not set.
	Shown bool

	RunID string
	// Resumed means that a killed part of the run may have left something.
	Resumed bool
	// Spawner starts processes that are recorded in the journal.
	Spawner steps.Spawner
	// Folder makes a folder for a launch in the run directory.
	Folder func(name string) (string, error)
	// Info and Warn receive messages for the user; Log serves packages that log.
	Info, Warn func(text string)
	Log        *slog.Logger
}

// Getenv returns a variable of the environment.
func (o Options) Getenv(name string) string { return spawn.Getenv(o.Environ)(name) }

// Target lists the processes that serve together.
type Target struct {
	Processes []Process
	// Together means that the servers must reach each other.
	Together bool
	// Alone means that the target is one server that has the machine for itself, and finds its GPUs itself.
	Alone bool
}

// Process is a process of a target. A server with a URL already answers and is not placed.
type Process struct {
	Name string
	// Role is RoleServer for processes with GPUs; services and the router run beside the servers.
	Role Role
	// Spec of a server on one node, as declared in the file, even if a simulated one replaces it.
	Spec steps.ServerSpec
	// Contained means that it is started in a container.
	Contained bool
}

// Role is the role of a process in its target.
type Role int

// The roles of processes.
const (
	RoleServer Role = iota
	RoleService
	RoleRouter
)

// LoadWorker is the command of this program that generates the load of one run on a node.
const LoadWorker = "load-worker"

// LoadStreamed is its flag for an order that comes by standard input.
const LoadStreamed = "--stream"

// Slot is where a process runs.
type Slot struct {
	// Spec of a server as started there: its GPUs, its network, its listen address. For a router only the
	// listen address is used; "" means Host.
	Spec steps.ServerSpec
	// Host is the address at which others reach the process, "" for the loopback address.
	Host     string
	Launcher steps.Launcher
	// Self describes how to start this program there.
	Self Self
	// Ask wraps an engine so that it reaches processes of this place; nil leaves it unchanged.
	Ask func(steps.Engine) steps.Engine
	// Show converts a process to the one started at this place, for display; nil means the process itself.
	Show func(steps.Process) (steps.Process, error)
	// Manifest returns the object that the place creates for a process, for display; nil if it creates none.
	Manifest func(steps.Process) (string, error)
}

// Self describes how to start this program in a slot.
type Self struct {
	Program string
	// Image that contains it, "" outside of containers.
	Image string
}

// Place is where processes of a plan run.
type Place interface {
	// Check lists why the processes of a target cannot run here. It gets all of them, and is called if one
	// belongs to this place.
	Check(Target) []error
	// CheckLoad returns why a workload cannot be measured here; delayed means that responses are to be delayed
	// on the way.
	CheckLoad(w steps.Workload, delayed bool) error
	// Unprofiled returns why a server cannot be profiled here; around means that its profiler starts it, and
	// runs other programs beside it.
	Unprofiled(p Process, around bool) error
	// GPUs returns the GPU request of a server.
	GPUs(Target, Process) GPUs
	// Assign binds a process to a slot. gpus are those assigned to it, besides those named in the file.
	Assign(t Target, p Process, gpus []string) (Slot, error)

	// Open gets the place before the run and its time begin.
	Open(context.Context) error
	// Preflight checks that the place has what the run needs, before anything is launched. An error is the
	// fault of a machine, not of a server.
	Preflight(context.Context) error
	// Close gives back what Open got. It may be called repeatedly, and without Open.
	Close(context.Context) error

	// Here reports whether a process of this place runs on this machine.
	Here(Process) bool
	// Needs adapts the plan's needs of this machine to the place.
	Needs(doctor.Needs) doctor.Needs
	// Daemon returns a function that queries the place's daemon for the doctor, nil without a daemon.
	Daemon() Daemon
	// Owner returns a function that finds the owner of a process on a GPU of this machine that this program has
	// not started itself.
	Owner(context.Context) func(pid int) probe.Owner
	// Facts returns the facts of the run's machines, given the facts of this one.
	Facts(here map[string]string) map[string]string
	// Lane returns the part of the place on which the repeats of a lane run, nil without lanes.
	Lane(lane int) *Lane
	// Model returns the model of a place that exists only in a model, nil otherwise.
	Model() *Model
}

// Lane is a part of a place that repeats run on: nodes of a cluster, or one of several machines.
type Lane struct {
	// Place in which its processes run.
	Place Place
	// Nodes are the names of its machines in the results, comma-separated.
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
	// AdvanceTo advances the time to t, unless it is later already.
	AdvanceTo func(t time.Time)
	Load      func(context.Context, load.Options) (load.Result, error)
	// Try returns why a target cannot be modelled. It ignores servers that would fail to start, because the run
	// shows that.
	Try func(engine.TargetSpec) error
	// Notes returns what a reader must know about a measured run.
	Notes func(*result.Document) []string
}

// Daemon queries a container daemon about itself and several images.
type Daemon func(ctx context.Context, images []string) (doctor.Daemon, error)

// interruptedWait limits the time in which an interrupted run closes a place.
const interruptedWait = 3 * time.Second

// Ending returns the context in which a run closes a place within wait, or within a moment if the run was interrupted.
func Ending(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		wait = interruptedWait
	}
	return context.WithTimeout(context.WithoutCancel(ctx), wait)
}

// UnsupportedBy returns an error for each argument of a server's container that a place does not support. The messages
// begin with the process's name. Other processes, and servers that already answer, have none.
func UnsupportedBy(s steps.ContainerSupport, p Process) (found []error) {
	c := p.Spec.NewContainer()
	if c == nil || p.Role != RoleServer || p.Spec.URL != "" {
		return nil
	}
	for _, err := range s.Check(c) {
		found = append(found, fmt.Errorf("%s: %w", p.Name, err))
	}
	return found
}

// Base is a place on this machine that needs nothing.
type Base struct{}

// Check implements Place. It accepts any target.
func (Base) Check(Target) []error { return nil }

// CheckLoad implements Place. It accepts any workload.
func (Base) CheckLoad(steps.Workload, bool) error { return nil }

// Unprofiled implements Place. It accepts any server.
func (Base) Unprofiled(Process, bool) error { return nil }

// Open implements Place.
func (Base) Open(context.Context) error { return nil }

// Preflight implements Place.
func (Base) Preflight(context.Context) error { return nil }

// Close implements Place.
func (Base) Close(context.Context) error { return nil }

// Here implements Place. It returns true.
func (Base) Here(Process) bool { return true }

// Needs implements Place. It returns the needs unchanged.
func (Base) Needs(n doctor.Needs) doctor.Needs { return n }

// Daemon implements Place. It returns nil.
func (Base) Daemon() Daemon { return nil }

// Owner implements Place. All other processes are foreign.
func (Base) Owner(context.Context) func(int) probe.Owner {
	return func(int) probe.Owner { return probe.OwnerForeign }
}

// Facts implements Place. It returns the facts of this machine.
func (Base) Facts(here map[string]string) map[string]string { return here }

// Lane implements Place. It returns nil.
func (Base) Lane(int) *Lane { return nil }

// Model implements Place. It returns nil.
func (Base) Model() *Model { return nil }
