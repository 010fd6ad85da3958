package gates

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"gonum.org/v1/gonum/stat/distuv"
)

// Pairs of one block were measured under conditions that other blocks do not share, such as
// on the same node. What a block adds to both of its sides cancels in each difference, so
// blocks need no degrees of freedom of the test, as long as no pair spans two of them. What
// is left is a difference that itself depends on the block: a change that slows one kind of
// node and not another. The test is then about the mean over the blocks that were there,
// and errs on the safe side, since the spread between blocks counts as noise. A warning names it.
//
// [Comparison.Between] makes it one about all such blocks. How much a change differs between
// blocks is given and not estimated: two blocks have one degree of freedom of it, with which a
// difference of the sixfold standard error is found.

// blockLevel is the p value below which the change is assumed to depend on the block. It is small
// because every comparison of a file is tested.
const blockLevel = 0.001

// BetweenOf is a [Comparison.Between] given as a share, on the scale of the test of a metric; 0 for a
// metric whose differences are no shares.
func BetweenOf(m metric.Metric, share float64) float64 {
	if m.Scale != metric.Log {
		return 0
	}
	return math.Log1p(share)
}

// amongBlocks is the error of the mean over pairs of some repeats that comes from the blocks: those
// that were there stand for all. Where they differ by more than was given, what they show themselves
// takes its place, with as few degrees of freedom as that has.
func (c Comparison) amongBlocks(repeats []int, d []float64) Clusters {
	_, blocks := c.inBlocks(repeats, d)
	squares := 0.0
	for _, b := range blocks {
		squares += float64(len(b) * len(b))
	}
	const known = 1e6 // degrees of freedom of what is not estimated
	given := Clusters{SE: c.Between * math.Sqrt(squares) / float64(max(len(d), 1)), DF: known, Beside: true}
	k, n := float64(len(blocks)), float64(len(d))
	if k < 2 || n <= k {
		return given
	}
	means, within := make([]float64, len(blocks)), 0.0
	for i, b := range blocks {
		means[i] = metric.Mean(b)
		for _, v := range b {
			within += (v - means[i]) * (v - means[i])
		}
	}
	_, spread := meanSD(means)
	expected := c.Between*c.Between + within/(n-k)*k/n
	own := Clusters{SE: spread * math.Sqrt(squares) / n, DF: k - 1, Beside: true}
	if own.SE <= given.SE || (distuv.ChiSquared{K: k - 1}).Survival((k-1)*spread*spread/expected) >= blockLevel {
		return given
	}
	return own
}

// beside adds an error to that of n pairs. The degrees of freedom are those of the pairs, or of the error where
// it has fewer. Satterthwaite's would be those of the larger one, which is the given one also where few pairs agree
// by chance. bias is what a rounded clock may hide.
func (s *Statistic) beside(c Clusters, n int, bias float64, set Settings) {
	s.SE, s.DF = math.Hypot(s.SE, c.SE), min(float64(max(n-1, 1)), c.DF)
	s.T = s.Shift / s.SE
	s.Greater, s.Less = tSurvival((s.Shift-bias)/s.SE, s.DF), tSurvival((-s.Shift-bias)/s.SE, s.DF)
	s.bound(bias, set.Critical(s.DF)*s.SE)
	s.Exact = false
	s.Noise = paired(s.SE * math.Sqrt(float64(n)))
}

// inBlocks are the differences of some repeats by their block, in the order in which blocks come.
func (c Comparison) inBlocks(repeats []int, d []float64) (names []string, blocks [][]float64) {
	for i, r := range repeats {
		block := c.Blocks[r]
		at := slices.Index(names, block)
		if at < 0 {
			at = len(names)
			names, blocks = append(names, block), append(blocks, nil)
		}
		blocks[at] = append(blocks[at], d[i])
	}
	return names, blocks
}

// between describes how the difference depends on the block, "" where no evidence shows that
// it does: an F test of one-way analysis of variance.
func (c Comparison) between() string {
	if len(c.Blocks) == 0 {
		return ""
	}
	d, _, err := differences(c.Metric, c.Pairs)
	if err != nil {
		return ""
	}
	of := make([]int, len(c.Pairs))
	for i, p := range c.Pairs {
		of[i] = p.Repeat
	}
	names, blocks := c.inBlocks(of, d)
	p, ok := oneWay(blocks)
	if !ok || p >= blockLevel {
		return ""
	}
	parts := make([]string, len(names))
	for i, d := range blocks {
		parts[i] = fmt.Sprintf("%s on %s (%s)", c.changeText(metric.Mean(d)), names[i], repeats(len(d)))
	}
	return fmt.Sprintf("the change is not the same everywhere (F test, p = %.1g): %s", p, strings.Join(parts, ", "))
}

// oneWay is the p value of a one-way analysis of variance. It needs two groups, and more
// values than groups with some spread within them.
func oneWay(groups [][]float64) (p float64, ok bool) {
	all := slices.Concat(groups...)
	k, n := len(groups), len(all)
	if k < 2 || n <= k {
		return 1, false
	}
	total := metric.Mean(all)
	within, between := 0.0, 0.0
	for _, g := range groups {
		m := metric.Mean(g)
		between += float64(len(g)) * (m - total) * (m - total)
		for _, v := range g {
			within += (v - m) * (v - m)
		}
	}
	if within <= 0 {
		return 1, false
	}
	f := between / float64(k-1) / (within / float64(n-k))
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return 1, false
	}
	return distuv.F{D1: float64(k - 1), D2: float64(n - k)}.Survival(f), true
}

// changeText writes a difference as people read it, with the sign of minus that reports have.
func (c Comparison) changeText(d float64) string {
	change := c.Metric.Scale.Change(worse(c.Metric) * d)
	sign := "+"
	if math.Signbit(change) {
		sign, change = "−", -change
	}
	if c.Metric.Scale == metric.Log {
		return fmt.Sprintf("%s%.1f %%", sign, 100*change)
	}
	if c.Metric.Unit == metric.Fraction {
		return fmt.Sprintf("%s%.3g pp", sign, 100*change)
	}
	return strings.TrimSpace(fmt.Sprintf("%s%.3g %s", sign, change, c.Metric.Unit))
}
