package gates_test

import (
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// The operating characteristics: which files are simulated, what is counted of them and
// what is promised. Each chart is a table of docs/evidence/error-rates.md.
func characteristics() []chart {
	return slices.Concat([]chart{
		falseAlarms(), atTheMargin(), slowDowns(), curve(), quietFiles(),
		failuresOfBoth(), failuresOfTheHead(), storedBaselines(), addedRepeats(), spentBudgets(), otherNoise(), otherValues(),
		oneSided(), namedSpreads(), stricterPasses(), otherTests(), moderatedCells(),
		coverage(), drift(), ordersOfSides(), cycles(), knownSpreads(), knownSavings(),
		speedUps(), evaluations(), familiesOfQuestions(), culprits(), besideTheModel(), answers(),
		costs(), residents(), machines(), savings(),
	}, capacities(), []chart{capacitiesCompared()})
}

var fiveLooks = gates.LooksBetween(4, 12)

// What is counted, in percent of the files.
func isRed(e ending) bool       { return e.any(gates.Regression) }
func isBetter(e ending) bool    { return e.any(gates.Improvement) }
func isGreen(e ending) bool     { return e.green() }
func isFound(e ending) bool     { return e.first().Verdict == gates.Regression }
func isUndecided(e ending) bool { return e.first().Verdict == gates.Inconclusive }
func isPassed(e ending) bool {
	return e.first().Verdict == gates.Pass || e.first().Verdict == gates.Improvement
}

func falseAlarms() chart {
	c := chart{
		title: "**False alarms**: files of 20 metrics without a change in which any is called a regression, or an improvement. CV is that of " +
			"a run, %.",
		columns: []string{"20 metrics in", "CV 1 %", "CV 2 %", "CV 3 %", "CV 5 %"},
	}
	var better []line
	for _, inGates := range []int{1, 2, 4} {
		red, improved := line{label: plural(inGates, "gate") + ", regression"}, line{label: plural(inGates, "gate") + ", improvement"}
		for _, cv := range []float64{0.01, 0.02, 0.03, 0.05} {
			sc := looked(fmt.Sprintf("A/A, CV %g, %d gates", cv, inGates), func(s *simulator) gates.Family {
				return s.quiet(20, inGates, math.Sqrt2*cv)
			})
			red.cells = append(red.cells, cell{sc, isRed, atMostPercent(5)})
			improved.cells = append(improved.cells, cell{sc, isBetter, atMostPercent(5)})
		}
		c.lines, better = append(c.lines, red), append(better, improved)
	}
	c.lines = append(c.lines, better...)
	return c
}

// A comparison exactly at the margin, alone or among others that are far from it.
func atTheMargin() chart {
	c := chart{
		title:   "**Green with one comparison exactly at its margin of 5 %**, % of files. SD is that of ln(head/base) over pairs.",
		columns: []string{"other comparisons", "SD 1 %", "SD 2 %", "SD 3 %"},
	}
	for _, others := range []int{0, 4} {
		l := line{label: fmt.Sprint(others)}
		for _, sd := range []float64{0.01, 0.02, 0.03} {
			sc := looked(fmt.Sprintf("at the margin, SD %g, %d others", sd, others), func(s *simulator) gates.Family {
				f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, 12, math.Log(1.05), sd)}}
				for i := range others {
					f.Comparisons = append(f.Comparisons, s.comparison(1+i, 12, 0, 0.002))
				}
				return f
			})
			l.cells = append(l.cells, cell{sc, isGreen, atMostPercent(5)})
		}
		c.lines = append(c.lines, l)
	}
	return c
}

