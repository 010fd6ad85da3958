package gates_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// stored is a comparison of sessions with a history of h, drawn with deviation sd.
func (s *simulator) stored(tb testing.TB, h int, shift, sd float64) gates.Comparison {
	tb.Helper()
	c := comparison(tb, "ttft.p99", nil)
	c.Test, c.Planned, c.Unpaired = gates.Prediction, 1, &gates.Samples{}
	for range h {
		c.Unpaired.Base = append(c.Unpaired.Base, math.Exp(sd*s.rng.NormFloat64()))
	}
	c.Unpaired.Head = []float64{math.Exp(shift + sd*s.rng.NormFloat64())}
	return c
}

func TestStoredBaselines(t *testing.T) {
	history := []float64{1, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.01, 0.99, 1, 1.003, 0.997}
	tests := map[string]struct {
		history, head []float64
		want          gates.Verdict
		reason        string
	}{
		"slower":        {history, []float64{1.10}, gates.Regression, ""},
		"faster":        {history, []float64{0.90}, gates.Improvement, ""},
		"same":          {history, []float64{1.01}, gates.Pass, ""},
		"in between":    {history, []float64{1.038}, gates.Inconclusive, "sessions of the head would decide"},
		"two sessions":  {history, []float64{1.10, 1.11}, gates.Regression, ""},
		"short history": {history[:9], []float64{1.5}, gates.Inconclusive, "9 of the 10 sessions"},
		"one session":   {history[:1], []float64{1.5}, gates.Inconclusive, "1 of the 10 sessions"},
		"no history":    {nil, []float64{1.5}, gates.Missing, "the base has no value"},
		"no head":       {history, nil, gates.Missing, "the head has no value"},
		"constant":      {make([]float64, 10), []float64{1}, gates.Invalid, "no logarithm"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := comparison(t, "ttft.p99", nil)
			c.Test, c.Planned, c.Unpaired = gates.Prediction, 0, &gates.Samples{Base: tt.history, Head: tt.head}
			d := judgeOne(t, c)
			if d.Verdict != tt.want || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("%s: %s, want %s: …%s…", d.Verdict, d.Reason, tt.want, tt.reason)
			}
			if d.NeedPairs != 0 {
				t.Errorf("%d repeats are advised; only sessions help", d.NeedPairs)
			}
			if tt.want == gates.Inconclusive && len(tt.history) >= gates.MinSessions && d.NeedSessions < 2 {
				t.Errorf("%d sessions are advised", d.NeedSessions)
			}
		})
	}
}

func TestAShortHistoryIsNoMemberOfTheFamily(t *testing.T) {
	s := newSimulator(51)
	short := s.stored(t, 5, 0, 0.01)
	paired := comparison(t, "tpot.mean", ratios(1, 1.1, 1.11, 1.09))
	j := judge(t, gates.Family{Comparisons: []gates.Comparison{short, paired}})
	if d := j.Comparisons[1]; d.GroupSize != 1 {
		t.Errorf("a group of %d", d.GroupSize)
	}
}

func TestSessionsAreJudgedOnceWhenTheSequenceEnds(t *testing.T) {
	s := newSimulator(52)
	f := gates.Family{Comparisons: []gates.Comparison{s.stored(t, 12, math.Log(1.2), 0.01), restless(t, "ttft.p50", 6)}}
	p := advance(t, gates.Sequence{Family: f})
	if d := p.Judgement.Comparisons[0]; p.Stop || d.Verdict != gates.Missing || !strings.Contains(d.Reason, "when the session ends") {
		t.Errorf("stop %v: %s: %s", p.Stop, d.Verdict, d.Reason)
	}
	p = advance(t, gates.Sequence{Family: f, Ended: true})
	d := p.Judgement.Comparisons[0]
	if d.Verdict != gates.Regression || d.Confidence != 1-2*0.05 || d.Look != 6 {
		t.Errorf("%s with confidence %g at look %d: %s", d.Verdict, d.Confidence, d.Look, d.Reason)
	}
	// Its level is that of one look, 0.05/2, said on the scale of the looks' 0.0125.
	if want := min(1, 2*d.P*d.Level/0.05); math.Abs(d.PHolm-want) > 1e-15 {
		t.Errorf("p = %g, adjusted %g, want %g", d.P, d.PHolm, want)
	}
	// A file of stored baselines only needs no second look.
	f.Comparisons = f.Comparisons[:1]
	f.Success = []gates.Success{{ID: "success", Gate: "gate.g", Base: side(0, 0, 0, 0), Head: side(0, 0, 0, 0), CanFail: true}}
	if p := advance(t, gates.Sequence{Family: f}); !p.Stop || p.Judgement.Comparisons[0].Verdict != gates.Regression {
		t.Errorf("stop %v: %s", p.Stop, p.Judgement.Comparisons[0].Verdict)
	}
}

func TestNeedSessionsIsTheLeastThatWorks(t *testing.T) {
	const alpha, sd, h = 0.05, 0.02, 20
	for _, effect := range []float64{0.02, 0.03, 0.05, 0.1} {
		k, err := gates.NeedSessions(effect, sd, h, alpha)
		if err != nil {
			t.Errorf("%g: %v", effect, err)
			continue
		}
		// √n·effect/sd of a paired test with the same noncentrality and degrees of freedom.
		power := func(k int) float64 {
			se := sd * math.Sqrt(1/float64(k)+1/float64(h))
			return gates.PowerPairedT(h, effect, se*math.Sqrt(h), alpha)
		}
		if power(k) < gates.Power-1e-9 || k > 1 && power(k-1) >= gates.Power {
			t.Errorf("%g: %d sessions have power %.3f, one less %.3f", effect, k, power(k), power(k-1))
		}
	}
	if _, err := gates.NeedSessions(0.01, sd, 10, alpha); err == nil || !strings.Contains(err.Error(), "longer history") {
		t.Errorf("a history that is too short was not refused: %v", err)
	}
}

func TestOperatingCharacteristicsStoredBaselines(t *testing.T) {
	for i, sd := range []float64{0.005, 0.01, 0.02} {
		s := newSimulator(uint64(5300 + i))
		red, green, marginal := 0, 0, 0
		for range files() {
			f := gates.Family{Alpha: 0.05}
			for i := range 20 {
				c := s.stored(t, 10, 0, sd)
				c.ID = fmt.Sprint(i)
				f.Comparisons = append(f.Comparisons, c)
			}
			all, any := true, false
			for _, d := range judge(t, f).Comparisons {
				any = any || d.Verdict == gates.Regression
				all = all && (d.Verdict == gates.Pass || d.Verdict == gates.Improvement)
			}
			if any {
				red++
			}
			if all {
				green++
			}
			if judgeOne(t, s.stored(t, 10, math.Log(1.05), sd)).Verdict == gates.Pass {
				marginal++
			}
		}
		what := fmt.Sprintf("stored baselines, session SD %g %%: ", 100*sd)
		atMost(t, what+"files with a false alarm", red, files(), 0.05)
		atMost(t, what+"pass at the margin", marginal, files(), 0.05)
		t.Logf("%sall pass %d", what, green)
	}
}
