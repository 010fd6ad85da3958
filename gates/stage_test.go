package gates_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

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
		if later.Verdict != first.Verdict || lookOf(later) != lookOf(first) || later.Outcome.Confidence != first.Outcome.Confidence {
			t.Errorf("%s at look %d became %s at look %d", first.Verdict, lookOf(first), later.Verdict, lookOf(later))
		}
	}
	if decided < 20 {
		t.Errorf("only %d of 200 were decided: nothing is tested", decided)
	}
}

// TestLevelsOfAddedLooks: the looks of each extension have a quarter of the level of those before it.
func TestLevelsOfAddedLooks(t *testing.T) {
	before := []gates.Looks{gates.LooksBetween(4, 6), gates.LooksBetween(4, 10)}
	now := gates.LooksBetween(4, 16)
	for n, want := range map[int]float64{
		6: before[0].Level(1, 0.05, 1), 10: before[1].Level(3, 0.05/4, 1), 16: now.Level(6, 0.05/16, 1),
	} {
		c := comparison(t, "ttft.p99", ratios(1, slices.Repeat([]float64{1.3, 0.8}, 8)[:n]...))
		if d := extended(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}, before); math.Abs(d.Level-want) > 1e-15 {
			t.Errorf("after %d repeats the level is %g, want %g", n, d.Level, want)
		}
	}
	// Data after a decision are shown at the level of the last look.
	c := comparison(t, "ttft.p99", ratios(1, 1.101, 1.099, 1.10, 1.10, 0.9, 0.9, 0.9, 0.9))
	all := judge(t, gates.Family{PassAlpha: now.Last(0.05/16, 1), Comparisons: []gates.Comparison{c}}).Comparisons[0].Outcome.Interval
	if d := extended(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}, before); d.Look.Later == nil ||
		math.Abs(d.Look.Later.Interval.Upper-all.Upper) > 1e-12 {
		t.Errorf("later data: %+v, want %+v", d.Look.Later, all)
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
