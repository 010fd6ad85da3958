package counted

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// quantity is something counted during a run; of returns its value, or an error if the value is unknown.
type quantity struct {
	name string // for messages
	of   func(*Tally) (float64, error)
}

// counter returns the increase of a counter.
func counter(name string) quantity {
	return quantity{name, func(t *Tally) (float64, error) { return t.rise(name) }}
}

// formula computes a metric from quantities counted during a run: (plus + of/by) · factor.
type formula struct {
	metric string // id
	of, by quantity
	plus   float64
	factor float64 // 0 means 1
}

// formulas returns the formulas of metrics and of the measures that a file declares.
func formulas(metrics []metric.Metric, measures []steps.Measure) []formula {
	var out []formula
	for _, m := range metrics {
		for _, f := range m.Formulas {
			out = append(out, formula{metric: m.ID, of: counter(f.Of), by: counter(f.By), plus: f.Plus, factor: f.Factor})
		}
	}
	for _, m := range measures {
		out = append(out, declared(m))
	}
	return out
}

// value evaluates a formula for the run.
func (t *Tally) value(f formula) (float64, error) {
	of, err := f.of.of(t)
	if err != nil {
		return 0, err
	}
	by := 1.0
	if f.by.of != nil {
		if by, err = f.by.of(t); err != nil {
			return 0, err
		}
	}
	if by <= 0 {
		return 0, fmt.Errorf("%s did not rise, so there is nothing to divide by", f.by.name)
	}
	value := (f.plus + of/by) * cmp.Or(f.factor, 1)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, errors.New("the result is not a finite number")
	}
	return value, nil
}

// Uncounted gives the reason why a metric has no value in a run.
type Uncounted struct {
	Metric string
	Err    error
}

// Count adds metrics, and the measures that a file declares, to the values of a run. It returns those without a
// value.
func (t *Tally) Count(metrics []metric.Metric, measures []steps.Measure, values map[string]float64) []Uncounted {
	var out []Uncounted
	for _, f := range formulas(metrics, measures) {
		if _, known := values[f.metric]; known {
			continue
		}
		value, err := t.value(f)
		out = slices.DeleteFunc(out, func(old Uncounted) bool { return old.Metric == f.metric && (err == nil || Permanent(old.Err)) })
		if err == nil {
			values[f.metric] = value
		} else if !slices.ContainsFunc(out, func(old Uncounted) bool { return old.Metric == f.metric }) {
			out = append(out, Uncounted{f.metric, err})
		}
	}
	return out
}

// Exceeding is a metric larger than the workload allows.
type Exceeding struct {
	Metric      metric.Metric
	Value, Most float64
}

// Exceeded returns the metrics of a run that exceed what the workload allows, for example because prompts came back
// that should have been new.
func Exceeded(metrics []metric.Metric, d steps.Dataset, values map[string]float64) []Exceeding {
	most, known := dataset.Repeated(d)
	if !known {
		return nil
	}
	var out []Exceeding
	for _, m := range metrics {
		if value, measured := values[m.ID]; measured && m.Implied != nil && value > most+m.Implied.Margin {
			out = append(out, Exceeding{m, value, most})
		}
	}
	return out
}
