package gates_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/gates"
)

func advance(tb testing.TB, s gates.Sequence) gates.Progress {
	tb.Helper()
	if s.Family.Alpha == 0 {
		s.Family.Alpha = 0.05
	}
	if s.Looks == nil {
		s.Looks = fiveLooks
	}
	p, err := s.Judge()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestLooksBetween(t *testing.T) {
	tests := []struct {
		least, most int
		want        gates.Looks
	}{
		{4, 12, gates.Looks{4, 6, 8, 10, 12}},
		{5, 5, gates.Looks{5}},
		{3, 5, gates.Looks{4, 5}},
		{3, 8, gates.Looks{4, 6, 8}},
		{6, 6, gates.Looks{6}},
		{5, 6, gates.Looks{6}},
	}
	for _, tt := range tests {
		if got := gates.LooksBetween(tt.least, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("%d to %d: %v, want %v", tt.least, tt.most, got, tt.want)
		}
	}
}

// steady is quiet enough to pass at four repeats, restless is not, slow regresses.
func steady(tb testing.TB, id string, n int) gates.Comparison {
	tb.Helper()
	return comparison(tb, id, ratios(1, slices.Repeat([]float64{1.001, 0.999}, 6)[:n]...))
}

func restless(tb testing.TB, id string, n int) gates.Comparison {
	tb.Helper()
	return comparison(tb, id, ratios(1, slices.Repeat([]float64{1.06, 0.96}, 6)[:n]...))
}

func slow(tb testing.TB, id string, n int) gates.Comparison {
	tb.Helper()
	return comparison(tb, id, ratios(1, slices.Repeat([]float64{1.101, 1.099}, 6)[:n]...))
}

// shaky is never decided.
func shaky(tb testing.TB, id string, n int) gates.Comparison {
	tb.Helper()
	return comparison(tb, id, ratios(1, slices.Repeat([]float64{1.3, 0.8}, 7)[:n]...))
}

func described(c gates.Comparison) gates.Comparison {
	c.Descriptive = "a file"
	return c
}

func TestASequenceStopsWhenAllIsDecided(t *testing.T) {
	tests := map[string]struct {
		comparisons []gates.Comparison
		ended       bool
		taken       []int
		stop        bool
		next        int
		open        []string
	}{
		"before the first look":  {[]gates.Comparison{steady(t, "ttft.p99", 3)}, false, nil, false, 4, nil},
		"all pass":               {[]gates.Comparison{steady(t, "ttft.p99", 4)}, false, []int{4}, true, 0, nil},
		"a regression is enough": {[]gates.Comparison{slow(t, "ttft.p99", 4)}, false, []int{4}, true, 0, nil},
		"one waits": {[]gates.Comparison{steady(t, "ttft.p99", 5), restless(t, "ttft.p50", 5)}, false, []int{4}, false, 6,
			[]string{"ttft.p50"}},
		"later repeats need looks": {[]gates.Comparison{steady(t, "ttft.p99", 12)}, false, []int{4}, true, 0, nil},
		"the last look":            {[]gates.Comparison{restless(t, "ttft.p50", 12)}, false, []int{4, 6, 8, 10, 12}, true, 0, nil},
		"open at the last look":    {[]gates.Comparison{shaky(t, "ttft.p50", 12)}, false, []int{4, 6, 8, 10, 12}, true, 0, nil},
		"beyond the last look":     {[]gates.Comparison{shaky(t, "ttft.p50", 14)}, true, []int{4, 6, 8, 10, 12}, true, 0, nil},
		"a described one does not wait": {[]gates.Comparison{steady(t, "ttft.p99", 4), described(shaky(t, "ttft.p50", 4))}, false, []int{4}, true,
			0, nil},
		"ended between looks":    {[]gates.Comparison{restless(t, "ttft.p50", 7)}, true, []int{4, 6, 7}, true, 0, nil},
		"ended before the first": {[]gates.Comparison{slow(t, "ttft.p99", 3)}, true, []int{3}, true, 0, nil},
		"ended with nothing":     {[]gates.Comparison{slow(t, "ttft.p99", 0)}, true, nil, true, 0, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := advance(t, gates.Sequence{Family: gates.Family{Comparisons: tt.comparisons}, Ended: tt.ended})
			if !slices.Equal(p.Taken, tt.taken) || p.Stop != tt.stop || p.Next != tt.next || !slices.Equal(p.Open, tt.open) {
				t.Errorf("taken %v, stop %v, next %d, open %v", p.Taken, p.Stop, p.Next, p.Open)
			}
			if p.Stop && len(p.Judgement.Comparisons) != len(tt.comparisons) {
				t.Errorf("%d decisions", len(p.Judgement.Comparisons))
			}
		})
	}
}

