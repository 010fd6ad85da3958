package engine

import (
	"fmt"

	"github.com/servegate/pipeline/reports/result"
)

// Cache is a folder or volume that a member of a target keeps from launch to launch.
type Cache struct {
	// Name is the name of the folder or volume. At is its name inside the server.
	Name, At string
	// Make creates the folder if it is missing, and State returns its state. Both are nil if the folder is not on this
	// machine.
	Make  func() error
	State func() (result.CacheState, error)
}

// makeCaches creates the cache folders of a target, since its launcher requires them.
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

// filled holds the non-empty caches of each target on the machines of a lane, by the name of both. A target without an
// entry was not launched there.
type filled map[string]map[string]bool

// beginWithCaches records the state in which a launch finds its caches. The first launch of a target fills or updates
// them. A launch that finds a cache emptied fills it again. Its start-up time includes a compilation and is not
// comparable with others. The duration of a launch does not decide whether it counts as filling.
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

// leaveCaches records the state in which an ended launch leaves its caches.
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

// filledBefore adds the caches that an earlier part of the run has filled.
func (r *runner) filledBefore(l Launched) {
	nodes := ""
	for _, run := range l.Runs {
		nodes = run.Run.Nodes
	}
	for _, a := range l.Attempts {
		r.filled.add(l.Target+" "+nodes, a)
	}
}

// add adds the non-empty caches of a launch, if the launch became ready.
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

// stateOf returns the state of a cache, nil if unknown.
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
