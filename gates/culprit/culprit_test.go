package culprit_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/gates/culprit"
)

// The posteriors are those of the general formula, which testdata/vectors.py evaluates.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Candidates int
		Probes     []culprit.Probe
		None, Two  float64
		Step       []float64
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors) < 4 {
		t.Fatal(len(vectors), err)
	}
	for i, v := range vectors {
		p, err := culprit.Evidence{Candidates: v.Candidates, Probes: v.Probes}.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("vector %d: %s is %g, want %g", i, what, got, want)
			}
		}
		near("none", p.None, v.None)
		near("two", p.Two, v.Two)
		for c := range v.Step {
			near("step", p.Step[c], v.Step[c])
		}
	}
}

// probed draws probes of levels in turn.
func probed(levels []float64, probes ...int) culprit.Evidence {
	rng := rand.New(rand.NewPCG(1, 2))
	e := culprit.Evidence{Candidates: len(levels) - 1}
	for _, c := range probes {
		e.Probes = append(e.Probes, culprit.Probe{c, levels[c] + 0.01*rng.NormFloat64()})
	}
	return e
}

func answer(t *testing.T, e culprit.Evidence) (*culprit.Posterior, culprit.Answer) {
	t.Helper()
	p, err := e.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Answer(0.95)
}

// With one step the hypotheses disagree most where half of the posterior lies on either side.
func TestTheFirstProbeIsInTheMiddle(t *testing.T) {
	levels := make([]float64, 17)
	levels[16] = 0.1
	if _, a := answer(t, probed(levels, 16, 16, 16, 16)); a.Done || a.Next < 7 || a.Next > 9 {
		t.Errorf("next is %d of 16 (done: %v)", a.Next, a.Done)
	}
}

