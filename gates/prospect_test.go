package gates_test

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// A change of the size that a plan states is called a regression as often as it states, by
// the code that judges.
func TestAPlansDetectableChangeIsFoundWithItsPower(t *testing.T) {
	files := 100
	if *gates.Full {
		files = 500
	}
	for _, tt := range []struct {
		looks   gates.Looks
		members int
		sd      float64
		strict  bool
	}{
		{gates.Looks{4}, 1, 0.02, false},
		{gates.Looks{6}, 8, 0.03, false},
		{fiveLooks, 1, 0.005, false},
		{fiveLooks, 1, 0.03, false},
		{fiveLooks, 8, 0.02, false},
		{fiveLooks, 8, 0.06, false},
		{gates.LooksBetween(4, 6), 5, 0.04, true},
	} {
		in := gates.NewProspect(tt.looks, 0.05, 0.05, tt.members, gates.Rule{Strict: tt.strict})
		margin := math.Log(1.05)
		change := in.Detectable(tt.sd, margin, gates.Power)
		if p := in.Found(change, tt.sd, margin); math.Abs(p-gates.Power) > 0.001 {
			t.Errorf("%v: %.4f of a change of %g is found by the prospect itself", tt, p, change)
		}
		s := newSimulator(uint64(len(tt.looks)*100 + tt.members))
		found := 0
		last := tt.looks[len(tt.looks)-1]
		for range files {
			f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, last, change, tt.sd)}}
			f.Comparisons[0].Strict = tt.strict
			for i := 1; i < tt.members; i++ {
				f.Comparisons = append(f.Comparisons, s.comparison(i, last, 0, tt.sd))
			}
			p, err := gates.Sequence{Family: f, Looks: tt.looks, Ended: true}.Judge()
			if err != nil {
				t.Fatal(err)
			}
			if p.Judgement.Comparisons[0].Verdict == gates.Regression {
				found++
			}
		}
		power := float64(found) / float64(files)
		t.Logf("looks %v, %d comparisons, SD %g, strict %v: %.2f %% is found in %.1f %%", tt.looks, tt.members, tt.sd, tt.strict,
			100*math.Expm1(change), 100*power)
		if math.Abs(power-gates.Power) > 3*math.Sqrt(gates.Power*(1-gates.Power)/float64(files)) {
			t.Errorf("looks %v, %d comparisons, SD %g: %.1f %% is found, 80 %% stated", tt.looks, tt.members, tt.sd, 100*power)
		}
	}
}

func TestOneRepeatFindsNothing(t *testing.T) {
	in := gates.NewProspect(gates.Looks{1}, 0.05, 0.05, 1, gates.Rule{})
	if change := in.Detectable(0.02, 0.05, gates.Power); !math.IsInf(change, 1) {
		t.Errorf("one repeat finds %g", change)
	}
}

// A solution is solved once, and a program that asks for ever new ones does not grow.
func TestSolutionsAreKeptWithinALimit(t *testing.T) {
	if kept, again := gates.Solved(1000); kept != 1000 || again != 0 {
		t.Errorf("of 1,000 solutions %d are kept and %d were solved again", kept, again)
	}
	if kept, _ := gates.Solved(100_000); kept > 1<<14 {
		t.Errorf("of 100,000 solutions %d are kept", kept)
	}
}
