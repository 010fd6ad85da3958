package gates_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// A sequence that is given more repeats because it is undecided, twice, still passes a
// comparison at its margin and calls an unchanged one worse in no more than 5 % of files.
func TestAnExtendedSequenceHoldsItsErrorRate(t *testing.T) {
	for i, before := range [][]gates.Looks{{gates.LooksBetween(4, 12)}, {gates.LooksBetween(4, 6), gates.LooksBetween(4, 10)}} {
		for _, sd := range []float64{0.02, 0.10} {
			for _, shift := range []float64{0, math.Log(1.05)} {
				s := newSimulator(uint64(2100 + i))
				passed, alarms, trials := 0, 0, files()
				for range trials {
					d := extended(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, 16, shift, sd)}}, before)
					switch d.Verdict {
					case gates.Pass, gates.Improvement:
						passed++
					case gates.Regression:
						alarms++
					}
				}
				what := fmt.Sprintf("looks %v extended to 16, SD %g %%: ", before, 100*sd)
				if shift > 0 {
					atMost(t, what+"passes at the margin", passed, trials, 0.05)
				} else {
					atMost(t, what+"false alarms", alarms, trials, 0.05)
				}
			}
		}
	}
}

func extended(tb testing.TB, f gates.Family, before []gates.Looks) gates.Decision {
	tb.Helper()
	p, err := gates.Sequence{Family: f, Looks: gates.LooksBetween(4, 16), Before: before}.Judge()
	if err != nil {
		tb.Fatal(err)
	}
	return p.Judgement.Comparisons[0]
}

// What a sequence has decided stays decided when it is extended.
func TestExtendingKeepsWhatWasDecided(t *testing.T) {
	s := newSimulator(22)
	before := gates.LooksBetween(4, 6)
	decided := 0
	for range 200 {
		f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, 16, math.Log(1.03), 0.03)}}
		short := f
		short.Comparisons = []gates.Comparison{f.Comparisons[0]}
		short.Comparisons[0].Pairs = f.Comparisons[0].Pairs[:6]
		p, err := gates.Sequence{Family: short, Looks: before, Ended: true}.Judge()
		if err != nil {
			t.Fatal(err)
		}
		first, later := p.Judgement.Comparisons[0], extended(t, f, []gates.Looks{before})
		if first.Verdict == gates.Inconclusive {
			continue
		}
		decided++
		if later.Verdict != first.Verdict || later.Look != first.Look || later.Confidence != first.Confidence {
			t.Errorf("%s at look %d became %s at look %d", first.Verdict, first.Look, later.Verdict, later.Look)
		}
	}
	if decided < 20 {
		t.Errorf("only %d of 200 were decided: nothing is tested", decided)
	}
}

func TestExtensionsAreRefused(t *testing.T) {
	f := gates.Family{Alpha: 0.05}
	for name, tt := range map[string]struct {
		before gates.Looks
		want   string
	}{
		"one judgement at the end": {gates.Looks{5}, "has spent all of alpha"},
		"looks between":            {gates.Looks{4, 5}, "do not extend"},
		"not longer":               {gates.Looks{4, 6, 8}, "do not extend"},
	} {
		_, err := gates.Sequence{Family: f, Looks: gates.Looks{4, 6, 8}, Before: []gates.Looks{tt.before}}.Judge()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
