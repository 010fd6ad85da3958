package calibrate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Report holds the findings of a calibration.
type Report struct {
	// Noise holds one entry per metric and cell. Gates states what each gate can detect at that noise.
	Noise []history.Noise `json:"noise"`
	Gates []Gate          `json:"gates"`
	// Files is the number of sessions, each with the file's repeats, that the pairs make up. Each session is judged by
	// the file's gates. Alarms counts the sessions with a regression or an improvement, all of them false.
	Files  int `json:"files"`
	Alarms int `json:"alarms"`
	// PerFile is the number of pairs in one session.
	PerFile int `json:"pairs_per_file"`
}

// Gate states what the noise means for one metric of a gate, in the cell with the most noise.
type Gate struct {
	Gate   string  `json:"gate"`
	Metric string  `json:"metric"`
	Cell   string  `json:"cell"` // label
	SD     float64 `json:"sd"`
	Margin float64 `json:"margin"`
	// Detectable is the smallest change detected with 80 % power at the file's repeats.
	Detectable float64 `json:"detectable"`
	// Repeats is the number of repeats that detects a change of the margin with 80 % power, 0 if more than
	// gates.MaxPairs are needed.
	Repeats int `json:"repeats"`
	// FewRequests reports that the finite number of requests alone could explain the noise. Longer runs may then help.
	FewRequests bool `json:"few_requests,omitempty"`
	// Passes is the number of passes in the file. Between is the share of a pair's variance that lies between launches,
	// which more passes do not reduce; −1 if one pass leaves it unknown.
	Passes  int     `json:"passes"`
	Between float64 `json:"between_launches"`
	// Cheapest is the schedule that detects a change of the margin with 80 % power in the least time, by the measured
	// times; nil if unknown.
	Cheapest *Schedule `json:"cheapest,omitempty"`
}

// Schedule is a number of repeats and passes, and the time that they take.
type Schedule struct {
	Repeats int     `json:"repeats"`
	Passes  int     `json:"passes"`
	Seconds float64 `json:"seconds"` // of both sides
}

// Analyse computes the noise from the document of a calibration of p.
func Analyse(p *plan.Plan, doc *result.Document) (Report, error) {
	var r Report
	pairs := map[string][]pair{}
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			pairs[c.Hash] = pairsOf(c)
			r.Noise = append(r.Noise, noiseOf(p.Declared(), c, p.ModelOf(c.Target), pairs[c.Hash], p.PassesOf(b.Addr))...)
		}
	}
	if len(r.Noise) == 0 {
		return r, errors.New("no cell has two valid pairs of runs, so nothing is known of its noise")
	}
	cost := costOf(doc)
	for _, g := range p.Gates {
		r.Gates = append(r.Gates, advise(p, g, r.Noise, cost)...)
	}
	return r, r.judge(p, pairs)
}

// advise returns what the noise means for the metrics of a gate.
func advise(p *plan.Plan, g plan.Gate, noise []history.Noise, cost cost) []Gate {
	if g.Expect != gates.NoRegression || g.OfQuality() {
		return nil // quality gates and other expectations have no margin for the noise of launches
	}
	var out []Gate
	level := p.Level(g)
	for _, id := range g.Metrics {
		worst, measured := worstOf(noise, g, id)
		m, ok := p.Metric(id)
		if !measured || !ok {
			continue
		}
		repeats := p.Looks[len(p.Looks)-1]
		a := Gate{Gate: g.Addr, Metric: id, Cell: worst.Label, SD: worst.PairSD, Margin: float64(g.Margin), Passes: p.PassesOf(g.Benchmark),
			Between: between(worst, p.PassesOf(g.Benchmark))}
		effect := float64(g.Margin)
		a.Detectable = gates.DetectableChange(repeats, max(worst.PairSD, 1e-9), level, gates.Power)
		if m.Scale == metric.Log {
			a.Detectable, effect = metric.Log.Change(a.Detectable), g.Margin.On(metric.Log)
		}
		if math.IsInf(a.Detectable, 0) {
			a.Detectable = 0
		}
		if n, err := gates.NeedPairs(effect, max(worst.PairSD, 1e-9), level, gates.Power); err == nil {
			a.Repeats = n
		}
		a.FewRequests = worst.Request > 0 && worst.Request >= worst.Run()
		if a.Between >= 0 {
			a.Cheapest = cost.cheapest(worst, effect, level)
		}
		out = append(out, a)
	}
	return out
}