func TestTheFirstCrossingIsFinal(t *testing.T) {
	// Four repeats of +10 %, then the machine calms down; another metric keeps it going.
	turning := comparison(t, "ttft.p99", ratios(1, 1.101, 1.099, 1.10, 1.10, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90))
	p := advance(t, gates.Sequence{Family: gates.Family{Comparisons: []gates.Comparison{turning, restless(t, "ttft.p50", 12)}}})
	d := p.Judgement.Comparisons[0]
	if d.Verdict != gates.Regression || lookOf(d) != 4 || d.N != 4 || math.Abs(d.Difference.Change-0.10) > 0.001 {
		t.Errorf("%s at look %d with n = %d and %+.3f: %s", d.Verdict, lookOf(d), d.N, d.Difference.Change, d.Reason)
	}
	if d.Look.Later == nil || d.Look.Later.N != 12 || d.Look.Later.Change > 0 {
		t.Errorf("later data are not shown: %+v", d.Look.Later)
	}
	all := judge(t, gates.Family{PassAlpha: fiveLooks.Last(0.05, 1), Comparisons: []gates.Comparison{turning}}).Comparisons[0]
	if diff := cmp.Diff(all.Outcome.Interval.Upper, d.Look.Later.Interval.Upper); diff != "" {
		t.Errorf("the interval of later data has not the level of the last look: %s", diff)
	}
	if open := p.Judgement.Comparisons[1]; open.Look.Later != nil {
		t.Errorf("there are no later data: %+v", open.Look.Later)
	}
	first, last := fiveLooks.Level(0, 0.05, 2), fiveLooks.Last(0.05, 2)
	if d.Level != first || d.GroupSize != 2 || d.Outcome.Confidence != 1-2*first {
		t.Errorf("level %g in a group of %d, confidence %g", d.Level, d.GroupSize, d.Outcome.Confidence)
	}
	if o := p.Judgement.Comparisons[1].Outcome; o.PHolm != o.P {
		t.Errorf("a regression of an earlier look has not passed its level on: p = %g, adjusted %g", o.P, o.PHolm)
	}
	if g := p.Judgement.Groups[0]; g.Alpha != 0.05 || g.Level != last {
		t.Errorf("%+v", g)
	}
	if len(d.Warnings) != 0 {
		t.Errorf("warnings: %q", d.Warnings)
	}
}

// TestEarlierLooksPassTheirLevelOn: a comparison that was rejected at an earlier look leaves the family, so that the others
// are corrected among themselves. This holds for each test and in both directions.
func TestEarlierLooksPassTheirLevelOn(t *testing.T) {
	for _, test := range []*gates.Test{gates.PairedTTest, gates.MaxT} {
		for _, direction := range []float64{1, -1} {
			pairs := func(d ...float64) []gates.Pair {
				for i := range d {
					d[i] = math.Exp(direction * d[i])
				}
				return ratios(1, d...)
			}
			turning := comparison(t, "ttft.p99", pairs(0.10, 0.11, 0.09, 0.10, 0.12, 0.08, 0.10, 0.11, -0.9, -0.8))
			waiting := comparison(t, "ttft.p50", pairs(0.10, -0.07, 0.09, -0.06, 0.12, 0.08, -0.05, 0.11, 0.09, 0.10))
			waiting.Margin = 0.001 // which it neither reaches nor excludes
			third := comparison(t, "ttft.p90", pairs(0.10, -0.10, 0.11, -0.10, 0.12, -0.12, 0.09, -0.09, 0.11, -0.10))
			f := gates.Family{Alpha: 0.05}
			for _, c := range []gates.Comparison{turning, waiting, third} {
				f.Comparisons = append(f.Comparisons, byTest(c, test))
			}
			p := advance(t, gates.Sequence{Family: f, Looks: gates.Looks{8, 10}})
			if d := p.Judgement.Comparisons[0]; lookOf(d) != 8 || p.Judgement.Groups[0].Level != (gates.Looks{8, 10}).Last(0.05, 3) {
				t.Fatalf("%s, %g: %s at look %d, %+v", test, direction, d.Verdict, lookOf(d), p.Judgement.Groups)
			}
			f.Comparisons = f.Comparisons[1:]
			alone := judge(t, f).Comparisons[0].Outcome
			got := p.Judgement.Comparisons[1].Outcome
			if got.PHolm != alone.PHolm && direction > 0 || got.PBetterHolm != alone.PBetterHolm && direction < 0 {
				// max-T corrects the rest among themselves, but keeps the part of the level of all.
				t.Errorf("%s, %g: adjusted %g and %g, want %g and %g", test, direction, got.PHolm, got.PBetterHolm, alone.PHolm, alone.PBetterHolm)
			}
		}
	}
}

