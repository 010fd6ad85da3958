package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// Every pass of a cell is a run of its own with its own records, and a void pass has the
// whole cell measured again with all sides.
func TestPasses(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 4)
	p.Benchmarks[0].Passes = 2
	p.Reschedule()
	p.Seal()
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.behave = func(target string, n int) behaviour {
			if target == head && n == 2 {
				return behaviour{runs: map[int]string{1: "late"}} // of two passes; the second is well
			}
			return behaviour{}
		}
		out := s.run(t, t.Context())
		if got := strings.Join(statuses(p, out, head), ", "); !strings.HasPrefix(got, "1 ok, 1 ok, 2 void, 2 ok, 3 ok, 3 ok, 4 ok, 4 ok, ") ||
			strings.Count(got, " ok") != 9 {
			t.Errorf("head: %s", got)
		}
		records := map[string]bool{}
		for _, c := range out.Document().Benchmarks[0].Cells {
			var current []string
			for _, r := range c.Current() {
				current = append(current, fmt.Sprintf("%d.%d", r.Pair(), r.Pass))
				records[r.Records] = true
			}
			slices.Sort(current)
			if got := strings.Join(current, " "); got != "1.1 1.2 2.1 2.2 3.1 3.2 4.1 4.2" {
				t.Errorf("%v counts for %s", c.Values, got)
			}
		}
		if len(records) != 16 {
			t.Errorf("%d files of records for 16 runs: %v", len(records), records)
		}
		checkPassContent(t, s.w.loads)
	})
}

// checkPassContent: both sides of a repeat send the content of the same pass, and no two
// passes send the same.
func checkPassContent(t *testing.T, loads []string) {
	t.Helper()
	times := map[string]int{}
	for _, l := range loads {
		times[l[strings.LastIndexByte(l, ' ')+1:]]++
	}
	if len(times) != 8 {
		t.Errorf("%d contents for 4 repeats of 2 passes: %v", len(times), times)
	}
}

// A launch that fails is one failure of each cell's passes.
func TestPassesOfALaunchThatFails(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	p.Benchmarks[0].Passes = 2
	p.Reschedule()
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.behave = func(target string, n int) behaviour {
			if target == head && n == 1 {
				return behaviour{never: true, exitAfter: time.Second}
			}
			return behaviour{}
		}
		out := s.run(t, t.Context())
		for _, c := range out.Document().Benchmarks[0].Cells {
			if c.Target != head {
				continue
			}
			for i, r := range c.Runs[:2] {
				if r.Pass != i+1 || r.Status != result.RunFailed || r.Repeat != 1 {
					t.Errorf("run %d: pass %d of repeat %d is %s", i, r.Pass, r.Repeat, r.Status)
				}
			}
		}
	})
}
