package session

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

	"github.com/servegate/pipeline/steps/simulate/model"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/router"
	"github.com/servegate/pipeline/steps/simulate"
)

// virtualMachine is a machine in virtual time. It starts the processes of simulated servers,
// services and routers as their command lines say, without processes: what listens where
// is known, and what is sent there is answered by the model in a time of its own. It is a
// launcher, the ports, the clock and the load generator of a session at once.
type virtualMachine struct {
	// folder makes a folder for the files of a process.
	folder func(name string) (string, error)
	// slowdown makes every server slower by a share: what a self-test plants.
	slowdown float64
	// files that datasets are read from.
	files *dataset.Files

	mu      sync.Mutex
	start   time.Time
	elapsed time.Duration
	port    int
	at      map[string]*virtualProcess // by host and port
}

func newVirtualMachine(start time.Time, folder func(string) (string, error)) *virtualMachine {
	return &virtualMachine{folder: folder, start: start, at: map[string]*virtualProcess{}}
}

// Now is the virtual time.
func (v *virtualMachine) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.start.Add(v.elapsed)
}

// reach lets time go by until t, if it is not later already.
func (v *virtualMachine) reach(t time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.elapsed = max(v.elapsed, t.Sub(v.start))
}

// firstPort is the first of the ports that nobody listens on.
const firstPort = 20000

// TakeRow implements engine.Ports with numbers.
func (v *virtualMachine) TakeRow(_ string, count, spacing int) (int, func(), error) {
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
func (*virtualMachine) Hold(int, int) func() { return func() {} }

// Name implements steps.Launcher.
func (*virtualMachine) Name() string { return "virtual" }

// virtualProcess is a process that does not exist.
type virtualProcess struct {
	machine *virtualMachine
	address string
	done    chan struct{}
	exit    string
	once    sync.Once
	ready   time.Time
	// server it plays, nil for a service or a router.
	server *simulate.Virtual
	router *virtualRouter
	// fleet that it belongs to, and its number there; nil before the first request.
	fleet  *virtualFleet
	number int
}

// virtualRouter is a router's command line.
type virtualRouter struct {
	protocol        string
	prefill, decode []string // addresses
}

// virtualFleet is a fleet on the machine's clock.
type virtualFleet struct {
	*model.Fleet
	began time.Time
	front *simulate.Virtual // that answers clients' questions
}

// Start implements steps.Launcher. A server that fails to start is one that has ended.
func (v *virtualMachine) Start(_ context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	out := &virtualProcess{machine: v, address: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)), done: make(chan struct{}), ready: v.Now()}
	env, err := v.environment(p)
	if err != nil {
		return nil, err
	}
	switch {
	case len(p.Argv) > 1 && p.Argv[1] == "router":
		out.router, err = routerOf(p.Argv[2:])
	case len(p.Argv) > 3 && p.Argv[1] == "simulate" && simulate.IsService(p.Argv[3:]):
	case len(p.Argv) > 3 && p.Argv[1] == "simulate":
		out.server, err = simulate.StartVirtual(p.Argv[3:], env, log)
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
		noise := &s.Node.Config.Noise
		noise.Slowdown = max(noise.Slowdown, 1) * (1 + v.slowdown)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at[out.address] = out
	return out, nil
}

// environment is what a process would find there, with the paths of its files.
func (v *virtualMachine) environment(p steps.Process) (func(string) string, error) {
	_, env, err := steps.WriteFiles(p, v.folder)
	if err != nil {
		return nil, err
	}
	vars := map[string]string{}
	for _, e := range env {
		vars[e.Name] = e.Value
	}
	return func(name string) string { return vars[name] }, nil
}

func routerOf(flags []string) (*virtualRouter, error) {
	r := &virtualRouter{}
	for i := 0; i+1 < len(flags); i++ {
		value := flags[i+1]
		switch flags[i] {
		case "--protocol":
			r.protocol = value
		case "--prefill", "--decode":
			b, err := router.ParseBackend(value)
			if err != nil {
				return nil, err
			}
			address, err := addressOf(b.URL)
			if err != nil {
				return nil, err
			}
			if flags[i] == "--prefill" {
				r.prefill = append(r.prefill, address)
			} else {
				r.decode = append(r.decode, address)
			}
		}
	}
	return r, nil
}

// BaseURL implements steps.Server.
func (p *virtualProcess) BaseURL() string { return "http://" + p.address }

// Done implements steps.Server.
func (p *virtualProcess) Done() <-chan struct{} { return p.done }

// ExitState implements steps.Server.
func (p *virtualProcess) ExitState() string { return p.exit }

