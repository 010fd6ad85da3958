// Package capacity searches for the highest load at which an SLO holds. It chooses the loads, judges the runs
// by the SLO, and reports the capacity.
//
// The n-th probes of both sides in a repeat send the same prompts at the same relative times, whatever their
// loads (common random numbers): the arrivals of one draw, scaled to the rate. The draw's influence on
// percentiles then affects both capacities alike, and cancels in their ratio. Each probe and each repeat has
// its own draw.
package capacity

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"crypto/sha256"

	"github.com/servegate/pipeline/gates/capacity"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Search is a search in progress.
type Search struct {
	load   steps.Load
	fit    *capacity.Search
	found  result.Search
	repeat bool // the last probe was void, and is repeated
	lost   bool // two probes in a row were void: the result is unknown
}

// New returns the search for a load with a search.
func New(l steps.Load) (*Search, error) {
	in := l.Search
	whole := l.Searches() == steps.SearchConcurrency
	fit, err := capacity.New(capacity.Range{Min: in.Min, Max: in.Max, Whole: whole, Resolution: in.Resolution, Probes: in.Probes})
	if err != nil {
		return nil, err
	}
	return &Search{load: l, fit: fit, found: result.Search{Over: Kind(l), Min: in.Min, Max: in.Max, Probes: []result.Probe{}}}, nil
}

// Kind returns the kind of load that a search varies.
func Kind(l steps.Load) result.LoadKind {
	if l.Searches() == steps.SearchConcurrency {
		return result.LoadConcurrency
	}
	return result.LoadRate
}

// Step is the next probe to run.
type Step struct {
	Number int     // counted from 1
	Offer  float64 // the load
	Reason string
	Load   steps.Load
}

// Next returns the next probe, nil when the search has ended.
func (s *Search) Next() *Step {
	n := len(s.found.Probes)
	if s.repeat {
		last := s.found.Probes[n-1]
		return &Step{Number: n + 1, Offer: last.Load, Reason: "the probe before was void", Load: s.load.At(last.Load)}
	}
	step := s.fit.Next()
	if step.Load == 0 {
		s.found.Stopped = step.Why
		return nil
	}
	return &Step{Number: n + 1, Offer: step.Load, Reason: step.Why, Load: s.load.At(step.Load)}
}

// Seed returns the seed of the n-th probe, derived from the run's.
func Seed(run uint64, n int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "probe/1 %d %d", run, n))
	return binary.BigEndian.Uint64(sum[:8])
}

// Probe converts a run at the load of a step for the document.
func (s *Search) Probe(step *Step, run result.Run) result.Probe {
	p := result.Probe{
		Kind: s.found.Over, Load: step.Offer, Reason: step.Reason, Duration: run.Duration, Sent: run.Sent, Failed: run.Failed,
		Failures:   run.Failures,
		Overloaded: run.Overloaded, Metrics: run.Metrics, Audit: run.Audit, Records: run.Records,
	}
	if run.Status == result.RunVoid {
		p.Void, p.VoidCause = run.Reason, run.VoidCause
	}
	p.Held, p.Headroom = true, capacity.Clip
	for _, o := range s.load.Search.SLO {
		at := objective(o, run.Metrics)
		p.Objectives = append(p.Objectives, at)
		p.Held, p.Headroom = p.Held && at.Held, min(p.Headroom, at.Headroom)
	}
	return p
}

// objective compares a metric with its limit. A missing value means that no request produced one.
func objective(o steps.Objective, metrics map[string]float64) result.Objective {
	out := result.Objective{Metric: o.Metric, Limit: o.Limit, Headroom: -capacity.Clip}
	m, _ := metric.Lookup(o.Metric)
	v, ok := metrics[o.Metric]
	if !ok || m.Unit == metric.Seconds && v <= 0 { // zero means no response
		return out
	}
	out.Value = &v
	used, allowed := v, o.Limit
	if m.Direction == metric.HigherIsBetter { // a share: compare what is missing to 1
		used, allowed = 1-v, 1-o.Limit
		out.Held = v >= o.Limit
	} else {
		out.Held = v <= o.Limit
	}
	switch {
	case used <= 0:
		out.Headroom = capacity.Clip
	case allowed > 0:
		out.Headroom = min(max(math.Log(allowed/used), -capacity.Clip), capacity.Clip)
	}
	return out
}

