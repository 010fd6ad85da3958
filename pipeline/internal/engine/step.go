package engine

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// march is the lanes of one machine that carry repeats out at the same time. They start servers
// together, measure together and stop them together, so that no server is measured while another
// one loads its weights, and each is measured beside as many others.
type march struct {
	mu    sync.Mutex
	all   int // lanes that began
	lanes int // and those that are on the way
	next  *turn
}

// turn is what lanes wait for.
type turn struct {
	arrived int
	latest  time.Time // at which a lane arrived, by the clock of each
	begun   chan struct{}
}

// step is the part of one lane in a march; nil is a lane that goes alone.
type step struct {
	of    *march
	clock *LaneClock
}

// inStep are the steps of the lanes of a round. Those of a cluster have machines of their own and
// go alone.
func (r *runner) inStep(round []plan.Repeat) []*step {
	out := make([]*step, len(round))
	if r.plan.Beside(round) == 0 {
		return out
	}
	m := &march{all: len(round), lanes: len(round), next: newTurn()}
	for i, rep := range round {
		out[i] = &step{m, r.lane(rep).Clock}
		out[i].clock.AdvanceTo(r.o.Now())
	}
	return out
}

func newTurn() *turn { return &turn{begun: make(chan struct{})} }

// meet waits until all lanes that are on the way have come as far. It returns how many there are
// beside this one.
func (s *step) meet(ctx context.Context) (beside int, err error) {
	if s == nil {
		return 0, nil
	}
	t := s.of.arrive(s.clock.Now())
	select {
	case <-t.begun:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	s.clock.AdvanceTo(t.latest)
	return t.arrived - 1, nil
}

// leave is called when a lane has nothing more to launch.
func (s *step) leave() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.lanes--
	s.of.begin()
}

// others are the lanes that began together with this one.
func (s *step) others() int {
	if s == nil {
		return 0
	}
	return s.of.all - 1
}

func (m *march) arrive(now time.Time) *turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.next
	t.arrived++
	if now.After(t.latest) {
		t.latest = now
	}
	m.begin()
	return t
}

// begin lets the lanes go on once all have come.
func (m *march) begin() {
	if t := m.next; t.arrived > 0 && t.arrived >= m.lanes {
		m.next = newTurn()
		close(t.begun)
	}
}
