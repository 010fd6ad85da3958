package reports

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// perRequest lists the metric groups of which every request has one value.
var perRequest = []string{"ttft", "tpot", "e2el"}

// oneLaunch states what one launch of each side shows: the change with the interval that its requests alone allow,
// and why that is not a verdict. It is empty if any comparison of a metric rests on more launches.
func (v *view) oneLaunch() model.Line {
	var texts, reasons []string
	metrics := 0
	for _, r := range v.rows {
		switch {
		case r.d.Kind != result.KindMetric:
			continue
		case r.d.N > 1 || r.d.Verdict != result.Inconclusive:
			return nil
		}
		metrics++
		reasons = append(reasons, r.d.Reason)
		for _, group := range perRequest {
			if strings.HasPrefix(r.d.Metric, group+".") {
				texts = append(texts, v.withinRun(r, group))
			}
		}
	}
	if metrics == 0 {
		return nil
	}
	const most = 3
	texts = distinct(texts)
	text := strings.Join(distinct(reasons), "; ") + "."
	if len(texts) > 0 {
		text += " Over the requests of these launches alone: " + strings.Join(texts[:min(most, len(texts))], ", ")
		if n := len(texts) - most; n > 0 {
			text += fmt.Sprintf(", and %d more", n)
		}
		text += "."
	}
	return model.Line{{Text: "One launch a side:", Style: model.Strong}, {Text: " " + text + " This is not a verdict: restarting the same " +
		"server changes these figures too, and one launch does not show by how much."}}
}

// distinct returns the texts that are not empty, each once.
func distinct(texts []string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, t := range texts {
		if !seen[t] {
			out = append(out, t)
		}
		seen[t] = true
	}
	return out
}

// withinRun returns the change of the mean of a group with its interval over requests: "TTFT mean +8.6 % (90 %
// interval +6.0 … +11.3 %)". It returns "" if a side lacks the mean or the spread of its requests.
func (v *view) withinRun(r verdictRow, group string) string {
	base, ok := v.cell(r.gate.Benchmark, r.d.BaseCell)
	head, found := v.cell(r.gate.Benchmark, r.d.Cell)
	m, known := metric.Lookup(group + ".mean")
	if !ok || !found || !known {
		return ""
	}
	a, varA := logMean(base.cell, group)
	b, varB := logMean(head.cell, group)
	if math.IsNaN(a+b) || math.IsNaN(varA+varB) {
		return ""
	}
	width := distuv.UnitNormal.Quantile(1-v.doc.Alpha) * math.Sqrt(varA+varB)
	text := fmt.Sprintf("%s %s (%s %s … %s %%)", m.Label, humanize.Percent(math.Expm1(b-a)), intervalName(v.doc.Alpha),
		humanize.PercentNumber(math.Expm1(b-a-width)), humanize.PercentNumber(math.Expm1(b-a+width)))
	if name := v.valuesName(r.d.Values); name != "" && len(v.cells) > 2 {
		text += " at " + name
	}
	return text
}

// logMean returns the logarithm of the mean of a group over the runs of a cell, and its variance if requests are
// independent (delta method); NaN if it is unknown.
func logMean(c *result.Cell, group string) (mean, variance float64) {
	mean, variance = math.NaN(), math.NaN()
	n := 0.0
	for _, r := range c.Current() {
		if r.Status != result.RunOK {
			continue
		}
		m, ok := r.Metrics[group+".mean"]
		sd, has := r.Metrics[group+".std"]
		requests := float64(r.Sent - r.Failed)
		if !ok || !has || !(m > 0) || requests < 2 {
			return math.NaN(), math.NaN()
		}
		if n++; n == 1 {
			mean, variance = 0, 0
		}
		mean += math.Log(m)
		variance += sd * sd / (m * m * requests)
	}
	return mean / n, variance / (n * n)
}
