// Package capacity carries out a search for the highest load at which an SLO holds: which load
// is next, what its run says of the SLO, and what the search has found.
//
// The n-th probes of the two sides of a repeat are sent the same prompts at the same relative
// times, whatever their loads are (common random numbers): the arrivals of one draw, scaled
// to the rate. What a draw does to percentiles is then in both capacities, and not in their ratio.
// Each probe and each repeat has a draw of its own.
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
	repeat bool // the last probe was void, and is made again
	lost   bool // two in a row were: what is beyond is not known
}

// New returns the search of a load that has one.
func New(l steps.Load) (*Search, error) {
	in := l.Search
	whole := l.Searches() == steps.SearchConcurrency
	fit, err := capacity.New(capacity.Range{Min: in.Min, Max: in.Max, Whole: whole, Resolution: in.Resolution, Probes: in.Probes})
	if err != nil {
		return nil, err
	}
	return &Search{load: l, fit: fit, found: result.Search{Over: Kind(l), Min: in.Min, Max: in.Max, Probes: []result.Probe{}}}, nil
}

// Kind is the kind of load that a search varies.
func Kind(l steps.Load) result.LoadKind {
	if l.Searches() == steps.SearchConcurrency {
		return result.LoadConcurrency
	}
	return result.LoadRate
}

// Step is the next probe.
type Step struct {
	Number int     // from 1
	Offer  float64 // the load
	Reason string
	Load   steps.Load
}

// Next returns the next probe, nil where the search has ended.
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

// Seed of the n-th probe, from that of the run.
func Seed(run uint64, n int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "probe/1 %d %d", run, n))
	return binary.BigEndian.Uint64(sum[:8])
}

// Probe is a run at the load of a step, as the document has it.
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

// objective sets a metric against its limit. Without a value no request got that far.
func objective(o steps.Objective, metrics map[string]float64) result.Objective {
	out := result.Objective{Metric: o.Metric, Limit: o.Limit, Headroom: -capacity.Clip}
	m, _ := metric.Lookup(o.Metric)
	v, ok := metrics[o.Metric]
	if !ok || m.Unit == metric.Seconds && v <= 0 { // no answer takes no time
		return out
	}
	out.Value = &v
	used, allowed := v, o.Limit
	if m.Direction == metric.HigherIsBetter { // a share: what is lacking of all
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

// Add takes a probe into account, also one of a session that was interrupted. It reports whether
// the search can go on: a second void probe in a row ends it.
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

// Found is what the search has found so far: no capacity where the client was the limit, since what
// probes further below say of it is no more than a guess.
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

// Nowhere returns why the SLO holds nowhere in the range, "" if it may hold somewhere.
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

// Metrics are those of a run that searches.
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

// at is a metric at a load, on the line between the probes beside it over the logarithm of the load.
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

// Carried counts the requests of the probes at which the SLO held, and those of them that failed:
// beyond the capacity requests are meant to fail.
func (s *Search) Carried() (sent, failed int) {
	for _, p := range s.found.Probes {
		if p.Held && p.Void == "" {
			sent, failed = sent+p.Sent, failed+p.Failed
		}
	}
	return sent, failed
}
