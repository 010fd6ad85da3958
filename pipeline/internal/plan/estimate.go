package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// Assumptions about runs whose length no schedule determines, in seconds.
const (
	unlimitedAssumed = 30 // a burst or a closed loop whose end is not known beforehand
	drainAssumed     = 3  // the last answers, the reset of caches, the warm-up
)

// seconds estimates one pass of a workload. It reads the schedule of a trace from its file, and reports
// problems of the file and of its replay.
func (b *builder) seconds(src *config.Benchmark, w steps.Workload) float64 {
	if w.Dataset.Sum == "" || b.cfg.Stored {
		return runSeconds(w, b.cfg.Arrivals)
	}
	var span time.Duration
	err := b.cfg.Files.CheckTrace(w.Dataset, w.Load)
	if err == nil && w.Load.Recorded() {
		span, err = b.cfg.Files.Span(w.Dataset, w.Load.Requests)
	}
	if err != nil {
		b.fail(src.Range, "the trace cannot be replayed", diag.Sentence(err))
	}
	for _, note := range b.cfg.Files.Notes(w.Dataset) {
		if text := w.Dataset.Path + ": " + note; !slices.Contains(b.traces, text) {
			b.traces = append(b.traces, text)
		}
	}
	if err != nil || !w.Load.Recorded() {
		return runSeconds(w, b.cfg.Arrivals)
	}
	if w.Load.Duration > 0 {
		span = min(span, w.Load.Duration)
	}
	return span.Seconds() + drainAssumed
}

// answerAssumed is the assumed time of one greedy answer, in seconds.
const answerAssumed = 1.0

// runSeconds estimates one pass of a workload from its schedule.
func runSeconds(w steps.Workload, arrivals load.Arrivals) float64 {
	l := w.Load
	switch {
	case w.Answers != nil:
		return math.Ceil(float64(l.Requests)/float64(max(l.MaxConcurrency, 1))) * answerAssumed
	case l.Search != nil:
		return searchSeconds(w, arrivals)
	case l.Duration > 0:
		return l.Duration.Seconds() + drainAssumed
	case l.Rate > 0 && l.Ramp == 0 && len(l.Options) == 0: // what the schedule of a rate ends at
		return float64(l.Requests+w.Warmup)/l.Rate + drainAssumed
	}
	if length := arrivals.Length(l); length > 0 {
		return length.Seconds() + warmupSeconds(w) + drainAssumed
	}
	if l.ThinkTime > 0 {
		turns := math.Ceil(float64(l.Requests) / float64(max(l.MaxConcurrency, 1)))
		return turns*l.ThinkTime.Seconds() + unlimitedAssumed
	}
	return unlimitedAssumed
}

// runTimeout returns the timeout of one pass if the file sets none. It is generous, because it ends hanging
// runs and does not judge slow ones.
func runTimeout(cells []Cell) float64 {
	longest := 0.0
	for _, c := range cells {
		longest = max(longest, c.Seconds)
	}
	return max(600, 10*longest)
}

// warmupSeconds returns how long the warm-up of one pass takes, 0 if its requests have no rate.
func warmupSeconds(w steps.Workload) float64 {
	if w.Load.Rate <= 0 {
		return 0
	}
	return float64(w.Warmup) / w.Load.Rate
}

// estimate returns what a plan costs. Launches take as long as they did before, or as in their model. Unknown
// start-up times are left out and counted.
func estimate(p *Plan) Estimate {
	e := Estimate{Basis: launchBasis(p)}
	seconds, warmups := map[string]float64{}, map[string]float64{}
	for _, bm := range p.Benchmarks {
		for _, c := range bm.Cells {
			seconds[c.Hash], warmups[c.Hash] = c.Seconds/p.TimeScale, warmupSeconds(c.Workload)/p.TimeScale
		}
	}
	all, held, starting, warming := 0.0, 0.0, 0.0, 0.0
	for _, round := range p.Rounds() {
		longest := 0.0
		for _, r := range round {
			long := 0.0
			for _, l := range r.Launches {
				e.Launches++
				e.Runs += len(l.Runs)
				t := p.Target(l.Target)
				start, runs, warmup := t.StartSeconds, 0.0, 0.0
				for _, run := range l.Runs {
					runs += seconds[run.Cell]
					warmup += min(warmups[run.Cell], seconds[run.Cell])
				}
				long += start + runs
				if t.Attached {
					continue
				}
				if start == 0 {
					e.UnknownStarts++
				}
				weight := float64(max(t.GPUs, 1))
				held, starting, warming = held+weight*(start+runs), starting+weight*start, warming+weight*warmup
				e.Hours = e.Plus(t.OfLaunch(start + runs).Hours)
			}
			longest = max(longest, long)
			all += long
		}
		e.Seconds += longest
	}
	if held > 0 {
		e.StartShare, e.WarmupShare = starting/held, warming/held
	}
	if p.OverSockets() {
		e.Hours, e.StartShare, e.WarmupShare = result.Hours{}, 0, 0
	}
	if p.lanes() > 1 {
		e.Sequential = all
	}
	return e
}

// launchBasis describes where the time of launches comes from.
func launchBasis(p *Plan) string {
	var known []float64
	launched := 0
	for _, t := range p.Targets {
		if t.Attached {
			continue
		}
		launched++
		if t.StartSeconds > 0 {
			known = append(known, t.StartSeconds)
		}
	}
	source := "as stored before"
	if p.Simulated != "" {
		source = "as in their model"
	}
	basis := "no stored session or calibration says how long a start takes"
	switch {
	case launched == 0:
		basis = "nothing is launched"
	case len(known) == launched:
		basis = fmt.Sprintf("starts of %s %s", secondsRange(known), source)
	case len(known) > 0:
		basis = fmt.Sprintf("starts of %s %s, nothing is stored of those of %s", secondsRange(known), source,
			humanize.Count(launched-len(known), "other target"))
	}
	return basis + "; runs from their schedules"
}

// secondsRange returns "60 s", or "60 to 90 s" for different values.
func secondsRange(list []float64) string {
	low, high := slices.Min(list), slices.Max(list)
	if text := fmt.Sprintf("%.2g s", high); high < 10 && fmt.Sprintf("%.2g s", low) == text {
		return text
	}
	if text := fmt.Sprintf("%.0f s", high); high >= 10 && fmt.Sprintf("%.0f s", low) == text {
		return text
	}
	return fmt.Sprintf("%.3g to %.3g s", low, high)
}

// fingerprint returns a hash of everything that a resumed run must find unchanged: what is launched, sent and
// compared, in which order. Places in files and estimates may change.
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
		Cluster   *Cluster  `json:",omitempty"`
		Resident  string    `json:",omitempty"`
		Machines  *Machines `json:",omitempty"`
	}{p.Schema, p.Alpha, p.Simulated, p.TimeScale, targets, p.Repeats, p.Looks, gates, p.Cluster, p.Resident, p.Machines})[:16]
}
