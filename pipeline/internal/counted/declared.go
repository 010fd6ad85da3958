package counted

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

const (
	// leastSamples is the minimum number of samples of a gauge for a mean or a maximum.
	leastSamples = 5
	// mostUnsampled is the maximum share of a run between two samples. With larger gaps, a server too busy to show
	// its metrics would be described by its quiet times.
	mostUnsampled = 0.5
)

// errAbsent is the error for a series that does not exist.
var errAbsent = lasting{errors.New("no series of this name and with these labels is there")}

// per maps the divisors of a counter's increase to quantities.
var per = map[steps.MeasurePer]quantity{
	steps.PerSecond:      counter(metric.MeasuredSeconds),
	steps.PerRequest:     counter(metric.SentRequests),
	steps.PerOutputToken: counter(metric.OutputTokens),
}

// declared returns the formula of a measure that the file declares.
func declared(m steps.Measure) formula {
	f := formula{metric: m.ID(), factor: m.Factor}
	switch m.Kind {
	case steps.MeasureCounter:
		f.of, f.by = riseOf(m, 0), per[m.Per]
		if m.Over != "" {
			f.by = riseOf(m, 1)
		}
	case steps.MeasureHistogram:
		f.of = seriesOf(m, func(_ *Tally, found []*series) (float64, error) { return ofHistogram(m, found) })
	case steps.MeasureGauge:
		f.of = seriesOf(m, func(t *Tally, found []*series) (float64, error) { return ofGauge(m, found, t.began, t.ended) })
	}
	return f
}

// seriesOf returns a quantity computed from a measure's series of all programs.
func seriesOf(m steps.Measure, of func(*Tally, []*series) (float64, error)) quantity {
	return quantity{m.Selector(), func(t *Tally) (float64, error) {
		found, err := t.found(m)
		if err != nil {
			return 0, err
		}
		return of(t, found)
	}}
}

// riseOf returns the increase of a measure's counter (i = 0) or of its divisor (i = 1).
func riseOf(m steps.Measure, i int) quantity {
	q := seriesOf(m, func(_ *Tally, found []*series) (float64, error) {
		list, err := rises(m, found, i)
		if err == nil && i == 1 && len(list) == 0 {
			err = fmt.Errorf("%s: %w", m.Over, errAbsent)
		}
		sum := 0.0
		for _, r := range list {
			sum += r.Sum("")
		}
		return sum, err
	})
	if i == 1 {
		q.name = m.Over
	}
	return q
}

// found returns a measure's series of all programs.
func (t *Tally) found(m steps.Measure) ([]*series, error) {
	var found []*series
	for _, p := range t.programs {
		for _, x := range p.measures {
			if x.measure.Name != m.Name {
				continue
			}
			if err := errors.Join(p.err, x.err); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Label, err)
			}
			found = append(found, x)
		}
	}
	there := slices.ContainsFunc(found, func(x *series) bool { return len(x.after[0].Values)+len(x.before[0].Values) > 0 })
	if !there && !m.AbsentIsZero || len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", m.Selector(), errAbsent)
	}
	return found, nil
}

// rises returns the increases of the i-th series of a measure, by program. Servers count from zero, so a new line
// rose from zero. An exporter of the machine may have counted for months before it first shows a line.
func rises(m steps.Measure, found []*series, i int) ([]engine.Rise, error) {
	var out []engine.Rise
	for _, x := range found {
		if m.Source == steps.MeasureURL && !m.AbsentIsZero {
			if key, is := engine.FirstSeen(x.before[i], x.after[i]); is {
				return nil, fmt.Errorf("%s was not there before the run, so what it rose by is not known: show it from the start, or in the warm-up; "+
					"absent_is_zero is for counters that begin at zero when they are first shown", key)
			}
		}
		rise, err := engine.RiseOf(x.before[i], x.after[i])
		if err != nil {
			return nil, err
		}
		if len(rise.Values) > 0 {
			out = append(out, rise)
		}
	}
	return out, nil
}

func ofHistogram(m steps.Measure, found []*series) (float64, error) {
	list, err := rises(m, found, 0)
	if err != nil {
		return 0, err
	}
	h, err := engine.HistogramOf(list)
	switch {
	case err != nil:
		return 0, err
	case h.Count <= 0:
		return 0, fmt.Errorf("%s counted nothing in the measured window", m.Selector())
	case m.Quantile() > 0:
		return h.Quantile(m.Quantile())
	}
	return h.Sum / h.Count, nil
}

// ofGauge combines the samples of all programs: each sample with the latest of the others.
func ofGauge(m steps.Measure, found []*series, began, ended time.Time) (float64, error) {
	type seen struct {
		program int
		sample
	}
	var all []seen
	gap := time.Duration(0) // longest time without a sample of a program
	last := map[int]sample{}
	for i, x := range found {
		before := began
		for _, s := range x.samples {
			if s.at.After(began) && s.at.Before(ended) {
				all = append(all, seen{i, s})
				before, gap = s.at, max(gap, s.at.Sub(before))
			}
		}
		gap = max(gap, ended.Sub(before))
	}
	slices.SortStableFunc(all, func(a, b seen) int { return a.at.Compare(b.at) })
	var values []float64
	for _, s := range all {
		last[s.program] = s.sample
		if len(last) == len(found) {
			values = append(values, across(m.Across, last))
		}
	}
	if len(values) < leastSamples {
		return 0, fmt.Errorf("%s was read %d times within the run, and %d are the least that say something: measure for longer", m.Selector(),
			len(values), leastSamples)
	}
	if lasted := ended.Sub(began); gap.Seconds() > mostUnsampled*lasted.Seconds() {
		return 0, fmt.Errorf("%s was not read for %s of a run of %s", m.Selector(), gap.Round(time.Millisecond), lasted.Round(time.Millisecond))
	}
	if m.Statistic == steps.MeasureMax {
		return slices.Max(values), nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)), nil
}

func across(how steps.MeasureAcross, at map[int]sample) float64 {
	sum, n, largest := 0.0, 0.0, math.Inf(-1)
	for i := range len(at) {
		sum, n, largest = sum+at[i].sum, n+at[i].n, max(largest, at[i].largest)
	}
	switch how {
	case steps.AcrossMean:
		return sum / n
	case steps.AcrossMax:
		return largest
	}
	return sum
}
