package gates_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// unusual is a kind of value that is neither normal nor lognormal.
type unusual struct {
	label, metric string
	margin        float64
	// launch draws what all metrics of a launch share. draw returns the value of a metric in a run, worse by the margin or not.
	launch func(r *rand.Rand) float64
	draw   func(r *rand.Rand, launch, margin float64) float64
}

func unusualValues() []unusual {
	alone := func(*rand.Rand) float64 { return 1 }
	quantileOf := func(q, spread float64, requests int) func(*rand.Rand, float64, float64) float64 {
		return func(r *rand.Rand, _, margin float64) float64 {
			x := make([]float64, requests)
			for i := range x {
				x[i] = math.Exp(spread * r.NormFloat64())
			}
			slices.Sort(x)
			at := q * float64(requests-1)
			low := int(at)
			high := min(low+1, requests-1)
			return (1 + margin) * (x[low] + (at-float64(low))*(x[high]-x[low]))
		}
	}
	eventsOf := func(mean, requests float64) func(*rand.Rand, float64, float64) float64 {
		return func(r *rand.Rand, _, margin float64) float64 {
			n, p := 0, 1.0
			for least := math.Exp(-mean - requests*margin); ; n++ {
				if p *= r.Float64(); p <= least {
					return float64(n) / requests
				}
			}
		}
	}
	return []unusual{
		{"the p99 of 100 requests that spread by 50 %", "ttft.p99", 0.05, alone, quantileOf(0.99, 0.5, 100)},
		{"the median of 20 requests that spread by 30 %", "ttft.p50", 0.05, alone, quantileOf(0.5, 0.3, 20)},
		{"3 launches of 10 are 20 % slower in all metrics", "ttft.p50", 0.05, func(r *rand.Rand) float64 {
			if r.Float64() < 0.3 {
				return 1.2
			}
			return 1
		}, func(r *rand.Rand, launch, margin float64) float64 {
			return (1 + margin) * launch * (1 + 0.01*r.NormFloat64())
		}},
		{"delays with a Pareto tail of exponent 1", "ttft.mean", 0.05, alone, func(r *rand.Rand, _, margin float64) float64 {
			return (1 + margin) * (1 + 0.02*(1/(1-r.Float64())-1))
		}},
		{"a hit rate with three equally likely values, 1 point apart", "prefix_cache.hit_rate", 0.01, alone,
			func(r *rand.Rand, _, margin float64) float64 { return 0.5 - margin + 0.01*float64(r.IntN(3)-1) }},
		{"2 preemptions in 200 requests, in the mean", "preemptions.per_request", 0.005, alone, eventsOf(2, 200)},
		{"1 preemption in 10 runs of 200 requests, in the mean", "preemptions.per_request", 0.0075, alone, eventsOf(0.1, 200)},
		{"the same, with a margin of 0.0005", "preemptions.per_request", 0.0005, alone, eventsOf(0.1, 200)},
	}
}

// otherValues are files of values that are far from lognormal: quantiles of few requests, modes of launches, heavy tails, and counts
// with ties. Ties have no spread, so that a t-test alone would take a difference of one count in each of two launches as certain.
func otherValues() chart {
	c := chart{
		checked: fewFiles,
		title: "**Values that are not lognormal**, of the same kind on both sides, in files of 20 metrics without a change that are judged " +
			"once after 2, 3 or 4 repeats, or at five looks, and files of one metric at the margin, % of files. The margin is 5 %, of a hit rate " +
			"1 point, of preemptions 0.005 a request, of the rare ones 0.0075, which is 6 events in the runs of the first look: " +
			"`plan` warns of less.",
		columns: []string{"values", "2 repeats: regression", "3 repeats: regression", "4 repeats: regression", "five looks: regression",
			"five looks, at the margin: it passes"},
	}
	for _, v := range unusualValues() {
		m, _ := metric.Lookup(v.metric)
		sc := func(looks gates.Looks, members int, margin float64) *scenario {
			return inStages(fmt.Sprintf("%s, looks %v, %d metrics", v.label, looks, members), func(s *simulator) gates.Sequence {
				f := gates.Family{Alpha: 0.05}
				for i := range members {
					f.Comparisons = append(f.Comparisons, gates.Comparison{ID: fmt.Sprint(i), Gate: "gate.g", Metric: m, CanFail: true,
						Claim: gates.Claim{Margin: metric.Margin(v.margin)}})
				}
				for k := range looks[len(looks)-1] {
					base, head := v.launch(s.rng), v.launch(s.rng)
					for i := range f.Comparisons {
						f.Comparisons[i].Pairs = append(f.Comparisons[i].Pairs,
							gates.Pair{Repeat: k, Base: v.draw(s.rng, base, 0), Head: v.draw(s.rng, head, margin)})
					}
				}
				return gates.Sequence{Family: f, Looks: looks}
			})
		}
		l := line{label: v.label}
		for _, looks := range []gates.Looks{{2}, {3}, {4}, fiveLooks} {
			l.cells = append(l.cells, cell{sc(looks, 20, 0), isRed, atMostPercent(5)})
		}
		l.cells = append(l.cells, cell{sc(fiveLooks, 1, v.margin), isPassed, bound{}})
		c.lines = append(c.lines, l)
	}
	return c
}
