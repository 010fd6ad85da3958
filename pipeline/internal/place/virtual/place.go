// Package virtual is a place in virtual time. It interprets the command lines of simulated servers, services
// and routers without starting processes. It knows which of them listens at which address; the model answers
// requests there in virtual time.
package virtual

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// Kind returns the kind of place for every process of a plan that runs in virtual time.
func Kind() place.Kind {
	return place.Kind{
		Name:       "virtual",
		Containers: []steps.ContainerSupport{{Place: "virtual", Every: "Virtual time starts no container: no argument has an effect."}},
		Takes:      func(o place.Options, _ place.Process) bool { return o.Plan.Simulated == result.SimulatedVirtual },
		New:        func(o place.Options) (place.Place, error) { return newMachine(o), nil },
	}
}

// machine is a machine in virtual time: the launcher, the ports, the clock and the load generator of a run.
type machine struct {
	place.Base
	opt   place.Options
	start time.Time

	mu      sync.Mutex
	elapsed time.Duration
	port    int
	at      map[string]*process // by host and port
	lanes   map[int]*machine
	whole   *machine // the machine that a lane is a part of; nil for a whole machine
	number  int      // among the machines of the file
}

var _ place.Place = (*machine)(nil)

// newMachine returns a machine whose clock starts at the time in the options.
func newMachine(opt place.Options) *machine {
	m := &machine{opt: opt, at: map[string]*process{}}
	if opt.Now != nil {
		m.start = opt.Now()
	}
	return m
}

// GPUs implements place.Place. A server with the machine for itself finds its GPUs.
func (*machine) GPUs(t place.Target, p place.Process) place.GPUs {
	if t.Alone {
		return place.GPUs{}
	}
	return place.DeclaredGPUs(p.Spec, "")
}

// Assign implements place.Place.
func (v *machine) Assign(_ place.Target, p place.Process, gpus []string) (place.Slot, error) {
	return place.Slot{Spec: place.WithGPUs(p.Spec, gpus), Launcher: v, Self: place.Self{Program: v.opt.Self}, Ask: v.ask}, nil
}

// CheckLoad implements place.Place. It rejects workloads that the model does not support.
func (*machine) CheckLoad(w steps.Workload, _ bool) error {
	switch {
	case w.Driver != nil && w.Driver.Evaluation != nil:
		if w.Driver.Evaluation.Accuracy == 0 {
			return errors.New("its questions are asked by a program, which virtual time does not run: say by accuracy how many are answered " +
				"there, or use --simulate")
		}
	case w.Driver != nil && w.Driver.Kind == steps.DriverOffline: // the program has a double
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
func (v *machine) Model() *place.Model {
	return &place.Model{Ports: v, Now: v.Now, AdvanceTo: v.advanceTo, Load: v.load, Try: v.try, Notes: v.notes}
}

// Now returns the virtual time.
func (v *machine) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.start.Add(v.elapsed)
}

// advanceTo advances the time to t, unless it is later already.
func (v *machine) advanceTo(t time.Time) {
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
func (v *machine) TakeRow(_ string, count, spacing int) (int, func(), error) {
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
func (*machine) Hold(int, int) func() { return func() {} }

// Capabilities implements steps.Launcher.
func (v *machine) Capabilities() steps.LauncherCapabilities {
	return steps.LauncherCapabilities{Program: v.program}
}
