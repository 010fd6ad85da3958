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

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// sleepy is an engine whose servers sleep for 2 s until they do, and wake for 1 s.
type sleepy struct {
	fakeEngine
	nights *nights
}

// nights is what happened to servers that sleep.
type nights struct {
	log     []string
	asleep  map[string]bool
	noSleep error
	noWake  error
	dies    string // the server that ends when this one falls asleep
}

func nameOf(ep steps.Endpoint) string {
	if strings.Contains(ep.BaseURL, "base") {
		return "A"
	}
	return "B"
}

func (sleepy) Classify(tail []string) (class, evidence string) {
	if slices.Contains(tail, "out of memory") {
		return "out_of_memory", "out of memory"
	}
	return "unknown", ""
}

func (e sleepy) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{Sleeper: e} }

func (e sleepy) CheckSleep(steps.ServerSpec) error { return nil }

func (e sleepy) Sleep(_ context.Context, ep steps.Endpoint) error {
	time.Sleep(2 * time.Second)
	if e.nights.noSleep != nil {
		return e.nights.noSleep
	}
	e.nights.asleep[ep.BaseURL] = true
	e.nights.log = append(e.nights.log, "sleep "+nameOf(ep))
	if e.nights.dies == nameOf(ep) {
		e.w.at(ep.BaseURL).exit("exit status 137")
	}
	return nil
}

func (e sleepy) Wake(_ context.Context, ep steps.Endpoint) error {
	time.Sleep(time.Second)
	if e.nights.noWake != nil {
		return e.nights.noWake
	}
	e.nights.asleep[ep.BaseURL] = false
	e.nights.log = append(e.nights.log, "wake "+nameOf(ep))
	return nil
}

// residentSession is one of two sides that stay loaded, with passes.
func residentSession(t *testing.T, repeats, passes int, how string) (*session, *nights, *plan.Plan) {
	t.Helper()
	p := makePlan(t, []string{base, head}, []float64{2}, repeats)
	p.Benchmarks[0].Passes, p.Resident = passes, how
	p.Reschedule()
	p.Seal()
	s := newSession(t, p)
	n := &nights{asleep: map[string]bool{}}
	s.o.Target = func(addr string, o config.Outputs) (engine.TargetSpec, error) {
		spec, err := s.w.target(addr, o)
		spec.Members[0].Engine = sleepy{fakeEngine{s.w}, n}
		return spec, err
	}
	s.w.onRun = func(int) {
		last := s.w.loads[len(s.w.loads)-1]
		n.log = append(n.log, nameOf(steps.Endpoint{BaseURL: last}))
	}
	s.o.Load = func(ctx context.Context, o load.Options) (load.Result, error) {
		if n.asleep[o.BaseURL] {
			t.Errorf("%s is measured while it sleeps", o.BaseURL)
		}
		return s.w.load(ctx, o)
	}
	return s, n, p
}

// Both sides are started once and measured in mirrored order, one asleep while the other is
// measured, and the launch remains what a pair is one of.
func TestResidentSidesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n, p := residentSession(t, 2, 4, steps.ResidentSleep)
		out := s.run(t, t.Context())
		if out.Status != result.StatusComplete {
			t.Fatal(out.Reason)
		}
		got := strings.Join(n.log, ", ")
		first := "sleep A, B, sleep B, wake A, A, A, sleep A, wake B, B, B, sleep B, wake A, A, "
		if !strings.HasPrefix(got, first) {
			t.Errorf("turns are %s", got)
		}
		if launches := strings.Join(s.w.launched, ", "); launches != strings.Join([]string{base, head, head, base}, ", ") {
			t.Errorf("launched %s", launches)
		}
		checkTurns(t, p, out, n.log)
	})
}

// checkTurns: all passes are there, both sides at the same mean place in each repeat, and nobody
// pays twice for the same seconds.
func checkTurns(t *testing.T, p *plan.Plan, out *engine.Outcome, log []string) {
	t.Helper()
	doc := out.Document()
	for _, c := range doc.Benchmarks[0].Cells {
		if len(c.Current()) != 8 {
			t.Errorf("%v: %d runs", c.Values, len(c.Current()))
		}
	}
	runs := slices.DeleteFunc(slices.Clone(log), func(s string) bool { return len(s) > 1 })
	for repeat := range 2 {
		places := map[string]int{}
		for i, side := range runs[8*repeat : 8*repeat+8] {
			places[side] += i
		}
		if places["A"] != places["B"] {
			t.Errorf("repeat %d: %v", repeat+1, runs[8*repeat:8*repeat+8])
		}
	}
	held := 0.0
	for _, l := range doc.Launches {
		held += l.Held
		if l.Sleep == nil || l.Sleep.Falling != 2*float64(l.Sleep.Times) || l.Sleep.Waking != float64(l.Sleep.Times) {
			t.Errorf("%s slept %+v", l.ID, l.Sleep)
		}
	}
	if took := out.Ended.Sub(out.Started).Seconds(); held > took || held < took-1 {
		t.Errorf("launches held the machine for %g s in a run of %g s", held, took)
	}
}

