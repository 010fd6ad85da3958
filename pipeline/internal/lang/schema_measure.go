package lang

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// measureUnits lists the registry's units that a measure can have. Any other text is shown as it is.
var measureUnits = []metric.Unit{metric.Seconds, metric.Fraction, metric.Count, metric.Tokens, metric.Bytes, metric.JoulesPerToken,
	metric.TokensPerSecond, metric.RequestsPerSec}

// The forms of names of series and labels in Prometheus' text format, and of units that fit into a column.
var (
	seriesName = steps.Matching(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`, "is not a valid name of a series",
		"It is a name as /metrics shows it, without labels: vllm:num_preemptions_total. Labels are the argument labels.")
	unitForm = steps.Matching(`^[\pL\pN%/·^² .-]{1,16}$`, "is not a valid unit",
		"It has up to 16 letters, digits and slashes, such as \"J/tok\".")
	labelName = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// measureSchema describes the measure block.
func measureSchema() steps.Schema {
	units := make([]string, len(measureUnits))
	for i, u := range measureUnits {
		units[i] = string(u)
	}
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "description", Type: cty.String, Doc: "What the measure is called in reports, such as \"Requests swapped\"; its name unless set."},
		{Name: "series", Type: cty.String, Required: true, Rule: seriesName,
			Doc: "Name of the series as /metrics shows it: of a counter with its _total, of a histogram without _bucket, _sum and _count."},
		{Name: "kind", Type: cty.String, Required: true, Enum: enum.Values{
			{Name: string(steps.MeasureCounter), Doc: "what it rose by over the measured window"},
			{Name: string(steps.MeasureHistogram), Doc: "mean or percentile of what it counted over the measured window"},
			{Name: string(steps.MeasureGauge), Doc: "mean or largest of what it was, once a second, within the measured window"},
		}, Doc: "How the series counts."},
		{Name: "source", Type: cty.String, Default: cty.StringVal(string(steps.MeasureServers)), Enum: enum.Values{
			{Name: string(steps.MeasureServers), Doc: "/metrics of all servers of the target"},
			{Name: string(steps.MeasureRouter), Doc: "/metrics of the target's router"},
			{Name: string(steps.MeasureURL), Doc: "the argument url"},
		}, Doc: "Whose metrics are read."},
		{Name: "url", Type: cty.String, Doc: "What is read where source is url, such as \"http://127.0.0.1:9400/metrics\": an exporter of the " +
			"machine. It is read from where the command runs, and must not change with the side."},
		{Name: "labels", Type: cty.Map(cty.String),
			Doc: "Labels that a line must have with just these values; all lines of the series count unless set."},
		{Name: "labels_match", Type: cty.Map(cty.String), Doc: "Labels whose whole value must match a regular expression (RE2)."},
		{Name: "statistic", Type: cty.String, Enum: enum.Of(steps.MeasureMean, steps.MeasureMax, "p50", "p90", "p95", "p99"),
			Doc: "Of a histogram mean or a percentile, linear within a bucket; of a gauge mean or max. mean unless set."},
		{Name: "across", Type: cty.String, Enum: enum.Of(steps.AcrossSum, steps.AcrossMean, steps.AcrossMax),
			Doc: "Of a gauge: how the series of all servers and labels become one value at a moment. sum unless set."},
		{Name: "per", Type: cty.String, Enum: enum.Of(steps.PerSecond, steps.PerRequest, steps.PerOutputToken),
			Doc: "Of a counter: divide by the seconds of the measured window, by the requests sent, or by the output tokens of all requests."},
		{Name: "over", Type: cty.String, Rule: seriesName,
			Doc: "Of a counter: divide by what another counter with the same labels rose by, in place of per."},
		{Name: "absent_is_zero", Type: cty.Bool, Default: cty.False, Doc: "Of a counter: a series that is not shown is zero. Some programs " +
			"show a counter from its first event on. Without it such a series has no value."},
		{Name: "factor", Type: cty.Number, Rule: steps.AboveZero, Default: cty.NumberIntVal(1),
			Doc: "What values are multiplied by, so that they are in unit: 0.001 for millijoules."},
		{Name: "unit", Type: cty.String, Required: true, Rule: unitForm, Doc: "Unit of the value. " + strings.Join(units, ", ") +
			" are written with their prefixes, fraction as percentage; any other is shown as it is."},
		{Name: "better", Type: cty.String, Required: true, Enum: enum.Of(metric.LowerIsBetter, metric.HigherIsBetter),
			Doc: "The better direction."},
		{Name: "compare", Type: cty.String, Enum: enum.Values{
			{Name: "ratio", Doc: "a margin is a percentage; for values that are never zero"},
			{Name: "difference", Doc: "a margin is in the unit: a time, percentage points, or a number"},
		}, Doc: "How two values are compared. ratio unless set, difference of a fraction."},
	}}
}

// readMeasure reads a measure block and checks it beyond types.
func readMeasure(name string, o steps.Object) (steps.Measure, []steps.Problem) {
	m := steps.Measure{
		Name: name, Label: o.Text("description"), Source: steps.MeasureSource(o.Text("source")), URL: o.Text("url"), Series: o.Text("series"),
		Kind:      steps.MeasureKind(o.Text("kind")),
		Statistic: steps.MeasureStatistic(o.Text("statistic")), Across: steps.MeasureAcross(o.Text("across")),
		Per: steps.MeasurePer(o.Text("per")), Over: o.Text("over"), AbsentIsZero: o.Text("absent_is_zero") == "true", Factor: o.Float("factor"),
		Unit: metric.Unit(o.Text("unit")), Better: metric.Direction(o.Text("better")), Scale: metric.Log,
	}
	if o.Text("compare") == "difference" || !o.Has("compare") && m.Unit == metric.Fraction {
		m.Scale = metric.Difference
	}
	r := measureReader{Object: o, found: measureSchema().Check(o)}
	m.Labels, m.LabelsMatch = r.labels("labels"), r.labels("labels_match")
	r.check(&m)
	return m, r.found
}

// measureReader collects the problems of a measure block.
type measureReader struct {
	steps.Object
	found []steps.Problem
}

func (r *measureReader) add(name, summary, detail string) {
	r.found = append(r.found, steps.Problem{Path: []string{name}, Summary: summary, Detail: detail})
}

// labels reads a map of labels.
func (r *measureReader) labels(name string) map[string]string {
	if !r.Known(name) {
		return nil
	}
	out := map[string]string{}
	for label, v := range r.Value(name).AsValueMap() {
		if v.IsNull() {
			continue
		}
		out[label] = v.AsString()
		if !labelName.MatchString(label) {
			r.add(name, fmt.Sprintf("%q is not a valid label name", label), "It has letters, digits and underscores, such as finished_reason.")
		}
		if _, err := regexp.Compile(out[label]); err != nil && name == "labels_match" {
			r.add(name, fmt.Sprintf("%s is not a valid regular expression", label), err.Error()+".")
		}
	}
	return out
}

// kindArguments lists the arguments that only some kinds of series have.
var kindArguments = []struct {
	name  string
	kinds []steps.MeasureKind
}{
	{"statistic", []steps.MeasureKind{steps.MeasureHistogram, steps.MeasureGauge}},
	{"across", []steps.MeasureKind{steps.MeasureGauge}},
	{"per", []steps.MeasureKind{steps.MeasureCounter}},
	{"over", []steps.MeasureKind{steps.MeasureCounter}},
}

// check reports arguments that do not fit together, and sets defaults.
func (r *measureReader) check(m *steps.Measure) {
	for _, a := range kindArguments {
		if r.Has(a.name) && m.Kind != "" && !slices.Contains(a.kinds, m.Kind) {
			r.add(a.name, fmt.Sprintf("a %s has no %s", m.Kind, a.name), fmt.Sprintf("Remove it, or set kind to what the TYPE line of %s says.",
				m.Series))
		}
	}
	switch {
	case m.Kind == steps.MeasureGauge && m.Quantile() > 0:
		r.add("statistic", "a gauge has no percentile", "What it was between two looks is not known. Write \"mean\" or \"max\".")
	case m.Kind == steps.MeasureHistogram && m.Statistic == steps.MeasureMax:
		r.add("statistic", "a histogram has no max", "It counts in buckets. Write a percentile such as \"p99\", or \"mean\".")
	case m.Per != "" && m.Over != "":
		r.add("over", "per and over exclude each other", "The increase is divided by one of them.")
	case m.AbsentIsZero && m.Kind != steps.MeasureCounter && m.Kind != "":
		r.add("absent_is_zero", fmt.Sprintf("a %s that is absent is not zero", m.Kind),
			"Remove the argument: only counters are shown from their first event on.")
	case m.Unit == metric.Fraction && m.Scale == metric.Log && r.Has("compare"):
		r.add("compare", "a fraction is compared by difference",
			"Its margin is in percentage points. Remove the argument, or choose another unit.")
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, has := strings.CutSuffix(m.Series, suffix); has && m.Kind == steps.MeasureHistogram {
			r.add("series", fmt.Sprintf("series ends in %s", suffix), fmt.Sprintf("A histogram is named without it: %q.", base))
		}
	}
	if m.Kind != steps.MeasureCounter && m.Statistic == "" {
		m.Statistic = steps.MeasureMean
	}
	if m.Kind == steps.MeasureGauge && m.Across == "" {
		m.Across = steps.AcrossSum
	}
	r.checkURL(m)
}

func (r *measureReader) checkURL(m *steps.Measure) {
	if (m.Source == steps.MeasureURL) != r.Has("url") {
		if r.Has("url") {
			r.add("url", "url has no meaning here", "Set source = \"url\" to read it, or remove it.")
		} else {
			r.add("source", "source is url, and there is none", "Set url, such as \"http://127.0.0.1:9400/metrics\".")
		}
		return
	}
	if m.URL == "" {
		return
	}
	if u, err := url.Parse(m.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		r.add("url", "url must be the URL of metrics",
			"Write http:// or https:// with host, port and path, without a password: \"http://127.0.0.1:9400/metrics\".")
	}
}
