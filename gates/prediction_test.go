package gates_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

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
			if needPairs(d) != 0 {
				t.Errorf("%d repeats are advised; only sessions help", needPairs(d))
			}
			if tt.want == gates.Inconclusive && len(tt.history) >= gates.MinSessions && needSessions(d) < 2 {
				t.Errorf("%d sessions are advised", needSessions(d))
			}
		})
	}
}

func TestAShortHistoryIsNoMemberOfTheFamily(t *testing.T) {
	s := newSimulator(51)
	short := s.stored(0, 5, 0, 0.01)
	paired := comparison(t, "tpot.mean", ratios(1, 1.1, 1.11, 1.09))
	j := judge(t, gates.Family{Comparisons: []gates.Comparison{short, paired}})
	if d := j.Comparisons[1]; d.GroupSize != 1 {
		t.Errorf("a group of %d", d.GroupSize)
	}
	j = judge(t, gates.Family{Comparisons: []gates.Comparison{s.stored(0, gates.MinSessions, 0, 0.01), paired}})
	if d := j.Comparisons[1]; d.GroupSize != 2 {
		t.Errorf("a group of %d with a history of %d sessions", d.GroupSize, gates.MinSessions)
	}
}

func TestSessionsAreJudgedOnceWhenTheSequenceEnds(t *testing.T) {
	s := newSimulator(52)
	f := gates.Family{Comparisons: []gates.Comparison{s.stored(0, 12, math.Log(1.2), 0.01), restless(t, "ttft.p50", 6)}}
	p := advance(t, gates.Sequence{Family: f})
	if d := p.Judgement.Comparisons[0]; p.Stop || d.Verdict != gates.Missing || !strings.Contains(d.Reason, "when the session ends") {
		t.Errorf("stop %v: %s: %s", p.Stop, d.Verdict, d.Reason)
	}
	p = advance(t, gates.Sequence{Family: f, Ended: true})
	d := p.Judgement.Comparisons[0]
	if d.Verdict != gates.Regression || d.Outcome.Confidence != 1-2*0.05 || lookOf(d) != 6 {
		t.Errorf("%s with confidence %g at look %d: %s", d.Verdict, d.Outcome.Confidence, lookOf(d), d.Reason)
	}
	// Its level is that of one look, 0.05/2, said on the scale of the looks' 0.0125.
	if want := min(1, 2*d.Outcome.P*d.Level/0.05); math.Abs(d.Outcome.PHolm-want) > 1e-15 {
		t.Errorf("p = %g, adjusted %g, want %g", d.Outcome.P, d.Outcome.PHolm, want)
	}
	warned := f
	warned.Comparisons = slices.Clone(f.Comparisons)
	warned.Comparisons[0].CanFail = false
	if d := advance(t, gates.Sequence{Family: warned, Ended: true}).Judgement.Comparisons[0]; d.Level != 0.05 {
		t.Errorf("outside of the family it has the level %g of a look", d.Level)
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
		k, ok := gates.NeedSessions(effect, sd, h, alpha)
		if !ok {
			t.Errorf("%g: no number is enough", effect)
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
	if k, ok := gates.NeedSessions(0.01, sd, 10, alpha); ok {
		t.Errorf("%d sessions are enough against a history that is too short", k)
	}
}

// Launches that spread far more than the sessions of a history make it too quiet to judge them; what spreads as they do
// is judged.
func TestLaunchesThatSpreadMoreThanTheHistory(t *testing.T) {
	history := []float64{1, 1.01, 0.99, 1.005, 0.995, 1, 1.01, 0.99, 1.008, 0.992}
	for name, tt := range map[string]struct {
		launches []float64
		want     gates.Verdict
		reason   string
	}{
		"as quiet":      {[]float64{1.10, 1.11, 1.09, 1.10}, gates.Regression, ""},
		"short":         {[]float64{0.90, 1.35, 1.00, 1.18}, gates.Inconclusive, "9 of the 10 sessions"},
		"restless":      {[]float64{0.90, 1.35, 1.00, 1.18}, gates.Inconclusive, "noisier than it was"},
		"not known":     {nil, gates.Regression, ""},
		"a single one":  {[]float64{1.10}, gates.Regression, ""},
		"all identical": {[]float64{1.10, 1.10, 1.10, 1.10}, gates.Regression, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := comparison(t, "ttft.p99", nil)
			c.Test, c.Planned, c.Unpaired = gates.Prediction, 0, &gates.Samples{Base: history, Head: []float64{1.10}, Launches: tt.launches}
			if name == "short" {
				c.Unpaired.Base = history[:9]
			}
			if d := judgeOne(t, c); d.Verdict != tt.want || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("%s: %s, want %s: …%s…", d.Verdict, d.Reason, tt.want, tt.reason)
			}
		})
	}
}

