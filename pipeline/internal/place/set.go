package place

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Set holds the places of a plan. Each of its processes has one.
type Set struct {
	kinds []Kind
	opt   Options

	mu     sync.Mutex
	made   []Place // by index of the kind, nil until needed
	closed bool
}

// NewSet returns the places of a plan. They are made when needed.
func NewSet(kinds []Kind, opt Options) *Set {
	return &Set{kinds: kinds, opt: opt, made: make([]Place, len(kinds))}
}

// of returns the place of a process.
func (s *Set) of(p Process) (Place, error) {
	i, err := s.kindOf(p)
	if err != nil {
		return nil, err
	}
	return s.made[i], nil
}

// kindOf returns the index of the kind of place that takes a process, and makes the place if necessary.
func (s *Set) kindOf(p Process) (int, error) {
	i := slices.IndexFunc(s.kinds, func(k Kind) bool { return k.Takes(s.opt, p) })
	if i < 0 {
		return 0, fmt.Errorf("%q: nothing here runs such a process", p.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[i] == nil {
		made, err := s.kinds[i].New(s.opt)
		if err != nil {
			return 0, err
		}
		s.made[i] = made
	}
	return i, nil
}

// all returns the places made so far, in the order of their kinds.
func (s *Set) all() []Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.made), func(p Place) bool { return p == nil })
}

// each calls do for the places made so far, until it fails.
func (s *Set) each(do func(Place) error) error {
	for _, p := range s.all() {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// Prepare makes the places that targets need, so that Open reaches them.
func (s *Set) Prepare(targets []Target) error {
	for _, t := range targets {
		for _, p := range t.Processes {
			if p.Spec.URL != "" {
				continue
			}
			if _, err := s.of(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// Check lists why a target cannot be placed.
func (s *Set) Check(t Target) []error {
	_, _, found := s.layOut(t)
	return found
}

// layOut returns the places of a target's processes, nil for one that already answers, and their GPUs; or why
// they cannot be placed.
func (s *Set) layOut(t Target) (at []Place, gpus [][]string, found []error) {
	at = make([]Place, len(t.Processes))
	asked := map[int]bool{}
	for i, p := range t.Processes {
		if p.Spec.URL != "" {
			continue
		}
		kind, err := s.kindOf(p)
		if err != nil {
			return nil, nil, []error{err}
		}
		if at[i] = s.made[kind]; !asked[kind] {
			asked[kind] = true
			found = append(found, at[i].Check(t)...)
		}
	}
	if len(found) > 0 {
		return nil, nil, found
	}
	gpus, err := s.gpus(t, at)
	if err != nil {
		return nil, nil, []error{err}
	}
	return at, gpus, nil
}

// CheckLoad returns why a workload cannot be measured in the places made so far.
func (s *Set) CheckLoad(w steps.Workload, delayed bool) error {
	return s.each(func(p Place) error { return p.CheckLoad(w, delayed) })
}

// Unprofiled returns why a server cannot be profiled in its place.
func (s *Set) Unprofiled(p Process, around bool) error {
	at, err := s.of(p)
	if err != nil {
		return err
	}
	return at.Unprofiled(p, around)
}

// gpus assigns GPUs to a target's servers.
func (s *Set) gpus(t Target, at []Place) ([][]string, error) {
	wants := make([]GPUs, len(t.Processes))
	for i, p := range t.Processes {
		if at[i] != nil && p.Role == RoleServer {
			wants[i] = at[i].GPUs(t, p)
		}
	}
	return numberGPUs(t, wants, s.opt.Plan.Simulated != "")
}

// Assign returns the slots of a target's processes, in order. For a process that already answers, the slot
// holds only its spec.
func (s *Set) Assign(t Target) ([]Slot, error) {
	at, gpus, found := s.layOut(t)
	if len(found) > 0 {
		return nil, found[0]
	}
	slots := make([]Slot, len(t.Processes))
	for i, p := range t.Processes {
		if at[i] == nil {
			slots[i].Spec = p.Spec
			continue
		}
		var err error
		if slots[i], err = at[i].Assign(t, p, gpus[i]); err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// Open gets the prepared places, in the order of their kinds.
func (s *Set) Open(ctx context.Context) error {
	return s.each(func(p Place) error { return p.Open(ctx) })
}

// Preflight checks that the places have what the run needs.
func (s *Set) Preflight(ctx context.Context) error {
	return s.each(func(p Place) error { return p.Preflight(ctx) })
}

// Close gives back what Open got, once; only the first call returns errors.
func (s *Set) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, p := range slices.Backward(s.all()) {
		errs = append(errs, p.Close(ctx))
	}
	return errors.Join(errs...)
}

// Here reports whether all launched servers of the targets run on this machine.
func (s *Set) Here(targets []Target) bool {
	for _, t := range targets {
		for _, p := range t.Processes {
			if p.Role != RoleServer || p.Spec.URL != "" {
				continue
			}
			if at, err := s.of(p); err != nil || !at.Here(p) {
				return false
			}
		}
	}
	return true
}

// Needs adapts the plan's needs of this machine to the places.
func (s *Set) Needs(n doctor.Needs) doctor.Needs {
	for _, p := range s.all() {
		n = p.Needs(n)
	}
	return n
}

// Daemon returns the daemon query of the first place with a daemon, nil if there is none.
func (s *Set) Daemon() Daemon {
	for _, p := range s.all() {
		if d := p.Daemon(); d != nil {
			return d
		}
	}
	return nil
}

// Owner returns a function that finds the owner of a process on a GPU that this program has not started itself.
// A process that any place recognises is ours.
func (s *Set) Owner(ctx context.Context) func(pid int) probe.Owner {
	var ask []func(int) probe.Owner
	for _, p := range s.all() {
		ask = append(ask, p.Owner(ctx))
	}
	return func(pid int) probe.Owner {
		whose := probe.OwnerForeign
		for _, owner := range ask {
			switch owner(pid) {
			case probe.OwnerUs:
				return probe.OwnerUs
			case probe.OwnerUnknown:
				whose = probe.OwnerUnknown
			}
		}
		return whose
	}
}

// Facts returns the facts of the run's machines, given the facts of this one.
func (s *Set) Facts(here map[string]string) map[string]string {
	for _, p := range s.all() {
		here = p.Facts(here)
	}
	return here
}

// Lanes reports whether repeats run on lanes.
func (s *Set) Lanes() bool {
	return slices.ContainsFunc(s.all(), func(p Place) bool { return p.Lane(0) != nil })
}

// Lane returns the places of a lane, and the lane itself.
func (s *Set) Lane(lane int) (*Set, Lane) {
	part := NewSet(s.kinds, s.opt)
	var out Lane
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.made {
		part.made[i] = p
		if p == nil {
			continue
		}
		if l := p.Lane(lane); l != nil {
			out, part.made[i] = *l, l.Place
		}
	}
	return part, out
}

// Model returns the model that stands for all places, nil if they are real.
func (s *Set) Model() *Model {
	for _, p := range s.all() {
		if m := p.Model(); m != nil {
			return m
		}
	}
	return nil
}