func slowDowns() chart {
	c := chart{
		title:   "**Slow-downs that are found**, SD of pairs 2 %, margin 5 %.",
		columns: []string{"true change", "called a regression, %", "mean pairs"},
	}
	for _, tt := range []struct {
		change, least, pairs float64
		members              int
	}{{0.08, 95, 5, 1}, {0.10, 99, 5, 1}, {0.08, 95, 7, 20}, {0.10, 99, 7, 20}} {
		label := percent(tt.change) + " of one metric"
		if tt.members > 1 {
			label += fmt.Sprintf(" of %d", tt.members)
		}
		sc := looked("slow-down, "+label, func(s *simulator) gates.Family {
			f := s.quiet(tt.members-1, 1, 0.02)
			f.Comparisons = append([]gates.Comparison{s.comparison(tt.members, 12, math.Log1p(tt.change), 0.02)}, f.Comparisons...)
			return f
		})
		c.lines = append(c.lines, line{label, []cell{{sc, isFound, atLeastPercent(tt.least)}, {sc, nil, bound{most: tt.pairs}}}})
	}
	return c
}

// What is printed and promises nothing: verdicts by true change.
func curve() chart {
	c := chart{
		title:   "**The curve**: verdicts on one metric by its true change, SD of pairs 2 %, margin 5 %, % of files.",
		columns: []string{"true change", "regression", "inconclusive", "pass or improvement", "mean pairs"},
	}
	for _, change := range []float64{0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10} {
		label := percent(change)
		sc := looked("curve, "+label, func(s *simulator) gates.Family {
			return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, 12, math.Log1p(change), 0.02)}}
		})
		c.lines = append(c.lines, line{label, []cell{{sc, isFound, bound{}}, {sc, isUndecided, bound{}}, {sc, isPassed, bound{}},
			{sc, nil, bound{}}}})
	}
	return c
}

func quietFiles() chart {
	c := chart{
		title:   "**Equal files that pass**: all of 20 metrics without a change, margin 5 %.",
		columns: []string{"SD of pairs", "all pass, %", "mean pairs"},
	}
	for _, tt := range []struct{ sd, least, pairs float64 }{{0.02, 99, 7}, {0.03, 93, 0}, {0.04, 0, 0}, {0.07, 0, 0}} {
		label := percent(tt.sd)
		sc := looked("quiet, "+label, func(s *simulator) gates.Family { return s.quiet(20, 1, tt.sd) })
		c.lines = append(c.lines, line{label, []cell{{sc, isGreen, atLeastPercent(tt.least)}, {sc, nil, bound{most: tt.pairs}}}})
	}
	return c
}

// troubles are what befalls a side: the failed requests of a run of 200, and whether its
// server fails in a launch.
type troubles struct {
	requests func(s *simulator) int
	crashes  float64
}

// bursts are runs that lose 10 requests at once.
func bursts(share float64) func(*simulator) int {
	return func(s *simulator) int {
		if s.rng.Float64() < share {
			return 10
		}
		return 0
	}
}

// scattered are requests that fail one by one.
func scattered(share float64) func(*simulator) int {
	return func(s *simulator) int {
		failed := 0
		for range 200 {
			if s.rng.Float64() < share {
				failed++
			}
		}
		return failed
	}
}

// troubled is a file of 5 cells without a change of its one metric, in which something
// befalls each side.
func (s *simulator) troubled(base, head troubles) gates.Family {
	f := s.quiet(5, 1, 0.02)
	for i := range f.Comparisons {
		f.Success = append(f.Success, gates.Success{ID: fmt.Sprint("success ", i), Gate: "gate.g", CanFail: true,
			Metrics: []string{f.Comparisons[i].ID}})
	}
	for repeat := range 12 {
		dead := [2]bool{s.rng.Float64() < base.crashes, s.rng.Float64() < head.crashes}
		for i := range f.Success {
			success := &f.Success[i]
			for k, side := range []troubles{base, head} {
				r := gates.Run{Repeat: repeat, Sent: 200, ServerFailed: dead[k]}
				if side.requests != nil {
					r.Failed = side.requests(s)
				}
				if k == 0 {
					success.Base = append(success.Base, r)
				} else {
					success.Head = append(success.Head, r)
				}
			}
			if dead[0] || dead[1] {
				c := &f.Comparisons[i]
				c.Pairs = slices.DeleteFunc(c.Pairs, func(p gates.Pair) bool { return p.Repeat == repeat })
			}
		}
	}
	return f
}

