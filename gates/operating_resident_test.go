package gates_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// inLaunches draws the differences of passes of launches: those of a launch share a part of their
// variance, sd² in all, that no pass renews. Pairs are the means over passes, as the judge makes
// them of runs; single are the passes taken for pairs, which nothing does.
func (s *simulator) inLaunches(i, launches, passes int, shift, sd, share float64) (pairs, single gates.Comparison) {
	pairs = s.comparison(i, launches, 0, 0)
	single = pairs
	pairs.Pairs, single.Pairs = nil, nil
	if pairs.Metric.Direction == metric.HigherIsBetter {
		shift = -shift
	}
	for l := range launches {
		launch, mean := shift+sd*math.Sqrt(share)*s.rng.NormFloat64(), 0.0
		for p := range passes {
			d := launch + sd*math.Sqrt(1-share)*s.rng.NormFloat64()
			mean += d / float64(passes)
			single.Pairs = append(single.Pairs, gates.Pair{Repeat: l*passes + p, Base: 1, Head: math.Exp(d)})
		}
		pairs.Pairs = append(pairs.Pairs, gates.Pair{Repeat: l, Base: 1, Head: math.Exp(mean)})
	}
	return pairs, single
}

// overPasses is the SD of the mean over the passes of a pair of launches.
func overPasses(sd, share float64, passes int) float64 {
	return sd * math.Sqrt(share+(1-share)/float64(passes))
}

// What is promised where sides stay loaded: passes are no pairs, however many a launch has.
func residents() chart {
	const passes = 4
	c := chart{
		title: fmt.Sprintf("**Sides that stay loaded** (`resident`): %d passes in each pair of launches, of whose variance a share belongs to "+
			"the launches and is renewed by no pass. "+
			"SD and CV are those of one pass. The last column takes the passes of 4 pairs of launches for 16 pairs, which the program does not. "+
			"500 files are behind each number.", passes),
		columns: []string{"share of the launches, and rule", "5 metrics, CV 5 %, no change: regression", "the same: improvement",
			"SD 2 %, one metric at the margin: it passes", "passes taken for pairs, at the margin: it passes"},
		checked: fewFiles, files: 500,
	}
	for _, tt := range []struct {
		share float64
		known bool
	}{{0.1, false}, {0.5, false}, {0.9, false}, {0.1, true}, {0.9, true}} {
		label, rule := fmt.Sprintf("%.0f %%, from 4 launches on", 100*tt.share), looked
		if tt.known {
			label, rule = fmt.Sprintf("%.0f %%, from 2 on with a known spread", 100*tt.share), early
		}
		draw := func(s *simulator, i int, shift, sd float64) gates.Comparison {
			pairs, _ := s.inLaunches(i, 12, passes, shift, sd, tt.share)
			if tt.known {
				return s.known(pairs, overPasses(sd, tt.share, passes), 1, gates.DefaultWithin)
			}
			return pairs
		}
		same := rule("resident, no change, "+label, func(s *simulator) gates.Family {
			f := gates.Family{Alpha: 0.05}
			for i := range 5 {
				f.Comparisons = append(f.Comparisons, draw(s, i, 0, math.Sqrt2*0.05))
			}
			return f
		})
		marginal := rule("resident, at the margin, "+label, func(s *simulator) gates.Family {
			return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{draw(s, 0, math.Log(1.05), 0.02)}}
		})
		naive := once("resident, passes for pairs, "+label, func(s *simulator) gates.Family {
			_, single := s.inLaunches(0, 4, passes, math.Log(1.05), 0.02, tt.share)
			return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{single}}
		})
		c.lines = append(c.lines, line{label, []cell{
			{same, isRed, atMostPercent(5)}, {same, isBetter, atMostPercent(5)},
			{marginal, isPassed, atMostPercent(5)}, {naive, isPassed, bound{}},
		}})
	}
	return c
}

// rule is a way to spend GPU time on a file.
type rule struct {
	label         string
	known, budget bool
	// stale is the part of a pair's variance that comes with the time between its launches, where
	// both stay loaded; 0 where one ends before the other starts.
	resident bool
	stale    float64
}