// Stop implements steps.Server.
func (p *virtualProcess) Stop(context.Context) error {
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

// process that listens at a URL, nil if none does.
func (v *virtualMachine) process(url string) *virtualProcess {
	address, err := addressOf(url)
	if err != nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at[address]
}

// serve lets time go by until all servers that were started are ready. Those of a wave
// become so together.
func (v *virtualMachine) serve() {
	latest := v.Now()
	v.mu.Lock()
	for _, p := range v.at {
		if p.ready.After(latest) {
			latest = p.ready
		}
	}
	v.mu.Unlock()
	v.reach(latest)
}

// forget clears the caches of the fleet of what listens at a URL.
func (v *virtualMachine) forget(url string) {
	if p := v.process(url); p != nil && p.fleet != nil {
		p.fleet.ResetPrefixCaches()
	}
}

// notesEvery is how often a run notes what its servers hold.
const notesEvery = time.Second

// errNotThere is an address at which nothing listens.
var errNotThere = errors.New("nothing listens there")

// fleet of the process that listens at a URL.
func (v *virtualMachine) fleet(url string) (*virtualFleet, error) {
	front := v.process(url)
	if front == nil {
		return nil, fmt.Errorf("%s in virtual time: %w", url, errNotThere)
	}
	if front.fleet != nil {
		return front.fleet, nil
	}
	spec := model.FleetSpec{Every: notesEvery}
	members := []*virtualProcess{front}
	if r := front.router; r != nil {
		behind := slices.Concat(r.prefill, r.decode)
		members = make([]*virtualProcess, len(behind))
		for i, address := range behind {
			members[i] = v.process("http://" + address)
		}
		spec.Concurrent = router.Concurrent(r.protocol)
		spec.Pick = func(n int) (int, int) { return router.Turn(uint64(n), len(r.prefill), len(r.decode)) }
	}
	for i, m := range members {
		if m == nil || m.server == nil {
			return nil, fmt.Errorf("%s routes to a server of virtual time: %w", url, errNotThere)
		}
		if front.router != nil && i < len(front.router.prefill) {
			spec.Prefill = append(spec.Prefill, m.server.Node)
		} else {
			spec.Decode = append(spec.Decode, m.server.Node)
		}
	}
	if front.router != nil {
		spec.Hop = spec.Decode[0].Config.Profile.Hop
	}
	f, err := model.NewFleet(spec)
	if err != nil {
		return nil, err
	}
	fleet := &virtualFleet{Fleet: f, began: v.Now(), front: members[len(members)-1].server}
	front.fleet = fleet
	for i, m := range members {
		m.fleet, m.number = fleet, i
	}
	return fleet, nil
}

// played puts the machine into the place of what a target is launched with and asked.
func (v *virtualMachine) played(t engine.TargetSpec) engine.TargetSpec {
	t.Members = slices.Clone(t.Members)
	for i := range t.Members {
		m := &t.Members[i]
		m.Launcher = v
		e := virtualEngine{m.Engine, v}
		if observer, ok := m.Engine.(steps.Observer); ok {
			m.Engine = virtualServer{e, observer}
		} else {
			m.Engine = e
		}
	}
	// No request opens a connection, and no bytes move that could prove anything.
	t.Canaries, t.Canary, t.Transfer = 0, nil, nil
	return t
}

// virtualEngine asks processes that do not exist. What it renders is the engine's own.
type virtualEngine struct {
	steps.Engine
	machine *virtualMachine
}

// Ready implements steps.Engine.
func (e virtualEngine) Ready(_ context.Context, ep steps.Endpoint, _ steps.Readiness) (string, bool, error) {
	if p := e.machine.process(ep.BaseURL); p != nil {
		e.machine.serve()
	} else if _, isServer := e.Engine.(steps.Observer); isServer {
		return steps.StateStarting, false, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	return steps.StateReady, true, nil
}

// Reset implements steps.Engine.
func (e virtualEngine) Reset(_ context.Context, ep steps.Endpoint) error {
	e.machine.forget(ep.BaseURL)
	return nil
}

// Describe implements steps.Engine.
func (virtualEngine) Describe(context.Context, steps.Endpoint) (map[string]string, error) {
	return nil, nil
}

// virtualServer is a virtualEngine whose servers are watched.
type virtualServer struct {
	virtualEngine
	observer steps.Observer
}

var _ engine.Chronicler = virtualServer{}

// LogPoint implements steps.Observer.
func (s virtualServer) LogPoint(line string) (map[string]float64, bool) {
	return s.observer.LogPoint(line)
}

// StartFacts implements steps.Observer.
func (s virtualServer) StartFacts(log []string) map[string]float64 { return s.observer.StartFacts(log) }

// Observe implements steps.Observer.
func (s virtualServer) Observe(_ context.Context, ep steps.Endpoint) (steps.Observation, error) {
	p := s.machine.process(ep.BaseURL)
	if p == nil {
		return steps.Observation{}, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	if p.fleet == nil {
		return observation(s.machine.Now(), model.Note{}), nil
	}
	return observation(s.machine.Now(), p.fleet.Note(p.number)), nil
}

// Chronicle implements engine.Chronicler.
func (s virtualServer) Chronicle(_ context.Context, ep steps.Endpoint) []steps.Observation {
	p := s.machine.process(ep.BaseURL)
	if p == nil || p.fleet == nil {
		return nil
	}
	var out []steps.Observation
	for _, n := range p.fleet.Notes(p.number) {
		out = append(out, observation(p.fleet.began.Add(n.At), n))
	}
	return out
}

func observation(at time.Time, n model.Note) steps.Observation {
	s := n.Stats
	return steps.Observation{
		At: at,
		Gauges: map[string]float64{
			steps.SeriesRunning: float64(s.Running), steps.SeriesWaiting: float64(s.Waiting), steps.SeriesKVUsage: s.KVUsage,
		},
		Counters: map[string]float64{
			steps.CounterPromptTokens: float64(s.PromptTokens), steps.CounterGenerationTokens: float64(s.OutputTokens),
			steps.CounterPreemptions: float64(s.Preemptions), steps.CounterPrefixQueries: float64(s.PrefixQueries), steps.CounterPrefixHits: float64(s.PrefixHits),
			steps.CounterExternalQueries: float64(s.ExternalQueries), steps.CounterExternalHits: float64(s.ExternalHits),
			steps.CounterTransferBytes: n.Moved.Bytes, steps.CounterTransferSeconds: n.Moved.Time.Seconds(),
		},
	}
}