// isFailing reports whether any comparison, of values or of failures, is a regression.
func isFailing(e ending) bool {
	return isRed(e) || slices.ContainsFunc(e.Success, func(d gates.Decision) bool { return d.Verdict == gates.Regression })
}

func failuresOfBoth() chart {
	c := chart{
		title:   "**Failures of equal sides**: files of 5 cells without a change in which any comparison is called a regression, % of files.",
		columns: []string{"on both sides", "regression"},
	}
	for _, tt := range []struct {
		label string
		both  troubles
	}{
		{"10 of 200 requests lost in 2 % of runs", troubles{requests: bursts(0.02)}},
		{"10 of 200 requests lost in 5 % of runs", troubles{requests: bursts(0.05)}},
		{"10 of 200 requests lost in 10 % of runs", troubles{requests: bursts(0.10)}},
		{"10 of 200 requests lost in 50 % of runs", troubles{requests: bursts(0.50)}},
		{"1 % of requests lost", troubles{requests: scattered(0.01)}},
		{"a crash in 5 % of launches", troubles{crashes: 0.05}},
		{"a crash in 10 % of launches", troubles{crashes: 0.10}},
		{"a crash in 20 % of launches", troubles{crashes: 0.20}},
		{"a crash in 50 % of launches", troubles{crashes: 0.50}},
		{"a crash in 10 % of launches, and 10 of 200 requests lost in 10 % of runs", troubles{bursts(0.10), 0.10}},
	} {
		sc := looked("both fail, "+tt.label, func(s *simulator) gates.Family { return s.troubled(tt.both, tt.both) })
		c.lines = append(c.lines, line{tt.label, []cell{{sc, isFailing, atMostPercent(5)}}})
	}
	return c
}

func failuresOfTheHead() chart {
	c := chart{
		title:   "**Failures of the head**: the same files where the head alone fails, or more often than a base that loses 1 % of its requests.",
		columns: []string{"on the head", "called a regression, %", "mean pairs"},
	}
	for _, tt := range []struct {
		label      string
		base, head troubles
		least      float64
	}{
		{"1 % of requests lost", troubles{}, troubles{requests: scattered(0.01)}, 99},
		{"3 % of requests lost, 1 % on the base", troubles{requests: scattered(0.01)}, troubles{requests: scattered(0.03)}, 99},
		{"10 of 200 requests lost in half of the runs", troubles{}, troubles{requests: bursts(0.5)}, 0},
		{"never starts", troubles{}, troubles{crashes: 1}, 100},
		{"a crash in three of four launches", troubles{}, troubles{crashes: 0.75}, 0},
		{"a crash in half of the launches", troubles{}, troubles{crashes: 0.5}, 0},
	} {
		sc := looked("head fails, "+tt.label, func(s *simulator) gates.Family { return s.troubled(tt.base, tt.head) })
		c.lines = append(c.lines, line{tt.label, []cell{{sc, isFailing, atLeastPercent(tt.least)}, {sc, nil, bound{}}}})
	}
	return c
}