// Add adds a probe, possibly from an interrupted session. It reports whether the search continues; a second
// void probe in a row ends it.
func (s *Search) Add(p result.Probe) bool {
	s.found.Probes = append(s.found.Probes, p)
	if p.Void != "" {
		again := s.repeat
		s.repeat, s.lost = !again, again
		return !again
	}
	s.repeat = false
	s.fit.Add(capacity.Probe{Load: p.Load, Headroom: p.Headroom, Held: p.Held})
	return true
}

// Found returns the result so far. It has no capacity if the client limited the search, because lower probes
// give only a guess.
func (s *Search) Found() *result.Search {
	out := s.found
	out.Probes = slices.Clone(out.Probes)
	if s.lost || !slices.ContainsFunc(out.Probes, func(p result.Probe) bool { return p.Void == "" }) {
		return &out
	}
	e := s.fit.Estimate()
	out.Capacity = &e.Capacity
	switch {
	case e.AtLeast:
		out.Bound = result.AtLeast
	case e.AtMost:
		out.Bound = result.AtMost
	}
	if e.Lower > out.Min {
		out.Lower = &e.Lower
	}
	if e.Upper < out.Max {
		out.Upper = &e.Upper
	}
	return &out
}

// Nowhere returns why the SLO holds nowhere in the range, "" if it may hold.
func (s *Search) Nowhere() string {
	if e := s.fit.Estimate(); !e.AtMost || e.Upper >= s.found.Min {
		return ""
	}
	for _, p := range s.found.Probes {
		if p.Load == s.found.Min && p.Void == "" && !p.Held {
			return fmt.Sprintf("the SLO does not hold at %s, the least load of the search: %s. %s", Text(p.Kind, p.Load), Missed(p), remedy(p))
		}
	}
	return ""
}

// Metrics returns the metrics of the run of a search.
func (s *Search) Metrics() map[string]float64 {
	found := s.Found()
	out := map[string]float64{}
	if found.Capacity == nil {
		return out
	}
	out[s.load.Searches().Metric()] = *found.Capacity
	for _, id := range []string{"goodput.rate", "goodput.share"} {
		if v, ok := at(found.Probes, id, *found.Capacity); ok {
			out[id] = v
		}
	}
	return out
}

// at interpolates a metric at a load, linearly over the logarithm of the load between the neighbouring probes.
func at(probes []result.Probe, id string, load float64) (float64, bool) {
	probes = slices.DeleteFunc(slices.Clone(probes), func(p result.Probe) bool { _, has := p.Metrics[id]; return !has || p.Void != "" })
	if len(probes) == 0 {
		return 0, false
	}
	slices.SortStableFunc(probes, func(a, b result.Probe) int { return cmp.Compare(a.Load, b.Load) })
	i, _ := slices.BinarySearchFunc(probes, load, func(p result.Probe, x float64) int { return cmp.Compare(p.Load, x) })
	switch {
	case i == 0:
		return probes[0].Metrics[id], true
	case i == len(probes):
		return probes[i-1].Metrics[id], true
	}
	low, high := probes[i-1], probes[i]
	part := math.Log(load/low.Load) / math.Log(high.Load/low.Load)
	return low.Metrics[id] + part*(high.Metrics[id]-low.Metrics[id]), true
}

// Carried counts the requests of probes at which the SLO held, and their failed requests. Beyond the capacity
// failures are expected.
func (s *Search) Carried() (sent, failed int) {
	for _, p := range s.found.Probes {
		if p.Held && p.Void == "" {
			sent, failed = sent+p.Sent, failed+p.Failed
		}
	}
	return sent, failed
}
