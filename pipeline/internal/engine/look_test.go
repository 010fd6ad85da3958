package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// seen is what each look of a run was given: planned repeats, and runs that are still void.
type seen struct{ repeats, void int }

// looking answers the looks of a run in their order: true ends it.
func looking(p *plan.Plan, stop ...bool) (look func(*engine.Outcome) (judge.Look, error), looks *[]seen) {
	looks = &[]seen{}
	return func(o *engine.Outcome) (judge.Look, error) {
		open := map[int]bool{} // by repeat
		for _, l := range o.Launched {
			for _, cr := range l.Runs {
				delete(open, cr.Run.Replaces)
				if cr.Run.Status == result.RunVoid {
					open[cr.Run.Pair()] = true
				}
			}
		}
		*looks = append(*looks, seen{o.RepeatsDone, len(open)})
		return judge.Look{Stop: stop[len(*looks)-1], Open: 1, All: 2, Next: 6}, nil
	}, looks
}

func TestLooks(t *testing.T) {
	for _, tc := range []struct {
		name     string
		stop     []bool
		launches string
		seen     []seen
		reason   string
	}{
		{"decided at the first", []bool{true}, "bhhbbhhb" + "hb", []seen{{4, 0}},
			"ended after repeat 4 of at most 8: every comparison is decided"},
		{"decided at the second", []bool{false, true}, "bhhbbhhb" + "hb" + "bhhb", []seen{{4, 0}, {6, 0}},
			"ended after repeat 6 of at most 8: every comparison is decided"},
		{"never decided", []bool{false, false}, "bhhbbhhb" + "hb" + "bhhb" + "bhhb", []seen{{4, 0}, {6, 0}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := makePlan(t, []string{base, head}, []float64{2}, 8)
			p.Looks = []int{4, 6, 8}
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				s.w.behave = trouble(base, behaviour{runs: map[int]string{1: "late"}}, 2) // void, and measured again before the look
				look, looks := looking(p, tc.stop...)
				s.look = look
				out := s.run(t, t.Context())
				var launches strings.Builder
				for _, l := range s.w.launched {
					launches.WriteByte(map[string]byte{base: 'b', head: 'h'}[l])
				}
				if launches.String() != tc.launches {
					t.Errorf("launches %s, want %s", &launches, tc.launches)
				}
				if !slices.Equal(*looks, tc.seen) {
					t.Errorf("looks at %v, want %v", *looks, tc.seen)
				}
				if out.Status != result.StatusComplete || out.Reason != tc.reason {
					t.Errorf("%s (%s), want %q", out.Status, out.Reason, tc.reason)
				}
				if n := len(s.events.of(event.Look)); n != len(tc.seen) {
					t.Errorf("%d events of looks, want %d", n, len(tc.seen))
				}
			})
		})
	}
}

func TestALookThatCannotBeTakenEndsTheRun(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 6)
	p.Looks = []int{4, 6}
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.look = func(*engine.Outcome) (judge.Look, error) { return judge.Look{}, errors.New("no baseline") }
		if out := s.run(t, t.Context()); out.Status != result.StatusFailed || !strings.Contains(out.Reason, "no baseline") {
			t.Errorf("%s (%s), want a failure that says why", out.Status, out.Reason)
		}
	})
}

// A resumed run takes the same looks on the same data, wherever it was killed.
func TestResumeTakesTheSameLooks(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2, 4}, 6)
	p.Looks = []int{4, 6}
	var whole []byte
	var want *engine.Outcome
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.byLaunch(troubled)
		s.look, _ = looking(p, true)
		want = s.run(t, t.Context())
		whole = []byte(journalText(t, s.dir))
	})
	if want.RepeatsDone != 4 {
		t.Fatalf("%d repeats: the run is not the one this test needs", want.RepeatsDone)
	}
	lines := 0
	for end := range whole {
		if whole[end] != '\n' {
			continue
		}
		if lines++; lines%7 != 0 { // TestResumeFromEveryLine tries them all
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			dir := cut(t, t.TempDir(), p, whole[:end+1])
			state, err := engine.Replay(dir)
			if err != nil {
				t.Fatal(err)
			}
			s := sessionIn(t, p, dir, state.Seq)
			s.byLaunch(troubled)
			s.o.Resume = state
			look, looks := looking(p, true)
			s.look = look
			out := s.run(t, t.Context())
			if len(out.Launched) != len(want.Launched) || out.RepeatsDone != 4 || !slices.Equal(*looks, []seen{{4, 0}}) {
				t.Errorf("%d launches, %d repeats, looks %v after a kill at byte %d", len(out.Launched), out.RepeatsDone, *looks, end)
			}
		})
	}
}