func storedBaselines() chart {
	c := chart{
		title: "**Stored baselines**: one session of 4 launches against 10 of the history, % of files. Sessions are correlated with those " +
			"before them, or launches spread, today by some times as much as they did.",
		columns: []string{"sessions", "20 metrics without a change: false alarm", "one metric at the margin: pass",
			"20 metrics without a change: all pass", "one metric, 10 % slower: found"},
	}
	for _, tt := range []struct {
		label string
		nights
	}{
		{"SD 0.5 %", nights{sessions: 0.005}},
		{"SD 1 %", nights{sessions: 0.01}},
		{"SD 2 %", nights{sessions: 0.02}},
		{"SD 2 %, correlated by 0.3", nights{sessions: 0.02, correlated: 0.3}},
		{"SD 2 %, correlated by 0.5", nights{sessions: 0.02, correlated: 0.5}},
		{"SD 2 %, correlated by 0.7", nights{sessions: 0.02, correlated: 0.7}},
		{"SD 1 %, correlated by 0.7", nights{sessions: 0.01, correlated: 0.7}},
		{"SD 2 %, correlated by 0.9", nights{sessions: 0.02, correlated: 0.9}},
		{"SD of launches 4 %", nights{launches: 0.04, today: 1}},
		{"SD of launches 4 %, today twice that", nights{launches: 0.04, today: 2}},
		{"SD of launches 4 %, today three times that", nights{launches: 0.04, today: 3}},
		{"SD of sessions 1.4 %, of launches 2.8 %, today three times that of launches", nights{sessions: 0.014, launches: 0.028, today: 3}},
	} {
		sc := func(what string, members int, shift float64) *scenario {
			return once("stored, "+what+", "+tt.label, func(s *simulator) gates.Family {
				f := gates.Family{Alpha: 0.05}
				for i := range members {
					f.Comparisons = append(f.Comparisons, s.againstNights(i, 10, shift, tt.nights))
				}
				return f
			})
		}
		same := sc("no change", 20, 0)
		c.lines = append(c.lines, line{tt.label, []cell{{same, isRed, atMostPercent(5)}, {sc("at the margin", 1, math.Log(1.05)), isPassed,
			atMostPercent(5)}, {same, isGreen, bound{}}, {sc("10 % slower", 1, math.Log(1.10)), isFound, bound{}}}})
	}
	return c
}

// nights are sessions of a history: by how much they spread, how much each is correlated with the one before, by how
// much their launches spread, and by how many times as much today.
type nights struct{ sessions, correlated, launches, today float64 }

// againstNights is a comparison of one session of 4 launches with a history of h.
func (s *simulator) againstNights(i, h int, shift float64, of nights) gates.Comparison {
	const launches = 4
	c := s.comparison(i, 0, 0, 0)
	c.Test, c.Planned, c.Unpaired = gates.Prediction, 1, &gates.Samples{}
	night := 0.0
	for k := range h + 1 {
		fresh := s.rng.NormFloat64()
		if night = of.correlated*night + math.Sqrt(1-of.correlated*of.correlated)*fresh; k == 0 {
			night = fresh
		}
		mean, spread := 0.0, of.launches
		if k == h {
			spread, mean = of.launches*of.today, shift
		}
		mean += of.sessions * night
		values, sum := make([]float64, launches), 0.0
		for l := range values {
			values[l] = mean + spread*s.rng.NormFloat64()
			sum += values[l]
			values[l] = math.Exp(worseIs(c.Metric) * values[l])
		}
		session := math.Exp(worseIs(c.Metric) * sum / launches)
		if k < h {
			c.Unpaired.Base = append(c.Unpaired.Base, session)
		} else {
			c.Unpaired.Head, c.Unpaired.Launches = []float64{session}, values
		}
	}
	return c
}

// A sequence that is given more repeats because it is undecided, once or twice.
func addedRepeats() chart {
	c := chart{
		title:   "**Repeats added to an undecided session**, one metric, judged up to 16 repeats in the end, % of files.",
		columns: []string{"planned before", "SD 2 %, at the margin: pass", "SD 10 %, at the margin: pass", "SD 10 %, no change: regression"},
	}
	for _, before := range [][]gates.Looks{{gates.LooksBetween(4, 12)}, {gates.LooksBetween(4, 6), gates.LooksBetween(4, 10)}} {
		label := "4 to 12"
		if len(before) > 1 {
			label = "4 to 6, then to 10"
		}
		sc := func(shift, sd float64) *scenario {
			return inStages(fmt.Sprintf("a quarter added to %s, SD %g, shift %.3f", label, sd, shift), func(s *simulator) gates.Sequence {
				f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, 16, shift, sd)}}
				return gates.Sequence{Family: f, Looks: gates.LooksBetween(4, 16), Before: before}
			})
		}
		margin := math.Log(1.05)
		c.lines = append(c.lines, line{label, []cell{{sc(margin, 0.02), isPassed, atMostPercent(5)},
			{sc(margin, 0.10), isPassed, atMostPercent(5)}, {sc(0, 0.10), isRed, atMostPercent(5)}}})
	}
	return c
}

