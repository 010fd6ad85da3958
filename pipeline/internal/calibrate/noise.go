package calibrate

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/reports/result"
)

// pair holds the runs of a cell in two launches. number counts pairs from 0. Both launches have the same passes.
type pair struct {
	number        int
	first, second []result.Run
}

// swapped reports whether the first launch stands for the head. It is drawn for each pair, as the order of sides is.
func (p pair) swapped() bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "pair/1 %d", p.number))
	return sum[0]%2 == 1
}

// pairsOf returns the pairs of a cell that have two valid launches, in order.
func pairsOf(c result.Cell) []pair {
	type place struct{ repeat, pass int }
	ok := map[place]result.Run{}
	last, passes := 0, 0
	for _, run := range c.Current() {
		if run.Status == result.RunOK {
			ok[place{run.Pair(), run.Pass}] = run
			last, passes = max(last, run.Pair()), max(passes, run.Pass)
		}
	}
	var out []pair
	for k := 1; k <= last; k += 2 {
		p := pair{number: (k - 1) / 2}
		for pass := range passes + 1 { // 0 if a launch has one pass
			first, both := ok[place{k, pass}]
			second, also := ok[place{k + 1, pass}]
			if both && also {
				p.first, p.second = append(p.first, first), append(p.second, second)
			}
		}
		if len(p.first) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// values returns a metric's values in the first passes of a pair, for the passes that have the metric in both launches.
func (p pair) values(m metric.Metric, passes int) (first, second []float64) {
	for i := range p.first[:min(len(p.first), passes)] {
		a, inFirst := p.first[i].Metrics[m.ID]
		b, inSecond := p.second[i].Metrics[m.ID]
		if inFirst && inSecond {
			first, second = append(first, a), append(second, b)
		}
	}
	return first, second
}

// noiseOf returns the noise of all metrics of a cell, for the model that serves it and the file's number of passes.
func noiseOf(known metric.Declared, c result.Cell, model string, pairs []pair, passes int) []history.Noise {
	var out []history.Noise
	for _, m := range known.All() {
		if m.Informational {
			continue
		}
		d := differences(m, pairs)
		if len(d) < 2 {
			continue
		}
		n := components(d)
		n.Cell, n.Label, n.Model, n.Metric, n.Pairs = c.Hash, result.Coordinates(c.Values, " "), model, m.ID, len(d)
		n.PairSD = n.PairSDAt(passes)
		// Request is an upper bound, since the two sides of a pair share most of this noise.
		n.Request = min(ofRequests(m, pairs), n.Run())
		out = append(out, n)
	}
	return out
}

// differences returns the differences between the two launches, per pair and pass, on the scale of the test.
func differences(m metric.Metric, pairs []pair) [][]float64 {
	var out [][]float64
	for _, p := range pairs {
		first, second := p.values(m, len(p.first))
		if len(first) == 0 || m.Scale == metric.Log && slices.Min(slices.Concat(first, second)) <= 0 {
			continue
		}
		d := make([]float64, len(first))
		for i := range d {
			a, b := first[i], second[i]
			if m.Scale == metric.Log {
				a, b = math.Log(a), math.Log(b)
			}
			d[i] = b - a
		}
		out = append(out, d)
	}
	return out
}

// components splits the variance of differences into its parts. The true mean is zero, since both sides are the same. A
// difference of two launches has √2 times the standard deviation of one. The mean over k passes has 1/k of the variance
// of a pass.
func components(d [][]float64) history.Noise {
	var within, freedom, squares, parts float64
	for _, passes := range d {
		mean := 0.0
		for _, v := range passes {
			mean += v / float64(len(passes))
		}
		for _, v := range passes {
			within += (v - mean) * (v - mean)
		}
		freedom += float64(len(passes) - 1)
		squares += mean * mean
		parts += 1 / float64(len(passes))
	}
	pairs := float64(len(d))
	n := history.Noise{PairSD: math.Sqrt(squares / pairs)}
	if freedom == 0 {
		n.Launch = n.PairSD / math.Sqrt2
		return n
	}
	pass := within / freedom / 2
	n.Pass, n.Split = math.Sqrt(pass), true
	n.Launch = math.Sqrt(max(0, squares/pairs/2-pass*parts/pairs))
	return n
}

// ofRequests returns the relative standard deviation of a mean that the finite number of requests explains.
func ofRequests(m metric.Metric, pairs []pair) float64 {
	if m.Stat != "mean" {
		return 0
	}
	variance, n := 0.0, 0
	for _, p := range pairs {
		for _, run := range slices.Concat(p.first, p.second) {
			sd, known := run.Metrics[m.Group+".std"]
			mean, measured := run.Metrics[m.Group+".mean"]
			if k := run.Sent - run.Failed; known && measured && mean > 0 && k > 1 {
				variance += sd * sd / (mean * mean) / float64(k)
				n++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(variance / float64(n))
}

// between returns the share of a pair's variance that lies between launches, −1 if unknown.
func between(n history.Noise, passes int) float64 {
	whole := n.PairSDAt(passes)
	if !n.Split || whole == 0 {
		return -1
	}
	return 2 * n.Launch * n.Launch / (whole * whole)
}