func TestAnswers(t *testing.T) {
	step := []float64{0, 0, 0, 0.1, 0.1, 0.1}
	stairs := []float64{0, 0, 0.1, 0.1, 0.2, 0.2}
	undone := []float64{0, 0, 0.3, 0.3, 0.1, 0.1}
	ends := []int{5, 5, 5, 5}
	for name, tt := range map[string]struct {
		levels   []float64
		probes   []int
		unusable []int
		want     []culprit.Range
	}{
		"one step":                   {step, []int{2, 3, 2, 3}, nil, []culprit.Range{{2, 3}}},
		"not known yet":              {step, []int{1, 4}, nil, nil},
		"the commit cannot be built": {step, []int{2, 4, 2, 4}, []int{3}, []culprit.Range{{2, 4}}},
		"nor the one before it":      {step, []int{1, 4, 1, 4}, []int{2, 3}, []culprit.Range{{1, 4}}},
		"two culprits":               {stairs, []int{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, nil, []culprit.Range{{1, 2}, {3, 4}}},
		"two culprits of two pairs":  {stairs, []int{1, 2, 3, 4, 1, 2, 3, 4}, nil, nil},
		"partly reverted":            {undone, []int{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, nil, []culprit.Range{{1, 2}, {3, 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := probed(tt.levels, append(ends, tt.probes...)...)
			e.Unusable = tt.unusable
			p, a := answer(t, e)
			var got []culprit.Range
			for _, s := range a.Steps {
				got = append(got, s.Range)
				if truth := tt.levels[s.Bad] - tt.levels[s.Good]; math.Abs(s.Change-truth) > 0.03 {
					t.Errorf("the change is %g, want %g", s.Change, truth)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || a.Done != (tt.want != nil) {
				t.Errorf("done: %v, step %v (-want +got):\n%s", a.Done, p.Step, diff)
			}
			if r := p.Rest(0.95); r.Probability < 0.95 || tt.want != nil && r.Bad-r.Good > 2+len(tt.unusable) {
				t.Errorf("the rest is %+v", r)
			}
		})
	}
}

// Many small steps are several: neither one nor two of them is named for all, and the range holds most of them.
func TestManySmallSteps(t *testing.T) {
	levels := make([]float64, 31)
	for i := range levels {
		levels[i] = 0.02 * float64(min(5, max(0, i-9)))
	}
	probes := []int{30, 30, 30, 30}
	for range 4 {
		probes = append(probes, 5, 8, 12, 16, 25)
	}
	p, a := answer(t, probed(levels, probes...))
	if !a.Several || len(a.Steps) != 0 || a.Done {
		t.Errorf("%+v", a)
	}
	if s := p.Stretch(0.95); s.Good > 12 || s.Bad < 12 || s.Bad-s.Good > 20 || s.Change < 0.05 || s.Change > 0.13 {
		t.Errorf("%+v", s)
	}
	levels = make([]float64, 31)
	for i := range levels[12:] {
		levels[12+i] = 0.1
	}
	if _, a := answer(t, probed(levels, probes...)); a.Several {
		t.Errorf("one step is several: %+v", a)
	}
}

// A step is named by two pairs at each of its ends, not by one launch that was slow.
func TestOneSlowLaunchNamesNothing(t *testing.T) {
	e := culprit.Evidence{Candidates: 8, Probes: []culprit.Probe{
		{8, 0.101}, {8, 0.099}, {8, 0.1}, {8, 0.1}, {4, 0.001}, {4, -0.001}, {6, 0.1}, {5, 0.1}, {6, 0.101},
	}}
	if p, a := answer(t, e); len(a.Steps) != 0 || a.Next != 5 || p.Step[5] < 0.95 {
		t.Errorf("%+v, %.3f", a, p.Step[5])
	}
	e.Probes = append(e.Probes, culprit.Probe{5, 0.099})
	if _, a := answer(t, e); !a.Done || len(a.Steps) != 1 || a.Steps[0].Range != (culprit.Range{4, 5}) {
		t.Errorf("%+v", a)
	}
}

// Values without noise, all alike or not there at all give finite numbers.
func TestDegenerateEvidence(t *testing.T) {
	for name, e := range map[string]culprit.Evidence{
		"none":             {Candidates: 3},
		"one candidate":    {Candidates: 1, Probes: []culprit.Probe{{1, 0.1}}},
		"equal":            {Candidates: 3, Probes: []culprit.Probe{{3, 0}, {3, 0}, {1, 0}}},
		"without noise":    {Candidates: 3, Probes: []culprit.Probe{{3, 0.1}, {3, 0.1}, {1, 0}, {2, 0.1}}, Rounding: 1e-9},
		"huge":             {Candidates: 3, Probes: []culprit.Probe{{3, 1e90}, {3, 1e90}, {1, 0}}},
		"all are unusable": {Candidates: 3, Probes: []culprit.Probe{{3, 0.1}, {3, 0.11}}, Unusable: []int{1, 2}},
	} {
		p, a := answer(t, e)
		sum := p.None
		for _, x := range p.Step {
			sum += x
		}
		if math.Abs(sum-p.Two-1) > 1e-9 {
			t.Errorf("%s: the probabilities sum to %g", name, sum-p.Two)
		}
		if a.Next < 1 || a.Next > e.Candidates {
			t.Errorf("%s: next is %d", name, a.Next)
		}
	}
	if _, a := answer(t, culprit.Evidence{Candidates: 3, Probes: []culprit.Probe{{3, 0.1}, {3, 0.11}, {3, 0.1}, {3, 0.1}},
		Unusable: []int{1, 2}}); !a.Done || a.Steps[0].Range != (culprit.Range{0, 3}) {
		t.Errorf("a list without a usable candidate: %+v", a)
	}
}

func TestEvidenceIsChecked(t *testing.T) {
	for name, e := range map[string]culprit.Evidence{
		"no candidate":      {},
		"too many":          {Candidates: culprit.MaxCandidates + 1},
		"beyond the end":    {Candidates: 2, Probes: []culprit.Probe{{3, 0}}},
		"not a number":      {Candidates: 2, Probes: []culprit.Probe{{1, math.NaN()}}},
		"the bad end":       {Candidates: 2, Unusable: []int{2}},
		"the good end, too": {Candidates: 2, Unusable: []int{0}},
	} {
		if _, err := e.Posterior(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func BenchmarkPosterior1000(b *testing.B) {
	levels := make([]float64, 1001)
	levels[1000] = 0.1
	e := probed(levels, 1000, 1000, 1000, 1000, 500, 250)
	for b.Loop() {
		if _, err := e.Posterior(); err != nil {
			b.Fatal(err)
		}
	}
}