// A session whose budget is spent between looks, and that somebody goes on with each time: what any of
// its stops calls wrong is wrong. It is judged at its planned looks alone, so that each stop has the
// verdict of the look before (TestAResumableSequenceIsJudgedAtItsLooks).
func spentBudgets() chart {
	c := chart{
		title: "**A budget that is spent between looks**, after 5 and after 9 repeats, with `--resume` and a larger one each time: one " +
			"metric, % of files that any of the three ends gets wrong.",
		columns: []string{"planned looks", "SD 2 %, at the margin: pass", "SD 10 %, at the margin: pass", "SD 10 %, no change: regression"},
	}
	sc := func(shift, sd float64, wrong func(ending) bool) *scenario {
		return &scenario{fmt.Sprintf("resumed, SD %g, shift %.3f", sd, shift), func(s *simulator) (ending, error) {
			all := s.comparison(0, 12, shift, sd)
			var end ending
			for _, n := range []int{5, 9, 12} {
				c := all
				c.Pairs = all.Pairs[:n]
				p, err := gates.Sequence{Family: gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}, Looks: fiveLooks, Ended: true,
					Resumable: n < 12}.Judge()
				if end = (ending{Judgement: p.Judgement, pairs: n}); err != nil || wrong(end) {
					return end, err
				}
			}
			return end, nil
		}}
	}
	margin := math.Log(1.05)
	c.lines = append(c.lines, line{"4 to 12", []cell{
		{sc(margin, 0.02, isPassed), isPassed, atMostPercent(5)}, {sc(margin, 0.10, isPassed), isPassed, atMostPercent(5)},
		{sc(0, 0.10, isRed), isRed, atMostPercent(5)},
	}})
	return c
}

// noises are unit noises of a run. The metrics of one run have the draw common to all of
// them; noise of the same kind is on both sides.
var noises = []struct {
	name   string
	shared bool
	draw   func(s *simulator, common float64) float64
}{
	{"lognormal", false, func(s *simulator, _ float64) float64 { return s.rng.NormFloat64() }},
	{"correlated, ρ = 0.8", true, func(s *simulator, common float64) float64 {
		return math.Sqrt(0.8)*common + math.Sqrt(0.2)*s.rng.NormFloat64()
	}},
	{"contaminated, 5 % of runs spread 4 times as much", false, func(s *simulator, _ float64) float64 {
		if s.rng.Float64() < 0.05 {
			return 4 * s.rng.NormFloat64()
		}
		return s.rng.NormFloat64()
	}},
	{"contaminated, 5 % of runs far too slow", false, func(s *simulator, _ float64) float64 {
		if s.rng.Float64() < 0.05 {
			return 4 * math.Abs(s.rng.NormFloat64())
		}
		return s.rng.NormFloat64()
	}},
}

func otherNoise() chart {
	c := chart{
		title: "**Other noise**, 20 metrics, of the same kind on both sides; CV apart from the contamination, % of files.",
		columns: []string{"noise of runs", "CV 5 %, no change: regression", "CV 5 %, no change: improvement",
			"CV 2 %, one at the margin: it passes"},
	}
	for _, noise := range noises {
		family := func(s *simulator, first, cv float64) gates.Family {
			f := s.quiet(20, 1, 0)
			for k := range 12 {
				base, head := s.rng.NormFloat64(), s.rng.NormFloat64()
				for i, c := range f.Comparisons {
					shift := 0.0
					if i == 0 {
						shift = first * worseIs(c.Metric)
					}
					c.Pairs[k] = gates.Pair{Repeat: k, Base: math.Exp(cv * noise.draw(s, base)), Head: math.Exp(shift + cv*noise.draw(s, head))}
				}
			}
			return f
		}
		same := looked("noise, "+noise.name, func(s *simulator) gates.Family { return family(s, 0, 0.05) })
		marginal := looked("noise at the margin, "+noise.name, func(s *simulator) gates.Family { return family(s, math.Log(1.05), 0.02) })
		c.lines = append(c.lines, line{noise.name, []cell{{same, isRed, atMostPercent(5)}, {same, isBetter, atMostPercent(5)},
			{marginal, isPassed, atMostPercent(5)}}})
	}
	return c
}

