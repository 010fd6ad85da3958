// Package virtual is a place in virtual time. It interprets the command lines of simulated servers, services
// and routers without starting processes. It knows which of them listens at which address; the model answers
// requests there in virtual time.
package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/router"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// Kind returns the kind of place for every process of a plan that runs in virtual time.
func Kind() place.Kind {
	return place.Kind{
		Name:       "virtual",
		Containers: []steps.ContainerSupport{{Place: "virtual", Every: "Virtual time starts no container: no argument has an effect."}},
		Takes:      func(o place.Options, _ place.Process) bool { return o.Plan.Simulated == result.SimulatedVirtual },
		New:        func(o place.Options) (place.Place, error) { return New(o), nil },
	}
}

// Machine is a machine in virtual time: the launcher, the ports, the clock and the load generator of a run.
type Machine struct {
	place.Base
	opt   place.Options
	start time.Time

	mu      sync.Mutex
	elapsed time.Duration
	port    int
	at      map[string]*process // by host and port
	lanes   map[int]*Machine
	whole   *Machine // the machine that a lane is a part of; nil for a whole machine
	number  int      // among the machines of the file
}

var _ place.Place = (*Machine)(nil)

// New returns a machine whose clock starts at the time in the options.
func New(opt place.Options) *Machine {
	m := &Machine{opt: opt, at: map[string]*process{}}
	if opt.Now != nil {
		m.start = opt.Now()
	}
	return m
}

// GPUs implements place.Place. A server with the machine for itself finds its GPUs.
func (*Machine) GPUs(t place.Target, p place.Process) place.GPUs {
	if t.Alone {
		return place.GPUs{}
	}
	return place.DeclaredGPUs(p.Spec, "")
}

// Assign implements place.Place.
func (v *Machine) Assign(_ place.Target, p place.Process, gpus []string) (place.Slot, error) {
	return place.Slot{Spec: place.WithGPUs(p.Spec, gpus), Launcher: v, Self: place.Self{Program: v.opt.Self}, Ask: v.ask}, nil
}

// CheckLoad implements place.Place. It rejects workloads that the model does not support.
func (*Machine) CheckLoad(w steps.Workload, _ bool) error {
	switch {
	case w.Driver != nil && w.Driver.Evaluation != nil:
		if w.Driver.Evaluation.Accuracy == 0 {
			return errors.New("its questions are asked by a program, which virtual time does not run: say by accuracy how many are answered " +
				"there, or use --simulate")
		}
	case w.Driver != nil:
		return errors.New("its load comes from another generator, which virtual time does not have; use --simulate")
	case steps.Pooled(w.Endpoint):
		return fmt.Errorf("it asks for %s, and the model of virtual time knows answers of tokens alone; use --simulate", w.Endpoint)
	case dataset.RealAnswers(w.Dataset):
		return errors.New("its conversations go on with real answers (real_answers), and the model of virtual time has no words; use --simulate")
	}
	return nil
}

// Model implements place.Place.
func (v *Machine) Model() *place.Model {
	return &place.Model{Ports: v, Now: v.Now, AdvanceTo: v.advanceTo, Load: v.load, Try: v.try, Notes: v.notes}
}

// Now returns the virtual time.
func (v *Machine) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.start.Add(v.elapsed)
}

// advanceTo advances the time to t, unless it is later already.
func (v *Machine) advanceTo(t time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.elapsed = max(v.elapsed, t.Sub(v.start))
	if v.whole != nil {
		v.whole.advanceTo(t)
	}
}

// firstPort is the first free port.
const firstPort = 20000

// TakeRow implements engine.Ports. It only counts.
func (v *Machine) TakeRow(_ string, count, spacing int) (int, func(), error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.port == 0 || v.port+max(count, spacing) > 65000 {
		v.port = firstPort
	}
	first := v.port
	v.port += max(count, spacing, 1)
	return first, func() {}, nil
}

// Hold implements engine.Ports.
func (*Machine) Hold(int, int) func() { return func() {} }

// Name implements steps.Launcher.
func (*Machine) Name() string { return "virtual" }

// Capabilities implements steps.Launcher.
func (*Machine) Capabilities() steps.LauncherCapabilities { return steps.LauncherCapabilities{} }

// process is a simulated process, without an operating system process.
type process struct {
	machine *Machine
	address string
	done    chan struct{}
	exit    string
	once    sync.Once
	ready   time.Time
	// server is the simulated server, nil for a service or a router.
	server *simulate.Virtual
	router *router.Config
	// fleet that it belongs to, and its number in it; nil before the first request.
	fleet  *fleet
	number int
	asleep bool
}