// server is what the time of a launch depends on, in seconds.
type server struct {
	gpus float64
	// start takes as long with an empty compile cache, and kept less than that with a filled one.
	start, kept float64
}

// What vLLM compiles at a start, by what was published of it. Weights are in the page cache of the
// machine either way from the second launch on, so that they count on both sides:
//
//   - 8B, cold: 19.4 s, of which 4.6 s trace (vllm-project/vllm pull request 11005); from its cache:
//     5.0 s of tracing and 4.2 s of loading (pull request 16848).
//   - 70B on 8 GPUs, cold: 15 s of tracing and 70 s of compilation (issue 19824); from its cache:
//     25 s (issue 20402).
var (
	small = server{gpus: 1, start: 90, kept: 19.4 - 9.2}
	large = server{gpus: 8, start: 300, kept: 85 - 25}
)

// hours of GPUs for the pairs of a file: 4 cells of 70 s on each side beside the start. Where both
// stay loaded each cell is measured in two halves, each with 5 s of warm-up, and falling asleep and waking take
// 5 s in all. Where caches are kept, the first launch of each side fills its own.
func (r rule) hours(s server, pairs float64, caches bool) float64 {
	pair := 2 * (s.start + 4*70)
	if r.resident {
		pair += 2*4*5 + 5
	}
	sum := pairs * pair
	if caches {
		sum -= (pairs - 1) * 2 * s.kept
	}
	return s.gpus * sum / 3600
}

// Kinds of files that all rules are set beside each other on.
var (
	savingsTruths = []struct{ one, many float64 }{{0, 0}, {0.08, 0}, {0.10, 0.10}}
	savingsSDs    = []float64{0.01, 0.02, 0.03, 0.04}
)

// judge is a file of one kind in twelve, judged by the rule.
func (r rule) judge(s *simulator) (ending, error) {
	f, looks, slower := r.file(s)
	e, err := spend(f, looks, r.budget, nil)
	e.right = e.green()
	e.wrong = isRed(e)
	if slower {
		e.right, e.wrong = isRed(e), e.green()
	}
	return e, err
}

