package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Assumptions of the estimate, in seconds, used until a history says better.
const (
	launchAssumed    = 60 // vLLM and SGLang with a model of a few GB, compiled graphs cached
	simulatedLaunch  = 1
	unlimitedAssumed = 30 // a burst or a closed loop whose end is not known beforehand
	drainAssumed     = 3  // the last answers, the reset of caches, the warm-up
)

// seconds estimates one pass of a workload. The schedule of a trace is in its file, so
// what is wrong with the file, or with what is asked of it, is found here.
func (b *builder) seconds(src *lang.Benchmark, w steps.Workload) float64 {
	if w.Load.Arrival != "trace" || w.Dataset.Sum == "" {
		return runSeconds(w)
	}
	span, err := b.cfg.Files.Span(w.Dataset, w.Load.Requests)
	if err != nil {
		b.fail(src.Range, "the trace cannot be replayed", diag.Sentence(err))
		return runSeconds(w)
	}
	if w.Load.Duration > 0 {
		span = min(span, w.Load.Duration)
	}
	return span.Seconds() + drainAssumed
}

// answerAssumed is how long one greedy answer takes.
const answerAssumed = 1.0

// runSeconds estimates one pass of a workload from its schedule.
func runSeconds(w steps.Workload) float64 {
	switch {
	case w.Answers != nil:
		return math.Ceil(float64(w.Load.Requests)/float64(max(w.Load.MaxConcurrency, 1))) * answerAssumed
	case w.Load.Duration > 0:
		return w.Load.Duration.Seconds() + drainAssumed
	case w.Load.Rate > 0:
		return float64(w.Load.Requests+w.Warmup)/w.Load.Rate + drainAssumed
	case w.Load.ThinkTime > 0:
		turns := math.Ceil(float64(w.Load.Requests) / float64(max(w.Load.MaxConcurrency, 1)))
		return turns*w.Load.ThinkTime.Seconds() + unlimitedAssumed
	default:
		return unlimitedAssumed
	}
}

// runTimeout is the limit of one pass where the file sets none: generous, since it is
// there to end what hangs and not to judge what is slow.
func runTimeout(cells []Cell) float64 {
	longest := 0.0
	for _, c := range cells {
		longest = max(longest, c.Seconds)
	}
	return max(600, 10*longest)
}

// estimate is what a plan costs. Launches take as long as they did before, or as assumed.
func estimate(p *Plan) Estimate {
	e := Estimate{Basis: launchBasis(p)}
	seconds := map[string]float64{}
	for _, bm := range p.Benchmarks {
		for _, c := range bm.Cells {
			seconds[c.Hash] = c.Seconds / p.TimeScale
		}
	}
	targets := map[string]Target{}
	for _, t := range p.Targets {
		targets[t.Addr] = t
	}
	all := 0.0
	for _, round := range p.Rounds() {
		longest := 0.0
		for _, r := range round {
			long := 0.0
			for _, l := range r.Launches {
				e.Launches++
				e.Runs += len(l.Runs)
				start, runs := p.startSeconds(targets[l.Target], l.Target), 0.0
				for _, run := range l.Runs {
					runs += seconds[run.Cell]
				}
				long += start + runs
				gpus := float64(targets[l.Target].GPUs)
				e.GPUHours += gpus * (start + runs) / 3600
				e.StartHours += gpus * start / 3600
			}
			longest = max(longest, long)
			all += long
		}
		e.Seconds += longest
	}
	if p.Simulated != "" { // which holds none
		e.GPUHours, e.StartHours = 0, 0
	}
	if p.lanes() > 1 {
		e.Sequential = all
	}
	return e
}

// startSeconds is how long a launch of a target takes.
func (p *Plan) startSeconds(t Target, addr string) float64 {
	switch {
	case p.Attached(addr):
		return 0
	case p.Simulated != "":
		return simulatedLaunch
	case t.StartSeconds > 0:
		return t.StartSeconds
	}
	return launchAssumed
}

// launchBasis says where the time of launches comes from.
func launchBasis(p *Plan) string {
	if p.Simulated != "" {
		return "simulated launches, runs from their schedules"
	}
	var known []float64
	launched := 0
	for _, t := range p.Targets {
		if p.Attached(t.Addr) {
			continue
		}
		launched++
		if t.StartSeconds > 0 {
			known = append(known, t.StartSeconds)
		}
	}
	assumed := fmt.Sprintf("assumed %d s a launch", launchAssumed)
	switch {
	case launched == 0:
		assumed = "nothing is launched"
	case len(known) == launched:
		assumed = fmt.Sprintf("launches of %s as in stored sessions", secondsRange(known))
	case len(known) > 0:
		assumed = fmt.Sprintf("launches of %s as in stored sessions, others assumed at %d s", secondsRange(known), launchAssumed)
	}
	return assumed + ", runs from their schedules"
}

// secondsRange is "60 s", or "60 to 90 s" of several.
func secondsRange(list []float64) string {
	low, high := slices.Min(list), slices.Max(list)
	if text := fmt.Sprintf("%.0f s", high); fmt.Sprintf("%.0f s", low) == text {
		return text
	}
	return fmt.Sprintf("%.0f to %.0f s", low, high)
}

// fingerprint is a hash of everything that a resumed run must find unchanged: what is
// launched, sent, compared and in which order. Places in files and estimates may move.
func fingerprint(p *Plan) string {
	type target struct{ Addr, Engine, Model, Source, Settings string }
	targets := make([]target, len(p.Targets))
	for i, t := range p.Targets {
		targets[i] = target{t.Addr, t.Engine, t.Model, t.Source + " " + strings.Join(t.Argv, " "), t.Settings}
	}
	gates := make([]Gate, len(p.Gates))
	for i, g := range p.Gates {
		g.Range, g.Power = result.Range{}, nil
		gates[i] = g
	}
	return digest(struct {
		Schema    string
		Alpha     float64
		Simulated string
		TimeScale float64
		Targets   []target
		Repeats   []Repeat
		Looks     []int
		Gates     []Gate
		Cluster   *Cluster `json:",omitempty"`
	}{p.Schema, p.Alpha, p.Simulated, p.TimeScale, targets, p.Repeats, p.Looks, gates, p.Cluster})[:16]
}