// fleet is a fleet on the machine's clock.
type fleet struct {
	*model.Fleet
	began time.Time
	front *simulate.Virtual // answers clients' questions
}

// Start implements steps.Launcher. A server that fails to start is returned as ended.
func (v *Machine) Start(_ context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	out := &process{machine: v, address: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)), done: make(chan struct{}), ready: v.Now()}
	env, err := v.environment(p)
	if err != nil {
		return nil, err
	}
	switch {
	case len(p.Argv) > 1 && p.Argv[1] == "router":
		out.router = new(router.Config)
		*out.router, err = router.ParseArgs(p.Argv[2:])
	case len(p.Argv) > 3 && p.Argv[1] == "simulate" && simulate.IsService(p.Argv[3:]):
	case len(p.Argv) > 3 && p.Argv[1] == "simulate":
		out.server, err = simulate.Simulator{Connectors: v.opt.Connectors, Machine: v.number}.StartVirtual(p.Argv[3:], env, log)
	default:
		err = errors.New("it is no simulated server")
	}
	if failed, ok := errors.AsType[*simulate.StartError](err); ok {
		out.exit = fmt.Sprintf("exit status %d", failed.Status)
		close(out.done)
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s in virtual time: %w", p.Name, err)
	}
	if s := out.server; s != nil {
		out.ready = out.ready.Add(s.Startup)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at[out.address] = out
	return out, nil
}

// environment returns the environment of a process, with the paths of its files.
func (v *Machine) environment(p steps.Process) (func(string) string, error) {
	_, env, err := steps.WriteFiles(p, v.opt.Folder)
	if err != nil {
		return nil, err
	}
	vars := map[string]string{}
	for _, e := range env {
		vars[e.Name] = e.Value
	}
	return func(name string) string { return vars[name] }, nil
}

// BaseURL implements steps.Server.
func (p *process) BaseURL() string { return "http://" + p.address }

// Done implements steps.Server.
func (p *process) Done() <-chan struct{} { return p.done }

// ExitState implements steps.Server.
func (p *process) ExitState() string { return p.exit }

// Capabilities implements steps.Server.
func (*process) Capabilities() steps.ServerCapabilities { return steps.ServerCapabilities{} }

// Stop implements steps.Server.
func (p *process) Stop(context.Context) error {
	p.once.Do(func() {
		p.machine.mu.Lock()
		defer p.machine.mu.Unlock()
		if p.machine.at[p.address] == p {
			delete(p.machine.at, p.address)
			p.exit = "exit status 0"
			close(p.done)
		}
	})
	return nil
}

// processAt returns the process that listens at a URL, nil if none.
func (v *Machine) processAt(url string) *process {
	address, err := addressOf(url)
	if err != nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at[address]
}

// serve advances the time until all started servers are ready. The servers of a wave become ready together.
func (v *Machine) serve() {
	latest := v.Now()
	v.mu.Lock()
	for _, p := range v.at {
		if p.ready.After(latest) {
			latest = p.ready
		}
	}
	v.mu.Unlock()
	v.advanceTo(latest)
}

// forget clears the caches of the fleet at a URL.
func (v *Machine) forget(url string) {
	if p := v.processAt(url); p != nil && p.fleet != nil {
		p.fleet.ResetPrefixCaches()
	}
}

// notesEvery is the interval at which a run records the state of its servers.
const notesEvery = time.Second

// errNotThere reports that no process listens at an address.
var errNotThere = errors.New("nothing listens there")

// fleetAt returns the fleet of the process that listens at a URL.
func (v *Machine) fleetAt(url string) (*fleet, error) {
	front := v.processAt(url)
	if front == nil {
		return nil, fmt.Errorf("%s in virtual time: %w", url, errNotThere)
	}
	if front.fleet != nil {
		return front.fleet, nil
	}
	spec := model.FleetSpec{Every: notesEvery}
	members := []*process{front}
	if r := front.router; r != nil {
		behind := slices.Concat(r.Prefill, r.Decode)
		members = make([]*process, len(behind))
		for i, b := range behind {
			members[i] = v.processAt(b.URL)
		}
		spec.Concurrent = router.Concurrent(r.Protocol)
		spec.Pick = func(n int) (int, int) { return router.Turn(uint64(n), len(r.Prefill), len(r.Decode)) }
	}
	for i, m := range members {
		if m == nil || m.server == nil {
			return nil, fmt.Errorf("%s routes to a server of virtual time: %w", url, errNotThere)
		}
		if front.router != nil && i < len(front.router.Prefill) {
			spec.Prefill = append(spec.Prefill, m.server.Node)
		} else {
			spec.Decode = append(spec.Decode, m.server.Node)
		}
	}
	if front.router != nil {
		spec.Hop = spec.Decode[0].Config.Profile.Hop
	}
	made, err := model.NewFleet(spec)
	if err != nil {
		return nil, err
	}
	f := &fleet{Fleet: made, began: v.Now(), front: members[len(members)-1].server}
	front.fleet = f
	for i, m := range members {
		m.fleet, m.number = f, i
	}
	return f, nil
}