// TestErrorsOfASession: the wider of the errors that its history and its own launches show counts, in bounds and p values.
func TestErrorsOfASession(t *testing.T) {
	history := []float64{1, 1.01, 0.99, 1.005, 0.995, 1, 1.01, 0.99, 1.008, 0.992}
	of := func(history, head, launches []float64) *gates.Outcome {
		c := comparison(t, "ttft.p99", nil)
		c.Test, c.Planned, c.Unpaired = gates.Prediction, 0, &gates.Samples{Base: history, Head: head, Launches: launches}
		return judgeOne(t, c).Outcome
	}
	one := []float64{1.02}
	alone, quiet := of(history, one, nil), of(history, one, []float64{1.02, 1.021, 1.019, 1.02})
	noisy := of(history, one, []float64{1.01, 1.03, 1.02})
	if quiet.SE != alone.SE || quiet.P < alone.P || noisy.P <= alone.P || noisy.Interval.Upper <= alone.Interval.Upper {
		t.Errorf("alone %+v, with quiet launches %+v, with noisy ones %+v", alone, quiet, noisy)
	}
	wave := []float64{0.96, 0.97, 0.98, 0.99, 1.00, 1.01, 1.02, 1.03, 1.04, 1.05}
	if two := of(wave, []float64{1.02, 1.03}, nil); two.DF != 9 {
		t.Errorf("two sessions have %g degrees of freedom", two.DF)
	}
	if short := of(wave[:3], one, nil); short.SE > 0.0125 { // 0.0103·√(1 + 1/3)
		t.Errorf("three sessions have a correlation: %+v", short)
	}
}

// Sessions that follow each other closely say less of the next one than independent ones, and the decision says so.
func TestCorrelatedSessionsWidenTheInterval(t *testing.T) {
	width := func(history []float64) (float64, string) {
		c := comparison(t, "ttft.p99", nil)
		c.Test, c.Planned, c.Unpaired = gates.Prediction, 0, &gates.Samples{Base: history, Head: []float64{1.02}}
		d := judgeOne(t, c)
		return d.Outcome.Interval.Upper - d.Outcome.Interval.Lower, strings.Join(d.Warnings, "; ")
	}
	mixed, quiet := width([]float64{0.96, 1.05, 0.98, 1.03, 0.97, 1.04, 1.00, 1.01, 0.99, 1.02})
	wave, told := width([]float64{0.96, 0.97, 0.98, 0.99, 1.00, 1.01, 1.02, 1.03, 1.04, 1.05})
	// The logarithms have r = 0.09 and 0.25; corrected (10·r + 1)/7.
	_, little := width([]float64{0.96, 1.0, 0.98, 1.05, 1.04, 0.97, 0.98, 1.01, 1.02, 1.03})
	_, half := width([]float64{1.05, 1.02, 1.01, 0.96, 0.98, 0.97, 0.98, 1.04, 1.0, 1.03})
	if strings.Contains(little, "correlated") || !strings.Contains(half, "about 0.5") {
		t.Errorf("correlations of 0.3 and 0.5: %q and %q", little, half)
	}
	if wave <= mixed || strings.Contains(quiet, "correlated") || !strings.Contains(told, "correlated") {
		t.Errorf("independent: %.3f, %q; correlated: %.3f, %q", mixed, quiet, wave, told)
	}
}
