package session_test

import (
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/result"
)

// TestEqualSidesInVirtualTime runs the quickstart with two equal sides again and again, with
// the simulator's model in virtual time behind the real plan, reduction and judgement.
// A file may be called a regression in at most alpha of the runs: with alpha = 0.05 more
// than 20 of 200, or 5 of 20, happen with a chance below 0.1 %.
func TestEqualSidesInVirtualTime(t *testing.T) {
	files, most := 20, 5
	if *full {
		files, most = 200, 20
	}
	v := newRehearsed(t, "2048", 5, 5)
	verdicts := map[result.Verdict]int{}
	for seed := range files {
		verdicts[v.run(t, seed).Verdict]++
	}
	t.Logf("%d files with equal sides: %v", files, verdicts)
	if n := verdicts[result.Regression]; n > most {
		t.Errorf("%d of %d files with equal sides are called a regression, want at most %d", n, files, most)
	}
	if n := verdicts[result.Missing] + verdicts[result.Invalid]; n > 0 {
		t.Errorf("%d files are missing or invalid, although nothing failed", n)
	}
}

// TestPlantedChangeInVirtualTime is the counterpart: the change that the quickstart is
// about is found.
func TestPlantedChangeInVirtualTime(t *testing.T) {
	files, least := 4, 4
	if *full {
		files, least = 40, 38
	}
	v := newRehearsed(t, "128", 5, 5)
	found := 0
	for seed := range files {
		if v.run(t, seed).Verdict == result.Regression {
			found++
		}
	}
	if found < least {
		t.Errorf("the planted change was found in %d of %d files, want at least %d", found, files, least)
	}
}

// TestLooksInVirtualTime runs the quickstart with looks after 4, 6, 8, 10 and 12 repeats:
// the error of all looks together holds, the planted change is found, and most of the
// repeats are saved. Resuming judges as the looks did, since both see the same document.
func TestLooksInVirtualTime(t *testing.T) {
	for _, tt := range []struct {
		head    string
		files   int
		pairs   float64 // at most, on average
		verdict result.Verdict
		atLeast int
		atMost  int
	}{
		{"2048", 100, 8, result.Regression, 0, 13}, // 5 % of 100, and 13 with a chance below 0.1 %
		{"128", 30, 5, result.Regression, 29, 30},
	} {
		if !*full {
			tt.files, tt.atLeast, tt.atMost = tt.files/10, tt.atLeast/10, (tt.atMost+3)/5
		}
		v := newRehearsed(t, tt.head, 4, 12)
		found, pairs := 0, 0
		for seed := range tt.files {
			doc := v.run(t, seed)
			pairs += doc.RepeatsDone
			if doc.Verdict == tt.verdict {
				found++
			}
			if n := len(doc.LooksTaken); n == 0 || doc.LooksTaken[n-1] != doc.RepeatsDone {
				t.Errorf("head %s, seed %d: looks %v of %d repeats", tt.head, seed, doc.LooksTaken, doc.RepeatsDone)
			}
		}
		mean := float64(pairs) / float64(tt.files)
		t.Logf("head %s: %d of %d files are called a %s, after %.2f repeats on average", tt.head, found, tt.files, tt.verdict, mean)
		if found < tt.atLeast || found > tt.atMost {
			t.Errorf("head %s: %d of %d files are called a %s, want %d to %d", tt.head, found, tt.files, tt.verdict, tt.atLeast, tt.atMost)
		}
		if mean > tt.pairs {
			t.Errorf("head %s: %.2f repeats on average, want at most %g", tt.head, mean, tt.pairs)
		}
	}
}

// quickstartRun rehearses the quickstart.
type quickstartRun struct{ rehearsal *session.Rehearsal }

func newRehearsed(t *testing.T, head string, least, most int) quickstartRun {
	t.Helper()
	cfg := loadExample(t, "quickstart", "head="+head)
	for _, b := range cfg.Benchmarks {
		b.RepeatMin, b.RepeatMax = least, most
	}
	return quickstartRun{rehearse(t, cfg)}
}

// run carries the plan out once, with its own noise of launches and steps.
func (v quickstartRun) run(t *testing.T, seed int) *result.Document {
	t.Helper()
	doc, err := v.rehearsal.Run(seed)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// A planted change slows every step of the engine down by what was asked for: under load a
// request's own times grow by more, and with nothing planted by nothing.
func TestPlantedChangesHaveTheirSize(t *testing.T) {
	files := 4
	if *full {
		files = 10
	}
	v := newRehearsed(t, "128", 5, 5) // the head's own change must not be there
	for _, size := range []float64{0, 0.05, 0.1} {
		planted := v.rehearsal.Plant(size)
		sum, n := 0.0, 0
		for seed := range files {
			for _, d := range (quickstartRun{planted}).run(t, seed).Gates[1].Decisions {
				if d.Metric == "tpot.mean" {
					sum, n = sum+*d.Change, n+1
				}
			}
		}
		if mean := sum / float64(n); mean < size-0.03 || mean > 2*size+0.03 {
			t.Errorf("%g was planted and %g came out", size, mean)
		}
	}
}