// worstOf returns the noise of a metric in the base cell of a gate that has the most; ok is false if none has any.
func worstOf(noise []history.Noise, g plan.Gate, id string) (worst history.Noise, ok bool) {
	for _, n := range noise {
		if n.Metric == id && (!ok || n.PairSD > worst.PairSD) &&
			slices.ContainsFunc(g.Comparisons, func(c plan.Comparison) bool { return c.Base == n.Cell }) {
			worst, ok = n, true
		}
	}
	return worst, ok
}

// judge divides the pairs into sessions of as many pairs as the file has repeats, and judges each by the file's gates.
// Every alarm is false.
func (r *Report) judge(p *plan.Plan, pairs map[string][]pair) error {
	r.PerFile = p.Looks[len(p.Looks)-1]
	all := 0
	for _, list := range pairs {
		all = max(all, len(list))
	}
	for from := 0; from+r.PerFile <= all; from += r.PerFile {
		family, err := familyOf(p, pairs, from, r.PerFile)
		if err != nil {
			return err
		}
		if len(family.Comparisons) == 0 {
			return nil
		}
		judged, err := gates.Sequence{Family: family, Looks: p.Looks, Ended: true}.Judge()
		if err != nil {
			return fmt.Errorf("judging the base against itself: %w", err)
		}
		r.Files++
		if slices.ContainsFunc(judged.Judgement.Comparisons, func(d gates.Decision) bool {
			return d.Verdict == gates.Regression || d.Verdict == gates.Improvement
		}) {
			r.Alarms++
		}
	}
	return nil
}

// familyOf returns the family of the file's gates with the base on both sides. Which launch of a pair stands for the
// head is drawn.
func familyOf(p *plan.Plan, pairs map[string][]pair, from, n int) (gates.Family, error) {
	f := gates.Family{Alpha: p.Alpha, Moderate: true}
	for _, g := range p.Gates {
		for _, c := range g.Comparisons {
			list, passes := pairs[c.Base], p.PassesOf(g.Benchmark)
			for _, id := range g.Of(c) {
				m, ok := p.Metric(id)
				if !ok || c.Base == "" || len(list) < from+n {
					continue
				}
				comparison := p.Comparison(g, c.Head, m)
				if comparison.Pairs = valuesOf(list[from:from+n], m, passes); len(comparison.Pairs) == 0 {
					comparison.Missing = "no pair has a value of both launches"
				}
				f.Comparisons = append(f.Comparisons, comparison)
			}
		}
		if err := addSuites(p, g, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

// valuesOf returns the values of a metric of pairs of launches as values of base and head.
func valuesOf(list []pair, m metric.Metric, passes int) (out []gates.Pair) {
	for k, p := range list {
		first, second := p.values(m, passes)
		if len(first) == 0 {
			continue
		}
		base, head := m.Mean(first), m.Mean(second)
		if p.swapped() {
			base, head = head, base
		}
		out = append(out, gates.Pair{Repeat: k + 1, Base: base, Head: head})
	}
	return out
}

// addSuites adds the comparisons over all cells to the family, where the comparisons of single cells exist.
func addSuites(p *plan.Plan, g plan.Gate, f *gates.Family) error {
	for _, s := range g.Suites() {
		if !slices.ContainsFunc(f.Comparisons, func(c gates.Comparison) bool { return c.ID == g.ID(s.Heads[0], s.Metric) }) {
			continue
		}
		c, err := s.Compare(g, p.Alpha, f.Comparisons)
		if err != nil {
			return err
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	return nil
}