// ask wraps an engine so that it queries simulated processes. Its rendering is unchanged.
func (v *Machine) ask(engine steps.Engine) steps.Engine { return askedEngine{engine, v} }

// askedEngine is an engine whose processes are simulated in virtual time.
type askedEngine struct {
	steps.Engine
	machine *Machine
}

// Ready implements steps.Engine.
func (e askedEngine) Ready(_ context.Context, ep steps.Endpoint, _ steps.Readiness) (string, bool, error) {
	if p := e.machine.processAt(ep.BaseURL); p != nil {
		e.machine.serve()
	} else if e.Engine.Capabilities().Observer != nil {
		return steps.StateStarting, false, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	return steps.StateReady, true, nil
}

// Reset implements steps.Engine.
func (e askedEngine) Reset(_ context.Context, ep steps.Endpoint) error {
	e.machine.forget(ep.BaseURL)
	return nil
}

// Describe implements steps.Engine.
func (askedEngine) Describe(context.Context, steps.Endpoint) (map[string]string, error) {
	return nil, nil
}

// Capabilities implements steps.Engine. It replaces the engine's access to servers by access to those in
// virtual time.
func (e askedEngine) Capabilities() steps.EngineCapabilities {
	s := askedServer{e, e.Engine.Capabilities()}
	out := steps.EngineCapabilities{Spreader: s.own.Spreader}
	if s.own.Observer != nil {
		out.Observer, out.History = s, s.history
	}
	if s.own.Profiler != nil {
		out.Profiler = s
	}
	if s.own.Sleeper != nil {
		out.Sleeper = s
	}
	return out
}

// askedServer is an askedEngine whose servers are watched, profiled and put to sleep.
type askedServer struct {
	askedEngine
	own steps.EngineCapabilities
}

// LogPoint implements steps.Observer.
func (s askedServer) LogPoint(line string) (map[string]float64, bool) {
	return s.own.Observer.LogPoint(line)
}

// StartFacts implements steps.Observer.
func (s askedServer) StartFacts(log []string) map[string]float64 {
	return s.own.Observer.StartFacts(log)
}

// Observe implements steps.Observer.
func (s askedServer) Observe(_ context.Context, ep steps.Endpoint) (steps.Observation, error) {
	p := s.machine.processAt(ep.BaseURL)
	if p == nil {
		return steps.Observation{}, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	if p.fleet == nil {
		return p.server.Observation(s.machine.Now(), model.Note{}), nil
	}
	return p.server.Observation(s.machine.Now(), p.fleet.Note(p.number)), nil
}

// history returns the observations of a server during its last run.
func (s askedServer) history(_ context.Context, ep steps.Endpoint) []steps.Observation {
	p := s.machine.processAt(ep.BaseURL)
	if p == nil || p.fleet == nil {
		return nil
	}
	var out []steps.Observation
	for _, n := range p.fleet.Notes(p.number) {
		out = append(out, p.server.Observation(p.fleet.began.Add(n.At), n))
	}
	return out
}

// Profiled implements steps.Profiler as the engine does.
func (s askedServer) Profiled(spec steps.ServerSpec, dir, version string) (steps.ServerSpec, error) {
	return s.own.Profiler.Profiled(spec, dir, version)
}

// Profile implements steps.Profiler. The model records the steps of the window, and writes the files of a
// profiler.
func (s askedServer) Profile(_ context.Context, ep steps.Endpoint,
	w steps.ProfileWindow) (func(context.Context) (steps.Profiled, error), error) {
	p := s.machine.processAt(ep.BaseURL)
	if p == nil || p.fleet == nil {
		return nil, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	from := p.fleet.Now() + w.Delay
	p.fleet.Record(p.number, from, from+w.Window)
	return func(context.Context) (steps.Profiled, error) {
		recorded := p.fleet.Recorded(p.number)
		if len(recorded) == 0 {
			return steps.Profiled{}, errors.New("it had nothing to do in the time that was to be profiled; shorten delay, or measure longer")
		}
		tokens := 0.0
		for _, step := range recorded {
			tokens += float64(step.DecodeTokens + len(step.Prompts))
		}
		return steps.Profiled{Time: recorded[len(recorded)-1].End - recorded[0].Start, Tokens: &tokens}, p.server.WriteTraces(recorded)
	}, nil
}
