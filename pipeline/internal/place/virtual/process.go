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

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/offline"
	"github.com/servegate/pipeline/steps/router"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// process is a simulated process, without an operating system process.
type process struct {
	machine *machine
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
func (v *machine) Start(_ context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	out := &process{machine: v, address: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)), done: make(chan struct{}), ready: v.Now()}
	_, p, err := steps.WriteFiles(p, v.opt.Folder)
	if err != nil {
		return nil, err
	}
	env := environment(p)
	switch {
	case len(p.Argv) > 1 && p.Argv[1] == "router":
		out.router = new(router.Config)
		*out.router, err = router.ParseArgs(p.Argv[2:])
	case len(p.Argv) > 3 && p.Argv[1] == "simulate" && simulate.IsService(p.Argv[3:]):
	case slices.Contains(p.Argv, offline.Words): // a program, which starts with each run
	case len(p.Argv) > 3 && p.Argv[1] == "simulate":
		out.server, err = simulate.Simulator{Connectors: v.opt.Connectors, Machine: v.number}.StartVirtual(p.Argv[3:], env, log)
	default:
		err = errors.New("it is not a simulated server")
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

// program implements steps.LauncherCapabilities.Program by the program's double.
func (v *machine) program(_ context.Context, p steps.Process, log io.Writer) ([]byte, error) {
	if len(p.Argv) < 4 || p.Argv[1] != "simulate" {
		return nil, errors.New("it is not a simulated program")
	}
	written, took, err := offline.Simulate(p.Argv[3:], environment(p), v.number, log)
	v.advanceTo(v.Now().Add(took))
	return written, err
}

// environment returns the environment of a process.
func environment(p steps.Process) func(string) string {
	vars := map[string]string{}
	for _, e := range p.Env {
		vars[e.Name] = e.Value
	}
	return func(name string) string { return vars[name] }
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
func (v *machine) processAt(url string) *process {
	address, err := addressOf(url)
	if err != nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at[address]
}

// serve advances the time until all started servers are ready. The servers of a wave become ready together.
func (v *machine) serve() {
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
func (v *machine) forget(url string) {
	if p := v.processAt(url); p != nil && p.fleet != nil {
		p.fleet.ResetPrefixCaches()
	}
}

// notesEvery is the interval at which a run records the state of its servers.
const notesEvery = time.Second

// errNotThere reports that no process listens at an address.
var errNotThere = errors.New("nothing listens there")

// fleetAt returns the fleet of the process that listens at a URL.
func (v *machine) fleetAt(url string) (*fleet, error) {
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