func TestLooksThatWereNotTakenDoNotCount(t *testing.T) {
	turning := comparison(t, "ttft.p99", ratios(1, 1.101, 1.099, 1.10, 1.10, 0.90, 0.90, 0.90, 0.90))
	p := advance(t, gates.Sequence{Family: gates.Family{Comparisons: []gates.Comparison{turning}}, Taken: []int{8}, Ended: true})
	if d := p.Judgement.Comparisons[0]; d.Verdict != gates.Inconclusive || lookOf(d) != 8 || !slices.Equal(p.Taken, []int{8}) {
		t.Errorf("%s at look %d, taken %v", d.Verdict, lookOf(d), p.Taken)
	}
}

func TestAFinalPassIsTakenBackByFailures(t *testing.T) {
	f := gates.Family{
		Comparisons: []gates.Comparison{steady(t, "ttft.p99", 8), restless(t, "ttft.p50", 8)},
		Success: []gates.Success{{ID: "success", Gate: "gate.g", CanFail: true, Metrics: []string{"ttft.p99"},
			Base: side(0, 0, 0, 0, 0, 0, 0, 0), Head: side(0, 0, 0, 0, 0, -1, -1, 0)}},
	}
	p := advance(t, gates.Sequence{Family: f, Ended: true})
	d, s := p.Judgement.Comparisons[0], p.Judgement.Success[0]
	if s.Verdict != gates.Inconclusive || lookOf(s) != 8 {
		t.Errorf("success: %s at look %d", s.Verdict, lookOf(s))
	}
	if d.Verdict != gates.Inconclusive || !strings.Contains(d.Reason, "never looks like a speed-up") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

func TestACrashAsksForAnotherLook(t *testing.T) {
	f := gates.Family{
		Comparisons: []gates.Comparison{steady(t, "ttft.p99", 4)},
		Success:     []gates.Success{{ID: "success", Gate: "gate.g", CanFail: true, Base: side(0, 0, 0, 0), Head: side(0, 0, -1, 0)}},
	}
	p := advance(t, gates.Sequence{Family: f})
	if p.Stop || p.Next != 6 || !slices.Equal(p.Open, []string{"success"}) {
		t.Errorf("stop %v, next %d, open %v", p.Stop, p.Next, p.Open)
	}
}

// TestLostRequestsWaitForTheirRepeats: success rates that repeats can still decide are not invalid before the end.
func TestLostRequestsWaitForTheirRepeats(t *testing.T) {
	f := gates.Family{Success: []gates.Success{{ID: "success", Gate: "gate.g", CanFail: true, Base: side(0, 0), Head: side(40, 50)}}}
	s := gates.Sequence{Family: f, Looks: gates.Looks{2, 4}}
	if p := advance(t, s); p.Stop || p.Judgement.Success[0].Verdict != gates.Inconclusive {
		t.Errorf("stop %v: %+v", p.Stop, p.Judgement.Success[0])
	}
	s.Ended = true
	if p := advance(t, s); p.Judgement.Success[0].Verdict != gates.Invalid {
		t.Errorf("at the end: %+v", p.Judgement.Success[0])
	}
}

// TestUnpairedRunsOfTheBaseAreThere: the runs of a stored base are no repeats of the session, and all of them count at each look.
func TestUnpairedRunsOfTheBaseAreThere(t *testing.T) {
	for _, tt := range []struct {
		unpaired       bool
		repeats, looks int
		base           int
	}{{true, 3, 0, 0}, {true, 5, 1, 9}, {false, 5, 1, 4}} {
		s := gates.Success{ID: "success", Gate: "gate.g", CanFail: true, Unpaired: tt.unpaired, Base: side(0, 0, 0, 0, 0, 0, 0, 0, 0),
			Head: side(0, 0, 0, 0, 0)[:tt.repeats]}
		if !tt.unpaired {
			s.Base = s.Base[:5]
		}
		p := advance(t, gates.Sequence{Family: gates.Family{Success: []gates.Success{s}}})
		if len(p.Taken) != tt.looks || tt.looks > 0 && p.Judgement.Success[0].Requests.Base.Runs != tt.base {
			t.Errorf("unpaired %v, %d repeats: looks %v, %+v", tt.unpaired, tt.repeats, p.Taken, p.Judgement.Success)
		}
	}
}

// TestLaterVoidRunsAreNotCounted: a look sees the void runs of its repeats.
func TestLaterVoidRunsAreNotCounted(t *testing.T) {
	head, base := steady(t, "ttft.p99", 6), slow(t, "ttft.p50", 6)
	head.Voided = []gates.Pair{{2, 1, 1.3}, {6, 1, 1.3}}
	base.VoidedBase = []gates.Pair{{2, 1.3, 1.1}, {6, 1.3, 1.1}}
	p := advance(t, gates.Sequence{Family: gates.Family{Comparisons: []gates.Comparison{head, base}}, Taken: []int{4}})
	for _, d := range p.Judgement.Comparisons {
		if d.Verdict != gates.Inconclusive || !strings.Contains(d.Reason, "were void in 1 repeat ") {
			t.Errorf("%s: %s", d.Verdict, d.Reason)
		}
	}
}

// TestSessionsAloneAreJudged: a stored baseline needs no repeat of its own.
func TestSessionsAloneAreJudged(t *testing.T) {
	f := gates.Family{Comparisons: []gates.Comparison{newSimulator(52).stored(0, 12, math.Log(1.2), 0.01)}}
	if d := advance(t, gates.Sequence{Family: f, Ended: true}).Judgement.Comparisons[0]; d.Verdict != gates.Regression {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
	f.Comparisons[0].Missing = "no baseline"
	f.Comparisons = append(f.Comparisons, shaky(t, "ttft.p50", 4))
	if d := advance(t, gates.Sequence{Family: f}).Judgement.Comparisons[0]; d.Reason != "no baseline" {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

func TestASequenceIsRefused(t *testing.T) {
	valid := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{steady(t, "ttft.p99", 4)}}
	for name, s := range map[string]gates.Sequence{
		"no looks":        {Family: valid},
		"falling looks":   {Family: valid, Looks: gates.Looks{6, 4}},
		"zero":            {Family: valid, Looks: gates.Looks{0, 4}},
		"wrong family":    {Looks: fiveLooks},
		"looks unplanned": {Family: valid, Looks: gates.Looks{4}, Taken: []int{4, 6}},
		"taken twice":     {Family: valid, Looks: fiveLooks, Taken: []int{4, 4}},
	} {
		if _, err := s.Judge(); err == nil {
			t.Errorf("%s: judged", name)
		}
	}
}

// Judging with more data never changes what was decided, so a stored sequence repeats its
// verdicts.
func TestPropertyDecisionsStand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := gates.Family{Alpha: 0.05}
		for _, id := range []string{"ttft.p99", "tpot.mean", "output_throughput.mean"} {
			shift := float64(rapid.IntRange(-120, 120).Draw(rt, "shift")) / 1000
			var pairs []gates.Pair
			for k := range 12 {
				noise := float64(rapid.IntRange(-50, 50).Draw(rt, "noise")) / 1000
				pairs = append(pairs, gates.Pair{Repeat: k, Base: 1, Head: math.Exp(shift + noise)})
			}
			f.Comparisons = append(f.Comparisons, comparison(t, id, pairs))
		}
		whole := advance(t, gates.Sequence{Family: f})
		for n := 4; n <= 12; n++ {
			part := f
			part.Comparisons = slices.Clone(f.Comparisons)
			for i := range part.Comparisons {
				part.Comparisons[i].Pairs = f.Comparisons[i].Pairs[:n]
			}
			p := advance(t, gates.Sequence{Family: part})
			for i, d := range p.Judgement.Comparisons {
				if d.Verdict == gates.Inconclusive {
					continue
				}
				after := whole.Judgement.Comparisons[i]
				d.Look.Later, after.Look.Later = nil, nil
				if diff := cmp.Diff(d, after); diff != "" {
					rt.Fatalf("%s with %d repeats, then %s", d.ID, n, diff)
				}
			}
			if p.Stop && !slices.Equal(p.Taken, whole.Taken) {
				rt.Fatalf("stopped after %v with %d repeats, after %v with all", p.Taken, n, whole.Taken)
			}
		}
	})
}

