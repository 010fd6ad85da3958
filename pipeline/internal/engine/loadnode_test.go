package engine_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// loadFrom has the load of a session come from node n9; fails says why the nth run does not.
func (s *session) loadFrom(fails func(n int) error) {
	n := 0
	s.o.Lane = func(int) engine.Lane {
		measure := func(ctx context.Context, run engine.LoadRun) (load.Result, error) {
			if n++; fails(n) != nil {
				return load.Result{}, fails(n)
			}
			if _, err := run.Log.Write([]byte("at work\n")); err != nil || run.Name == "" {
				return load.Result{}, errors.New("nowhere to leave anything")
			}
			return s.w.load(ctx, run.Options)
		}
		return engine.Lane{Target: s.o.Target, Nodes: "n8,n9", LoadNode: "n9", Load: measure}
	}
}

func TestLoadFromANode(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.o.Load = nil // nothing is sent from here
		s.loadFrom(func(int) error { return nil })
		out := s.run(t, t.Context())
		if out.Status != result.StatusComplete || len(out.Launched) != 4 {
			t.Fatalf("%s (%s), %d launches", out.Status, out.Reason, len(out.Launched))
		}
		for _, l := range out.Launched {
			for _, run := range l.Runs {
				if run.Run.Status != result.RunOK || run.Run.Audit["load_node"] != "n9" {
					t.Errorf("%s: %s, audit %v", l.ID, run.Run.Status, run.Run.Audit)
				}
			}
		}
		checkDocument(t, p, out)
	})
}

// TestALostLoadGenerator says nothing of the server: its run is void, and the repeat is
// measured again with all its sides.
func TestALostLoadGenerator(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 4)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.loadFrom(func(n int) error {
			if n == 2 { // the head of the first repeat
				return &load.LostError{Err: errors.New("signal: killed")}
			}
			return nil
		})
		out := s.run(t, t.Context())
		var void, again []string
		for _, l := range out.Launched {
			if failed(l) {
				t.Errorf("%s failed: %+v", l.ID, l.Attempts)
			}
			for _, run := range l.Runs {
				if run.Run.Status == result.RunVoid {
					void = append(void, l.Target+" "+run.Run.Reason)
				}
				if run.Run.Replaces == 1 && run.Run.Status == result.RunOK {
					again = append(again, l.Target)
				}
				if run.Run.Status == result.RunVoid && (len(run.Run.Metrics) > 0 || len(run.Run.Histograms) > 0) {
					t.Errorf("a run without records has %v", run.Run.Metrics)
				}
			}
		}
		if out.Status != result.StatusComplete || len(void) != 1 || void[0] != head+
			" the load generator was lost: signal: killed (load_generator_lost)" || len(again) != 2 {
			t.Errorf("%s (%s); void %q, measured again %q", out.Status, out.Reason, void, again)
		}
	})
}

// TestALostNodeOfTheLoad ends the run as the loss of a server's does.
func TestALostNodeOfTheLoad(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 4)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.loadFrom(func(n int) error {
			if n == 3 {
				return &steps.EvictionError{Class: "node_lost", Reason: "node n9 is down"}
			}
			return nil
		})
		out := s.run(t, t.Context())
		if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "node n9 is down (node_lost)") || len(out.Launched) != 3 {
			t.Errorf("%s (%s), %d launches", out.Status, out.Reason, len(out.Launched))
		}
	})
}

// TestAServerThatDiesBeneathALostLoadGenerator has failed all the same.
func TestAServerThatDiesBeneathALostLoadGenerator(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.loadFrom(func(n int) error {
			if n != 2 {
				return nil
			}
			for _, server := range maps.Clone(s.w.living) { // each leaves the map
				server.exit("exit status 139")
			}
			return &load.LostError{Err: errors.New("exit status 1")}
		})
		out := s.run(t, t.Context())
		if run := out.Launched[1].Runs[0].Run; run.Status != result.RunFailed {
			t.Errorf("the run of a server that died is %s: %s", run.Status, run.Reason)
		}
	})
}
