package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
)

// fakeMachine says what a test wants of the machine.
type fakeMachine struct {
	// void is asked for the n-th run (from 1), held for the n-th stop.
	void func(n int) string
	held func(n int) error
	// memory that a launch takes of its GPUs.
	memory float64

	mu     sync.Mutex
	calls  []string
	runs   int
	stops  int
	lasted []time.Duration
}

func (m *fakeMachine) call(what, target string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, what+" "+target)
}

func (m *fakeMachine) Before(_ context.Context, target string) { m.call("before", target) }

func (m *fakeMachine) Memory(context.Context, string) (float64, bool) {
	return m.memory, m.memory > 0
}

func (m *fakeMachine) Watch(_ context.Context, target string) engine.Watcher {
	m.call("watch", target)
	return engine.Watcher{
		After: func(_ context.Context, lasted time.Duration) {
			m.runs++
			m.lasted = append(m.lasted, lasted)
		},
		Void: func() (result.VoidCause, string) {
			if m.void == nil {
				return "", ""
			}
			return result.VoidMachine, m.void(m.runs)
		},
		Tell: func(run *result.Run) {
			run.Series = append(run.Series, result.Series{Name: "gpu0_power_w", Source: "machine", T: []float64{0}, V: []float64{700}})
		},
	}
}

func (m *fakeMachine) After(_ context.Context, target string) error {
	m.call("after", target)
	m.stops++
	if m.held == nil {
		return nil
	}
	return m.held(m.stops)
}

func TestMachineIsAskedAroundEveryLaunchAndRun(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		m := &fakeMachine{}
		s.o.Machine = m
		out := s.run(t, t.Context())
		want := []string{"before " + base, "watch " + base, "after " + base, "before " + head, "watch " + head, "after " + head}
		if diff := cmp.Diff(want, m.calls); diff != "" {
			t.Error(diff)
		}
		for i, l := range out.Launched {
			run := l.Runs[0].Run
			if run.Status != result.RunOK || !slices.ContainsFunc(run.Series, func(s result.Series) bool { return s.Name == "gpu0_power_w" }) {
				t.Errorf("%s, %+v", run.Status, run.Series)
			}
			if m.lasted[i].Seconds() != run.Duration {
				t.Errorf("lasted %s, the run says %v s", m.lasted[i], run.Duration)
			}
		}
	})
}

// A run on a machine that was at fault is void, and is measured again with its pair.
func TestMachineAtFaultVoids(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.o.Machine = &fakeMachine{void: func(n int) string {
			if n == 2 {
				return "GPU 0 was throttled"
			}
			return ""
		}}
		out := s.run(t, t.Context())
		if got := statuses(p, out, head); !slices.Equal(got, []string{"1 void", "2 ok", "1001 ok"}) {
			t.Errorf("head: %v", got)
		}
		if got := statuses(p, out, base); !slices.Equal(got, []string{"1 ok", "2 ok", "1001 ok"}) {
			t.Errorf("base: %v", got)
		}
		checkDocument(t, p, out)
	})
}

// Memory that does not come back is the machine's failure: no verdict on anybody.
func TestMemoryThatIsHeldEndsTheRun(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 4)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.o.Machine = &fakeMachine{held: func(n int) error {
			if n == 2 {
				return errors.New("GPU 0 still has 20.0 GiB in use")
			}
			return nil
		}}
		out := s.run(t, t.Context())
		if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "still has 20.0 GiB") {
			t.Errorf("%s: %s", out.Status, out.Reason)
		}
		if len(s.w.launched) != 2 {
			t.Errorf("launched %v", s.w.launched)
		}
		for _, l := range out.Launched {
			if failed(l) {
				t.Errorf("%s is blamed", l.Target)
			}
		}
	})
}