// One look is a family judged once.
func TestPropertyOneLookIsAJudgement(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFamily(t, rt)
		n := 0
		for _, c := range f.Comparisons {
			n = max(n, len(c.Pairs))
		}
		for i := range f.Comparisons {
			f.Comparisons[i].Planned = n
		}
		once := judge(t, f)
		p := advance(t, gates.Sequence{Family: f, Looks: gates.Looks{n}})
		for i, d := range p.Judgement.Comparisons {
			d.Look = nil
			if diff := cmp.Diff(once.Comparisons[i], d); diff != "" {
				rt.Fatal(diff)
			}
		}
	})
}

// What makes later repeats invalid leaves a decision of an earlier look as it was.
func TestInvalidFromSparesEarlierLooks(t *testing.T) {
	s := newSimulator(77)
	decided, open := s.comparison(0, 6, 0, 0.002), s.comparison(1, 6, 0, 0.10)
	for _, c := range []*gates.Comparison{&decided, &open} {
		c.Invalid, c.InvalidFrom = "repeat 5 is void", 5
	}
	p, err := gates.Sequence{Family: gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{decided, open}},
		Looks: gates.LooksBetween(4, 6), Ended: true}.Judge()
	if err != nil {
		t.Fatal(err)
	}
	got := []gates.Verdict{p.Judgement.Comparisons[0].Verdict, p.Judgement.Comparisons[1].Verdict}
	if want := []gates.Verdict{gates.Pass, gates.Invalid}; !slices.Equal(got, want) {
		t.Errorf("verdicts are %v, want %v", got, want)
	}
	if w := p.Judgement.Comparisons[0].Warnings; len(w) != 1 || w[0] != "decided after 4 repeats, before this was seen: repeat 5 is void" {
		t.Errorf("what was seen afterwards is not said: %q", w)
	}
}

