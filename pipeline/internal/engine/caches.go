package engine

import (
	"fmt"

	"github.com/servegate/pipeline/reports/result"
)

// Cache is what a member of a target keeps from launch to launch.
type Cache struct {
	// Name of the folder or volume, and At, what the server knows it by.
	Name, At string
	// Make makes the folder if it is missing, and State looks into it; nil where that is not done from here.
	Make  func() error
	State func() (result.CacheState, error)
}

// makeCaches makes the folders that a target keeps: what starts it looks for them first.
func makeCaches(t TargetSpec) error {
	for _, c := range t.Caches {
		if c.Make == nil {
			continue
		}
		if err := c.Make(); err != nil {
			return &machineError{fmt.Errorf("the folder of a cache cannot be made: %w", err)}
		}
	}
	return nil
}

// filled are the caches of a target on the machines of a lane, by the name of both: those that some launch
// there has left with something in it. A target that has none yet was not launched there.
type filled map[string]map[string]bool

// beginWithCaches notes in which state a launch finds its caches. The first launch of a target fills them, or
// brings up to date what an earlier version left, and one that finds a cache emptied fills it again: its
// start-up time is that of a compilation and not comparable with others. Which launches these are does not
// depend on how long they take.
func (r *runner) beginWithCaches(s *server) {
	r.mu.Lock()
	before, launched := r.filled[s.keeper()]
	r.mu.Unlock()
	s.launch.Caches, s.launch.Filling = nil, len(s.spec.Caches) > 0 && !launched
	for _, c := range s.spec.Caches {
		kept := result.Cache{Name: c.Name, At: c.At, Before: r.stateOf(s, c)}
		if kept.Before != nil && kept.Before.Files == 0 && before[c.Name] {
			s.launch.Filling = true
		}
		s.launch.Caches = append(s.launch.Caches, kept)
	}
}

// leaveCaches notes in which state a launch that has ended leaves its caches.
func (r *runner) leaveCaches(s *server) {
	if s.began.IsZero() {
		return
	}
	for i, c := range s.spec.Caches {
		s.launch.Caches[i].After = r.stateOf(s, c)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.filled.add(s.keeper(), s.launch)
}

// keeper names a target on the machines of a lane.
func (s *server) keeper() string { return s.Target + " " + s.lane.Nodes }

// filledBefore takes over what an earlier part of the run has filled.
func (r *runner) filledBefore(l Launched) {
	nodes := ""
	for _, run := range l.Runs {
		nodes = run.Run.Nodes
	}
	for _, a := range l.Attempts {
		r.filled.add(l.Target+" "+nodes, a)
	}
}

// add takes over what a launch has left, if it served at all.
func (f filled) add(keeper string, l result.Launch) {
	if len(l.Caches) == 0 || l.Startup == 0 {
		return
	}
	if f[keeper] == nil {
		f[keeper] = map[string]bool{}
	}
	for _, c := range l.Caches {
		if c.After != nil && c.After.Files > 0 {
			f[keeper][c.Name] = true
		}
	}
}

// stateOf a cache, nil where it is not known.
func (r *runner) stateOf(s *server, c Cache) *result.CacheState {
	if c.State == nil {
		return nil
	}
	state, err := c.State()
	if err != nil {
		r.warn(fmt.Sprintf("%s: the state of its cache is not known: %v", s.Target, err))
		return nil
	}
	return &state
}
