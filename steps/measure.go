package steps

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// MeasureKind is the type of a measure's series.
type MeasureKind string

// The kinds of series.
const (
	MeasureCounter   MeasureKind = "counter"
	MeasureHistogram MeasureKind = "histogram"
	MeasureGauge     MeasureKind = "gauge"
)

// MeasureSource names the owner of the metrics that a measure reads.
type MeasureSource string

// The sources of measures.
const (
	MeasureServers MeasureSource = "servers"
	MeasureRouter  MeasureSource = "router"
	MeasureURL     MeasureSource = "url"
)

// MeasurePer is the divisor of a counter's increase.
type MeasurePer string

// The divisors of a counter.
const (
	PerSecond      MeasurePer = "second"
	PerRequest     MeasurePer = "request"
	PerOutputToken MeasurePer = "output_token"
)

// MeasureStatistic is the statistic of a histogram's increase or of a gauge's samples.
type MeasureStatistic string

// The statistics. A gauge has mean and max, a histogram all others but max.
const (
	MeasureMean MeasureStatistic = "mean"
	MeasureMax  MeasureStatistic = "max"
)

// MeasureAcross is the way to join a gauge's series at one moment into one value.
type MeasureAcross string

// The ways to join the series of a gauge.
const (
	AcrossSum  MeasureAcross = "sum"
	AcrossMean MeasureAcross = "mean"
	AcrossMax  MeasureAcross = "max"
)

// measureQuantiles are the percentiles of a histogram, with the requests that make one more than luck.
var measureQuantiles = []struct {
	statistic   MeasureStatistic
	quantile    float64
	minRequests int
}{{"p50", 0.5, 20}, {"p90", 0.9, 100}, {"p95", 0.95, 200}, {"p99", 0.99, 1000}}

// Measure is a metric that a file declares: it is computed from a series in Prometheus' text format over the
// measured window of a run.
type Measure struct {
	Name   string        `json:"name"` // of the block
	Label  string        `json:"label,omitempty"`
	Source MeasureSource `json:"source"`
	URL    string        `json:"url,omitempty"` // of MeasureURL
	// Series is its name: of a counter as it is shown, "_total" included; of a histogram without "_bucket".
	Series string      `json:"series"`
	Kind   MeasureKind `json:"kind"`
	// Labels that lines must have with these values, and LabelsMatch regular expressions for whole values.
	Labels      map[string]string `json:"labels,omitempty"`
	LabelsMatch map[string]string `json:"labels_match,omitempty"`
	// Statistic of a histogram or gauge, and Across of a gauge.
	Statistic MeasureStatistic `json:"statistic,omitempty"`
	Across    MeasureAcross    `json:"across,omitempty"`
	// Per, or another counter Over with the same labels, is the divisor of a counter's increase.
	Per  MeasurePer `json:"per,omitempty"`
	Over string     `json:"over,omitempty"`
	// AbsentIsZero is true of counters that are shown from their first event on.
	AbsentIsZero bool `json:"absent_is_zero,omitempty"`
	// Factor turns the series' unit into Unit.
	Factor float64          `json:"factor"`
	Unit   metric.Unit      `json:"unit"`
	Better metric.Direction `json:"better"`
	Scale  metric.Scale     `json:"scale"`
}

// ID of the metric: "measure.NAME".
func (m Measure) ID() string { return metric.DeclaredGroup + "." + m.Name }

// Quantile returns the requested quantile of a histogram, or 0 for its mean.
func (m Measure) Quantile() float64 {
	for _, q := range measureQuantiles {
		if q.statistic == m.Statistic {
			return q.quantile
		}
	}
	return 0
}

// Metric returns the metric that the measure declares.
func (m Measure) Metric() metric.Metric {
	out := metric.Metric{
		ID: m.ID(), Group: metric.DeclaredGroup, Stat: m.Name, Label: cmp.Or(m.Label, m.Name), Unit: m.Unit, Direction: m.Better, Scale: m.Scale,
		Level: metric.RunLevel, MinRequests: 1, Quantile: m.Quantile(), Counted: true, Definition: m.Definition(), Source: "the file",
	}
	for _, q := range measureQuantiles {
		if q.statistic == m.Statistic {
			out.MinRequests = q.minRequests
		}
	}
	return out
}

// Selector is the series with its labels, as PromQL writes it.
func (m Measure) Selector() string {
	var parts []string
	for _, of := range []struct {
		labels   map[string]string
		operator string
	}{{m.Labels, "="}, {m.LabelsMatch, "=~"}} {
		for _, name := range slices.Sorted(maps.Keys(of.labels)) {
			parts = append(parts, fmt.Sprintf("%s%s%q", name, of.operator, of.labels[name]))
		}
	}
	if len(parts) == 0 {
		return m.Series
	}
	return m.Series + "{" + strings.Join(parts, ",") + "}"
}

// Definition describes in one sentence which series is read and how the value is computed from it.
func (m Measure) Definition() string {
	from := map[MeasureSource]string{MeasureServers: "all servers of the target", MeasureRouter: "the target's router",
		MeasureURL: m.URL}[m.Source]
	text := ""
	switch m.Kind {
	case MeasureCounter:
		text = fmt.Sprintf("what the counter %s of %s rose by over the measured window", m.Selector(), from)
		switch {
		case m.Over != "":
			text += " / what " + m.Over + " rose by"
		case m.Per != "":
			text += " / " + map[MeasurePer]string{PerSecond: "its seconds", PerRequest: "requests sent", PerOutputToken: "output tokens"}[m.Per]
		}
	case MeasureHistogram:
		text = fmt.Sprintf("%s of what the histogram %s of %s counted over the measured window", m.Statistic, m.Selector(), from)
		if m.Quantile() > 0 {
			text += ", linear within a bucket"
		}
	case MeasureGauge:
		text = fmt.Sprintf("%s over the measured window of the %s of the gauge %s over all its series of %s", m.Statistic, m.Across,
			m.Selector(), from)
	}
	if m.Factor != 1 {
		text += fmt.Sprintf(", times %g", m.Factor)
	}
	return text
}