// A server that fails in a repeat which is measured again counts in that repeat.
func TestFailuresOfOneRepeatAreOneRepeat(t *testing.T) {
	s := gates.Success{ID: "s", CanFail: true}
	for r := range 4 {
		s.Base = append(s.Base, gates.Run{Repeat: r + 1, Sent: 10})
		s.Head = append(s.Head, gates.Run{Repeat: r + 1, Sent: 10})
	}
	s.Head = append(s.Head, gates.Run{Repeat: 2, ServerFailed: true}, gates.Run{Repeat: 2, ServerFailed: true})
	s.Base = append([]gates.Run{{Repeat: 3, ServerFailed: true}}, s.Base...)
	p, err := gates.Sequence{Family: gates.Family{Alpha: 0.05, Success: []gates.Success{s}}, Looks: gates.LooksBetween(4, 12)}.Judge()
	if err != nil {
		t.Fatal(err)
	}
	d := p.Judgement.Success[0]
	if !slices.Equal(p.Taken, []int{4}) || d.Verdict != gates.Invalid || d.Requests.Launches.Head != 1 || d.Requests.Launches.Base != 1 ||
		d.Requests.Launches.Repeats != 4 {
		t.Errorf("looks %v, verdict %s of %+v; want one look at 4 repeats, of which the head failed in one", p.Taken, d.Verdict,
			d.Requests.Launches)
	}
}