// The tests that a plan can choose in place of paired t, at the same data. Their files are
// small enough for all splits to be visited.
func otherTests() chart {
	c := chart{
		title: "**Other tests**, 5 metrics, judged once after 8 repeats, margin 5 %, % of files.",
		columns: []string{"test", "CV 5 %, no change: regression", "SD of pairs 2 %, one at the margin: it passes",
			"SD of pairs 2 %, one 10 % slower: found"},
	}
	for _, test := range everyTest {
		sc := func(shift, sd float64) *scenario {
			return once(fmt.Sprintf("%s, shift %.3f, SD %.3f", test, shift, sd), func(s *simulator) gates.Family {
				f := gates.Family{Alpha: 0.05}
				for i := range 5 {
					first := 0.0
					if i == 0 {
						first = shift
					}
					c := s.comparison(i, 8, first, sd)
					c.Test = test
					f.Comparisons = append(f.Comparisons, c)
				}
				return f
			})
		}
		passes := atMostPercent(5)
		if test == gates.PairedTTest {
			passes = bound{exactly: 5}
		}
		c.lines = append(c.lines, line{test.Name, []cell{
			{sc(0, math.Sqrt2*0.05), isRed, atMostPercent(5)}, {sc(math.Log(1.05), 0.02), isPassed, passes},
			{sc(math.Log(1.10), 0.02), isFound, bound{}},
		}})
	}
	return c
}

// Cells of one metric that share what they know of their variances: equal ones, others
// that differ, and one cell much noisier, which is the one at the margin.
func moderatedCells() chart {
	c := chart{
		title:   "**Cells that share their variance**, one metric in 12 cells, % of files.",
		columns: []string{"SD of pairs", "no change: regression", "one at the margin: it passes"},
	}
	for _, tt := range []struct {
		name string
		sd   func(s *simulator, cell int) float64
	}{
		{"2 % in all cells", func(*simulator, int) float64 { return 0.02 }},
		{"2 %, with a CV of 40 % over cells", func(s *simulator, _ int) float64 { return 0.02 * math.Exp(0.4*s.rng.NormFloat64()) }},
		{"1 %, but 3 % in the one", func(_ *simulator, cell int) float64 {
			if cell == 0 {
				return 0.03
			}
			return 0.01
		}},
	} {
		family := func(s *simulator, first float64) gates.Family {
			f := gates.Family{Alpha: 0.05, Moderate: true}
			for i := range 12 {
				c := s.comparison(0, 12, first, tt.sd(s, i))
				c.ID, first = fmt.Sprint("cell ", i), 0
				f.Comparisons = append(f.Comparisons, c)
			}
			return f
		}
		same := looked("moderated, "+tt.name, func(s *simulator) gates.Family { return family(s, 0) })
		marginal := looked("moderated at the margin, "+tt.name, func(s *simulator) gates.Family { return family(s, math.Log(1.05)) })
		c.lines = append(c.lines, line{tt.name, []cell{{same, isRed, atMostPercent(5)}, {marginal, isPassed, atMostPercent(5)}}})
	}
	return c
}

// Intervals cover the true change as often as they should. One judgement, no looks.
func coverage() chart {
	const change = 0.03
	c := chart{
		title:   "**Coverage** of 95 % intervals, true change +3 %, % of comparisons.",
		columns: []string{"noise of runs", "3 pairs", "5 pairs", "10 pairs"},
	}
	for _, noise := range noises {
		if noise.shared {
			continue // by other metrics: one comparison does not see it
		}
		l := line{label: noise.name}
		for _, n := range []int{3, 5, 10} {
			sc := once(fmt.Sprintf("coverage, %s, %d pairs", noise.name, n), func(s *simulator) gates.Family {
				c := s.comparison(0, n, 0, 0)
				c.Metric = s.lowerIsBetter()
				for k := range n {
					base, head := s.rng.NormFloat64(), s.rng.NormFloat64()
					c.Pairs[k] = gates.Pair{Repeat: k, Base: math.Exp(0.03 * noise.draw(s, base)), Head: (1 + change) * math.Exp(0.03*noise.draw(s, head))}
				}
				return gates.Family{Alpha: 0.05, PassAlpha: 0.025, Comparisons: []gates.Comparison{c}}
			})
			covers := func(e ending) bool {
				d := e.first()
				return d.Outcome.Interval.Lower <= change && change <= d.Outcome.Interval.Upper
			}
			l.cells = append(l.cells, cell{sc, covers, bound{least: 93, most: 97}})
		}
		c.lines = append(c.lines, l)
	}
	return c
}