// file draws a file of one kind in twelve, and reports whether its head is slower.
func (r rule) file(s *simulator) (gates.Family, gates.Looks, bool) {
	truth, sd := savingsTruths[s.rng.IntN(3)], savingsSDs[s.rng.IntN(4)]*math.Sqrt(1-r.stale)
	f := gates.Family{Alpha: 0.05}
	for i := range 20 {
		change := truth.many
		if i == 0 {
			change = truth.one
		}
		c := s.comparison(i, 12, math.Log1p(change), sd)
		if r.known {
			c = s.known(c, sd, 1, gates.DefaultWithin)
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	looks := fiveLooks
	if r.known {
		looks = earlyLooks
	}
	return f, looks, truth.one > 0
}

// spend judges a file after each look until it ends, as a run with or without a budget does. goesOn, if not nil, is told
// of each look that ends nothing.
func spend(f gates.Family, looks gates.Looks, budget bool, goesOn func(n int, p gates.Progress)) (ending, error) {
	for _, n := range looks {
		seen := f
		seen.Comparisons = slices.Clone(f.Comparisons)
		for i := range seen.Comparisons {
			seen.Comparisons[i].Pairs = f.Comparisons[i].Pairs[:n]
		}
		sequence := gates.Sequence{Family: seen, Looks: looks}
		p, err := sequence.Judge()
		if err != nil {
			return ending{}, err
		}
		if over := p.Stop || budget && (p.Settled() || sequence.Hopeless(p)); !over {
			if goesOn != nil {
				goesOn(n, p)
			}
			continue
		}
		sequence.Ended = true
		p, err = sequence.Judge()
		return ending{Judgement: p.Judgement, pairs: n}, err
	}
	return ending{}, fmt.Errorf("the sequence has no end")
}

// savings sets all that saves GPU time beside the rule without any of it, on the same kinds of files.
func savings() chart {
	c := chart{
		title: "**What all of it saves**: files of 20 metrics, margin 5 %, a third without a change, a third 8 % slower in one metric and a " +
			"third 10 % slower in all, at an SD of pairs of 1, 2, 3 or 4 %, 400 of them behind each line. " +
			"GPU-hours are those of a file: of a 7B server on 1 GPU that starts in 90 s, and a 70B server on 8 GPUs that starts in 5 minutes, " +
			"each with 4 cells of 70 s a launch. A spread that is known was calibrated with 10 pairs, which stayed loaded where the sides do. " +
			"Sides that stay loaded have each cell measured in two halves in mirrored order, with a warm-up for each, which takes out the part of " +
			"a pair's variance that comes with the time between its launches, and that part alone. " +
			"Compile caches that are kept are empty at the first launch of each side, and later ones start 10 s sooner, or 60 s for the 70B server.",
		columns: []string{"rule", "mean pairs", "GPU-hours, 7B", "7B, caches kept", "GPU-hours, 70B", "70B, caches kept", "decided as it is, %",
			"decided wrongly, %"},
		checked: fewFiles, files: 400,
	}
	rules := []rule{
		{label: "4 to 12 repeats"},
		{label: "with a budget", budget: true},
		{label: "and a known spread, from 2 on", budget: true, known: true},
		{label: "and sides that stay loaded, none of the variance by time", budget: true, known: true, resident: true},
		{label: "and sides that stay loaded, a quarter of it by time", budget: true, known: true, resident: true, stale: 0.25},
		{label: "and sides that stay loaded, half of it by time", budget: true, known: true, resident: true, stale: 0.5},
	}
	c.worth = func(line, cell int, pairs float64) float64 {
		switch cell {
		case 0:
			return pairs
		case 1, 2:
			return rules[line].hours(small, pairs, cell == 2)
		default:
			return rules[line].hours(large, pairs, cell == 4)
		}
	}
	for _, r := range rules {
		sc := &scenario{"saving, " + r.label, r.judge}
		c.lines = append(c.lines, line{r.label, []cell{
			{sc, nil, bound{}}, {sc, nil, bound{}}, {sc, nil, bound{}}, {sc, nil, bound{}}, {sc, nil, bound{}}, {sc, ending.isRight, bound{}},
			{sc, ending.isWrong, atMostPercent(5)},
		}})
	}
	return c
}

// TestDecidedCellsSaveLittle prints and checks how much GPU time it would save to leave out of the repeats after a look
// the cells of which every comparison is decided, which the program does not do: the files of "What all of it saves",
// whose 20 metrics are of 4 cells. Verdicts would be the same.
//
//	go test ./gates -run DecidedCells -full -v
func TestDecidedCellsSaveLittle(t *testing.T) {
	if !*gates.Full {
		t.Skip("with -full")
	}
	const files, cells = 400, 4
	for _, r := range []rule{{label: "4 to 12 repeats"}, {label: "with a budget", budget: true},
		{label: "and a known spread, from 2 on", budget: true, known: true}} {
		metrics := newSimulator(0).metrics
		pairs, of := 0, 0 // pairs of launches, and pairs of cells that would be measured in them
		for i := range files {
			seed := sha256.Sum256(fmt.Appendf(nil, "saving, %s/%d", r.label, i))
			f, looks, _ := r.file(&simulator{rng: rand.New(rand.NewChaCha8(seed)), metrics: metrics})
			since, open := 0, cells
			e, err := spend(f, looks, r.budget, func(n int, p gates.Progress) {
				of += (n - since) * open
				still := map[int]bool{}
				for k, c := range f.Comparisons {
					still[k*cells/len(f.Comparisons)] = still[k*cells/len(f.Comparisons)] || slices.Contains(p.Open, c.ID)
				}
				since, open = n, 0
				for _, yes := range still {
					if yes {
						open++
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			pairs, of = pairs+e.pairs, of+(e.pairs-since)*open
		}
		for _, s := range []server{small, large} {
			saved := 100 * float64(cells*pairs-of) * 70 / (float64(pairs) * (s.start + cells*70))
			t.Logf("%s, %g GPUs: %.1f %% less", r.label, s.gpus, saved)
			if saved < 2 || saved > 8 {
				t.Error("docs/evidence/cost.md says 3 to 7 %")
			}
		}
	}
}
