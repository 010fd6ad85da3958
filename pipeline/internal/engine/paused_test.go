package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// A run whose server was paused is void, whatever it shows, and measured again with its pair. A
// pause between two runs concerns neither.
func TestPausedRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		at      int // the question that is answered by a pause
		trouble string
		err     error // that the same answer has
		want    []string
		reason  string
	}{
		"a pause during a run": {at: 3, want: []string{"1 void", "2 ok", "1001 ok"}, reason: head + ": job 7 was suspended"},
		"a run that failed for the pause": {at: 3, trouble: "garbage", want: []string{"1 void", "2 ok", "1001 ok"}, reason: head +
			": job 7 was suspended"},
		"a pause that was seen before the view was lost": {at: 3, err: errors.New("the stream broke off"),
			want: []string{"1 void", "2 ok", "1001 ok"}, reason: head + ": job 7 was suspended"},
		"a pause before the run": {at: 2, want: []string{"1 ok", "2 ok"}},
		"a pause before it was ready": {at: 1, want: []string{"1 void", "2 ok", "1001 ok"}, reason: "while it started, " + head +
			": job 7 was suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			p := makePlan(t, []string{base, head}, []float64{2}, 2)
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				s.w.behave = func(target string, n int) behaviour {
					if target != head || n > 1 {
						return behaviour{paused: func(int) (string, error) { return "", nil }}
					}
					return behaviour{runs: map[int]string{1: tt.trouble}, paused: func(n int) (string, error) {
						if n == tt.at {
							return "job 7 was suspended", tt.err
						}
						return "", nil
					}}
				}
				out := s.run(t, t.Context())
				if got := statuses(p, out, head); !slices.Equal(got, tt.want) {
					t.Errorf("head: %v, want %v", got, tt.want)
				}
				for _, l := range out.Launched {
					for _, r := range l.Runs {
						if r.Run.Status == result.RunVoid && (r.Run.Reason != tt.reason || r.Run.VoidCause != result.VoidSuspended) {
							t.Errorf("void for %q (%s)", r.Run.Reason, r.Run.VoidCause)
						}
					}
				}
				checkDocument(t, p, out)
			})
		})
	}
}

// A server that dies after a pause says nothing about itself: the run ends, and names the pause.
func TestFailureAfterPause(t *testing.T) {
	for name, tt := range map[string]behaviour{
		"in a run":   {runs: map[int]string{1: "die"}, paused: pausedAt(3)},
		"in a start": {never: true, paused: pausedAt(1)},
	} {
		t.Run(name, func(t *testing.T) {
			p := makePlan(t, []string{base, head}, []float64{2}, 1)
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				s.w.behave = func(string, int) behaviour { return tt }
				out := s.run(t, t.Context())
				if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "job 7 was suspended; it failed after that: ") ||
					!strings.Contains(out.Reason, "(suspended)") {
					t.Errorf("%s: %s", out.Status, out.Reason)
				}
				for _, l := range out.Launched {
					for _, r := range l.Runs {
						if r.Run.Status != result.RunVoid {
							t.Errorf("the run is %s: %s", r.Run.Status, r.Run.Reason)
						}
					}
				}
			})
		})
	}
}

func pausedAt(at int) func(int) (string, error) {
	return func(n int) (string, error) {
		if n == at {
			return "job 7 was suspended", nil
		}
		return "", nil
	}
}

// That pauses cannot be seen voids nothing, and is said once.
func TestPausesUnknown(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.behave = func(string, int) behaviour {
			return behaviour{paused: func(int) (string, error) { return "", errors.New("the controller does not answer") }}
		}
		out := s.run(t, t.Context())
		if got := statuses(p, out, head); !slices.Equal(got, []string{"1 ok", "2 ok"}) {
			t.Errorf("head: %v", got)
		}
		told := 0
		for _, e := range s.events.events {
			if e.Severity == event.Warning &&
				strings.Contains(e.Text, "whether it was paused during a run is not known: the controller does not answer") {
				told++
			}
		}
		if told != 2 {
			t.Errorf("told %d times, want once for each side", told)
		}
	})
}