// Sides that stay awake take the same turns, and nobody is put to sleep.
func TestResidentSidesThatStayAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n, _ := residentSession(t, 1, 2, steps.ResidentLoaded)
		if out := s.run(t, t.Context()); out.Status != result.StatusComplete {
			t.Fatal(out.Reason)
		}
		if got := strings.Join(n.log, ", "); got != "B, A, A, B" {
			t.Errorf("turns are %s", got)
		}
	})
}

// What goes wrong with sleep says nothing of how a server serves: the run ends, with words of its own.
func TestResidentSidesThatDoNotWake(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*nights)
		want   string
	}{
		"sleep": {func(n *nights) { n.noSleep = errors.New("status 500: no") }, base + " does not go to sleep: status 500: no"},
		"wake": {func(n *nights) { n.noWake = errors.New("status 500: CUDA Error: out of memory") }, base +
			" does not wake: status 500: CUDA Error: out of memory"},
		"death": {func(n *nights) { n.dies = "A" }, base + " ended while others were measured (exit status 137)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, n, _ := residentSession(t, 2, 2, steps.ResidentSleep)
				tt.change(n)
				out := s.run(t, t.Context())
				if out.Status != result.StatusFailed || out.Reason != tt.want {
					t.Errorf("%s: %q", out.Status, out.Reason)
				}
				for _, l := range out.Launched {
					if failed(l) {
						t.Errorf("%s counts as failed", l.ID)
					}
				}
			})
		})
	}
}

// A head that does not start, or dies, is a finding beside a base that stays loaded; only where memory
// is what it lacks, the base may be why.
func TestResidentSideThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		behaviour behaviour
		status    result.Status
		reason    string
	}{
		"start": {behaviour{never: true, exitAfter: time.Second}, result.StatusComplete, ""},
		"dies":  {behaviour{runs: map[int]string{1: "die"}}, result.StatusComplete, ""},
		"memory": {behaviour{never: true, exitAfter: time.Second, log: "out of memory"}, result.StatusFailed, head +
			" does not fit beside " + base},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, n, p := residentSession(t, 2, 2, steps.ResidentSleep)
				s.w.behave = func(target string, n int) behaviour {
					if target == head && n == 1 {
						return tt.behaviour
					}
					return behaviour{}
				}
				out := s.run(t, t.Context())
				if out.Status != tt.status || !strings.HasPrefix(out.Reason, tt.reason) {
					t.Fatalf("%s: %q", out.Status, out.Reason)
				}
				if tt.status == result.StatusComplete && !strings.Contains(fmt.Sprint(statuses(p, out, head)), "failed") {
					t.Errorf("head: %v, %v", statuses(p, out, head), n.log)
				}
				if len(s.events.of(event.LaunchFail)) == 0 {
					t.Error("the journal does not tell of the failed launch")
				}
			})
		})
	}
}

// An interrupt stops the side that sleeps at once, not after the one that is measured.
func TestResidentSidesAreInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := residentSession(t, 2, 2, steps.ResidentSleep)
		s.w.behave = func(string, int) behaviour { return behaviour{ignores: true} }
		ctx, cancel := context.WithCancelCause(t.Context())
		var at time.Time
		time.AfterFunc(30*time.Second, func() { at = time.Now(); cancel(errors.New("interrupted")) })
		out := s.run(t, ctx)
		if out.Status != result.StatusInterrupted || time.Since(at) > 7*time.Second {
			t.Errorf("%s after %s", out.Status, time.Since(at))
		}
	})
}

// A repeat that was cut off is measured again as a whole, since its sides took no turns.
func TestResidentRepeatIsResumedAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, p := residentSession(t, 2, 2, steps.ResidentSleep)
		out := s.run(t, t.Context())
		whole := slices.DeleteFunc(slices.Clone(out.Launched), func(l engine.Launched) bool { return l.Repeat == 2 && l.Target == head })
		s.o.Resume = &engine.Outcome{RunID: "run-1", Plan: p, Launched: whole}
		s.w.launched = nil
		again := s.run(t, t.Context())
		if got := strings.Join(s.w.launched, ", "); got != head+", "+base {
			t.Errorf("launched again: %s", got)
		}
		if len(again.Launched) != 4 || len(s.events.of(event.LaunchFail)) != 0 {
			t.Errorf("%d launches", len(again.Launched))
		}
	})
}

// The two launches of a pair in which a server is set against itself take turns as sides do.
func TestResidentRepeatsBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n, p := residentSession(t, 4, 2, steps.ResidentSleep)
		for i := range p.Repeats {
			p.Repeats[i].Beside = i%2 == 1
			p.Repeats[i].Launches = slices.DeleteFunc(p.Repeats[i].Launches, func(l plan.Launch) bool { return l.Target == head })
		}
		out := s.run(t, t.Context())
		if out.Status != result.StatusComplete || out.RepeatsDone != 4 {
			t.Fatal(out.Reason)
		}
		one := "sleep A, A, sleep A, wake A, A, A, wake A, A"
		if got := strings.Join(n.log, ", "); got != one+", "+one {
			t.Errorf("turns are %s", got)
		}
		for _, c := range out.Document().Benchmarks[0].Cells {
			if len(c.Current()) != 8 && c.Target == base {
				t.Errorf("%d runs", len(c.Current()))
			}
		}
	})
}