// A machine that slows down by 4 % over the session: the sides alternate (A B, B A, …), so
// that it slows both. The test alone, without margin and looks.
func drift() chart {
	const over, cv = 0.04, 0.01
	c := chart{
		title: "**Linear drift of 4 % over the session**, CV 1 %: d ≤ 0 rejected at 5 % by the paired t-test alone, % of comparisons, in the " +
			"drawn order and in a mirrored one.",
		columns: []string{"pairs", "drawn: rejected", "mirrored: rejected"},
	}
	for _, n := range []int{4, 5, 6, 8, 10, 12} {
		sc := func(name string, order func(*simulator, int) []bool) *scenario {
			return once(fmt.Sprintf("%s, %d pairs", name, n), func(s *simulator) gates.Family {
				c := s.comparison(0, n, 0, 0)
				c.Metric = s.lowerIsBetter()
				for k, headFirst := range order(s, n) {
					base, head := drifted(2*k, n, over), drifted(2*k+1, n, over)
					if headFirst {
						base, head = head, base
					}
					c.Pairs[k] = gates.Pair{Repeat: k, Base: math.Exp(base + cv*s.rng.NormFloat64()), Head: math.Exp(head + cv*s.rng.NormFloat64())}
				}
				return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}
			})
		}
		rejected := func(e ending) bool { return e.first().Outcome.PHolm <= e.first().Level }
		drawn, mirrored := sc("drift, drawn", (*simulator).drawnOrder), sc("drift, mirrored", (*simulator).mirroredOrder)
		c.lines = append(c.lines, line{fmt.Sprint(n), []cell{{drawn, rejected, atMostPercent(7)}, {mirrored, rejected, atMostPercent(7)}}})
	}
	return c
}

// drifted is how much slower the i-th run of 2n is.
func drifted(i, n int, over float64) float64 { return over * float64(i) / float64(2*n-1) }

// quiet is a file of comparisons without a difference: in one gate, or in several that
// share alpha.
func (s *simulator) quiet(members, inGates int, sd float64) gates.Family {
	f := gates.Family{Alpha: 0.05}
	for i := range members {
		c := s.comparison(i, 12, 0, sd)
		if inGates > 1 {
			c.Gate, c.Alpha = fmt.Sprint("gate.", i%inGates), f.Alpha/float64(inGates)
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	return f
}

// stored is a comparison of one session with a history of h, drawn with deviation sd.
func (s *simulator) stored(i, h int, shift, sd float64) gates.Comparison {
	c := s.comparison(i, 0, 0, 0)
	shift *= worseIs(c.Metric)
	c.Test, c.Planned, c.Unpaired = gates.Prediction, 1, &gates.Samples{}
	for range h {
		c.Unpaired.Base = append(c.Unpaired.Base, math.Exp(sd*s.rng.NormFloat64()))
	}
	c.Unpaired.Head = []float64{math.Exp(shift + sd*s.rng.NormFloat64())}
	return c
}

// lowerIsBetter is a metric whose change is its d.
func (s *simulator) lowerIsBetter() metric.Metric {
	for _, m := range s.metrics {
		if worseIs(m) > 0 {
			return m
		}
	}
	panic("no metric is better when it is lower")
}

// worseIs is the sign of a change for the worse.
func worseIs(m metric.Metric) float64 {
	if m.Direction == metric.HigherIsBetter {
		return -1
	}
	return 1
}

// percent is "2 %" for 0.02.
func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

// plural is "1 gate" or "2 gates".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
