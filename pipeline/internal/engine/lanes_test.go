package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// inLanes is a plan whose repeats run side by side.
func inLanes(t *testing.T, repeats, lanes int) *plan.Plan {
	t.Helper()
	p := makePlan(t, []string{base, head}, []float64{2, 4}, repeats)
	p.Cluster = &plan.Cluster{Nodes: lanes, Lanes: lanes, LaneNodes: 1}
	p.Reschedule()
	p.Seal()
	return p
}

// onNodes gives lane i of a session the node n<i>, or those that are named.
func (s *session) onNodes(names ...string) {
	s.o.Lane = func(lane int) engine.Lane {
		node := fmt.Sprint("n", lane)
		if lane < len(names) {
			node = names[lane]
		}
		return engine.Lane{Target: s.o.Target, Nodes: node}
	}
}

func TestLanesRunAtOnce(t *testing.T) {
	took := map[int]time.Duration{}
	for _, lanes := range []int{1, 2, 3} {
		p := inLanes(t, 6, lanes)
		if lanes == 3 { // which are machines, for the judge
			p.Machines = &plan.Machines{Count: lanes, Width: 1}
			p.Reschedule()
			p.Seal()
		}
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, p)
			s.onNodes()
			began := time.Now()
			out := s.run(t, t.Context())
			took[lanes] = time.Since(began)
			if out.Status != result.StatusComplete || out.RepeatsDone != 6 || len(out.Launched) != 12 {
				t.Errorf("%d lanes: %s (%s), %d repeats, %d launches", lanes, out.Status, out.Reason, out.RepeatsDone, len(out.Launched))
			}
			for i, l := range out.Launched {
				if l.Repeat != i/2+1 {
					t.Errorf("%d lanes: launch %d is of repeat %d", lanes, i, l.Repeat)
				}
				for _, run := range l.Runs {
					if want := fmt.Sprint("n", (l.Repeat-1)%lanes); run.Run.Nodes != want || run.Run.Status != result.RunOK {
						t.Errorf("%d lanes: a run of repeat %d is %s on %s, want %s", lanes, l.Repeat, run.Run.Status, run.Run.Nodes, want)
					}
				}
			}
			checkDocument(t, p, out)
		})
	}
	for _, lanes := range []int{2, 3} {
		if ideal := took[1] / time.Duration(lanes); took[lanes] > ideal+2*time.Second {
			t.Errorf("%d lanes take %s of %s, want %s", lanes, took[lanes], took[1], ideal)
		}
	}
}

// TestALostLaneEndsTheOthers at once, with nothing left running and what they had measured
// kept.
func TestALostLaneEndsTheOthers(t *testing.T) {
	p := inLanes(t, 4, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.onNodes()
		launches := 0
		s.w.behave = func(string, int) behaviour {
			if launches++; launches == 3 { // the second of a lane
				return behaviour{refuse: &steps.EvictionError{Class: "node_lost", Reason: "node n1 is gone"}}
			}
			return behaviour{}
		}
		out := s.run(t, t.Context())
		if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "node n1 is gone (node_lost)") {
			t.Errorf("%s: %s", out.Status, out.Reason)
		}
		if done := len(s.events.of(event.LaunchDone)); done == 0 || done > 2 {
			t.Errorf("%d launches are closed", done)
		}
		kept := 0
		for _, l := range out.Launched {
			for _, run := range l.Runs {
				if run.Run.Status == result.RunOK {
					kept++
				}
			}
		}
		if kept < 3 { // the other lane is in its second run, or has just ended it
			t.Errorf("%d runs are kept, of a whole launch with two runs and of one in the other lane", kept)
		}
	})
}

// TestAVoidRunIsMeasuredAgainOnItsNodes with the other side of its repeat.
func TestAVoidRunIsMeasuredAgainOnItsNodes(t *testing.T) {
	p := inLanes(t, 4, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.onNodes()
		s.w.behave = trouble(base, behaviour{runs: map[int]string{1: "late"}}, 3)
		out := s.run(t, t.Context())
		again := 0
		for _, l := range out.Launched {
			for _, run := range l.Runs {
				if run.Run.Replaces > 0 {
					again++
					if want := fmt.Sprint("n", (run.Run.Replaces-1)%2); run.Run.Nodes != want {
						t.Errorf("repeat %d is measured again on %s", run.Run.Replaces, run.Run.Nodes)
					}
				}
			}
		}
		if again != 2 {
			t.Errorf("%d runs were measured again, want one of each side", again)
		}
	})
}

// TestLooksAreTakenAfterRounds: a look that falls into a round sees all of it.
func TestLooksAreTakenAfterRounds(t *testing.T) {
	p := inLanes(t, 9, 3)
	p.Looks = []int{4, 6, 8, 9}
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.onNodes()
		var at []int
		s.look = func(o *engine.Outcome) (judge.Look, error) {
			at = append(at, o.RepeatsDone)
			return judge.Look{Open: 1, All: 2}, nil
		}
		s.run(t, t.Context())
		if !slices.Equal(at, []int{6}) { // after 9 all is over
			t.Errorf("looks with %v repeats", at)
		}
	})
}

// TestARepeatGoesOnWhereItBegan, or is measured again as a whole on the nodes that a
// resumed run has got.
func TestARepeatGoesOnWhereItBegan(t *testing.T) {
	for _, tt := range []struct {
		nodes    []string
		launches int // of the resumed run
	}{
		{[]string{"n0", "n1"}, 2}, // one of each lane is left
		{[]string{"n0", "n7"}, 3}, // and the first of lane 1 again
		{[]string{"n5", "n7"}, 4},
	} {
		p := inLanes(t, 2, 2)
		var state *engine.Outcome
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, p)
			s.onNodes()
			stop := errors.New("killed")
			ctx, cancel := context.WithCancelCause(t.Context())
			s.w.onRun = func(n int) {
				if n == 5 { // each lane has one launch behind it
					cancel(stop)
				}
			}
			s.run(t, ctx)
			var err error
			if state, err = engine.Replay(s.dir); err != nil {
				t.Fatal(err)
			}
			again := sessionIn(t, p, s.dir, state.Seq)
			again.onNodes(tt.nodes...)
			again.o.Resume = state
			out := again.run(t, t.Context())
			if out.Status != result.StatusComplete || len(again.w.launched) != tt.launches {
				t.Errorf("on %v: %s, launches %v, want %d", tt.nodes, out.Status, again.w.launched, tt.launches)
			}
			for _, l := range out.Launched {
				for _, run := range l.Runs {
					if want := tt.nodes[l.Repeat-1]; run.Run.Nodes != want {
						t.Errorf("on %v: a run of repeat %d is from %s", tt.nodes, l.Repeat, run.Run.Nodes)
					}
				}
			}
			if len(out.Launched) != 4 {
				t.Errorf("on %v: %d launches in the outcome", tt.nodes, len(out.Launched))
			}
		})
	}
}
