package gates

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"gonum.org/v1/gonum/stat/distuv"
)

// The pairs of a block share conditions that other blocks do not have, such as the node. What a
// block adds to both sides cancels in each difference, so blocks need no degrees of freedom as long
// as no pair spans two of them. The difference itself may depend on the block: a change can slow
// one kind of node and not another. The test is then about the mean over the measured blocks. It
// errs on the safe side, because the spread between blocks counts as noise. A warning reports it.
//
// [Comparison.Between] makes the test one about all such blocks. It is given, not estimated: two
// blocks have one degree of freedom, with which only a difference of six standard errors is found.

// blockLevel is the p value below which the change is taken to depend on the block. It is small
// because every comparison of a file is tested.
const blockLevel = 0.001

// BetweenOf converts a share to a [Comparison.Between] on the scale of the test. It returns 0 for a
// metric that is not compared on the log scale.
func BetweenOf(m metric.Metric, share float64) float64 {
	if m.Scale != metric.Log {
		return 0
	}
	return math.Log1p(share)
}

// amongBlocks returns the error that blocks add to the mean over the pairs of some repeats, if the
// measured blocks stand for all. If the blocks differ by significantly more than c.Between, their
// own spread replaces it, with its few degrees of freedom.
func (c Comparison) amongBlocks(repeats []int, d []float64) Clusters {
	_, blocks := c.inBlocks(repeats, d)
	squares := 0.0
	for _, b := range blocks {
		squares += float64(len(b) * len(b))
	}
	const known = 1e6 // degrees of freedom of a value that is given
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
	if (distuv.ChiSquared{K: k - 1}).Survival((k-1)*spread*spread/expected) >= blockLevel {
		return given
	}
	return own
}

// beside adds the error c to the error of n pairs. It uses the smaller of the two degrees of freedom.
// Satterthwaite's formula would use those of the larger error, which is the given one even if few
// pairs agree by chance. bias bounds the shift that a rounded clock may hide.
func (s *Statistic) beside(c Clusters, n int, bias float64, set Settings) {
	s.SE, s.DF = math.Hypot(s.SE, c.SE), min(float64(max(n-1, 1)), c.DF)
	s.T = s.Shift / s.SE
	s.Greater, s.Less = tSurvival((s.Shift-bias)/s.SE, s.DF), tSurvival((-s.Shift-bias)/s.SE, s.DF)
	s.bound(bias, set.Critical(s.DF)*s.SE)
	s.Exact = false
	s.Noise = paired(s.SE * math.Sqrt(float64(n)))
}

// inBlocks groups the differences of some repeats by block, in order of first appearance.
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

// between describes how the difference depends on the block. It returns "" unless an F test
// (one-way analysis of variance) shows that it does.
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

// oneWay returns the p value of a one-way analysis of variance. It needs two groups, more values
// than groups, and some spread within groups.
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

// changeText formats a difference for people, with a typographic minus sign.
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
