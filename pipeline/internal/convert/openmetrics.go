package convert

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// WriteOpenMetrics writes a document in the OpenMetrics text format: a gauge for each group of
// metrics, with the statistic, the cell and the repeat as labels.
func WriteOpenMetrics(w io.Writer, doc *result.Document) error {
	b := bufio.NewWriter(w)
	families := map[string][]string{}
	eachRun(doc, func(bench *result.Benchmark, c *result.Cell, r *result.Run) {
		at := metricLabels(bench, c, r)
		for _, id := range slices.Sorted(maps.Keys(r.Metrics)) {
			if v := r.Metrics[id]; !math.IsNaN(v) && !math.IsInf(v, 0) {
				name := familyOf(id)
				_, stat, _ := strings.Cut(id, ".")
				families[name] = append(families[name], fmt.Sprintf("%s{%s,stat=%s} %s\n", name, at, labelValue(stat), number(v)))
			}
		}
		if r.Sent > 0 {
			families[requestsFamily] = append(families[requestsFamily], fmt.Sprintf("%s{%s} %d\n", requestsFamily, at, r.Sent))
		}
		for _, w := range works {
			if v, ok := w.of(r); ok && w.family != "" {
				families[w.family] = append(families[w.family], fmt.Sprintf("%s{%s} %s\n", w.family, at, number(v)))
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(families)) {
		fmt.Fprintf(b, "# TYPE %s gauge\n", name)
		for _, line := range families[name] {
			fmt.Fprint(b, line)
		}
	}
	fmt.Fprintln(b, "# EOF")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write OpenMetrics: %w", err)
	}
	return nil
}

// unitSuffix maps our units to the base units of OpenMetrics.
var unitSuffix = map[metric.Unit]string{
	metric.Seconds: "_seconds", metric.TokensPerSecond: "_tokens_per_second", metric.RequestsPerSec: "_requests_per_second",
	metric.Fraction: "_ratio",
	metric.Bytes:    "_bytes",
}

func familyOf(id string) string {
	group, _, _ := strings.Cut(id, ".")
	return "pipeline_" + idSlug(group) + unitSuffix[unitOf(id)]
}

// unitOf returns the unit of an id. A statistic outside the registry has the unit of its group.
func unitOf(id string) metric.Unit {
	m, ok := metric.Lookup(id)
	if !ok {
		group, _, _ := strings.Cut(id, ".")
		m, _ = metric.Lookup(group + ".mean")
	}
	return m.Unit
}

// metricLabels returns the labels of a run. Axes have a prefix, so that their names differ from
// other labels. Equal names get a number.
func metricLabels(bench *result.Benchmark, c *result.Cell, r *result.Run) string {
	labels := []string{"benchmark=" + labelValue(bench.Addr), "cell=" + labelValue(c.Hash)}
	seen := map[string]int{}
	for _, v := range c.Values {
		name := "axis_" + idSlug(v.Name)
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s_%d", name, seen[name])
		}
		labels = append(labels, name+"="+labelValue(v.Value))
	}
	if tool, ok := r.Audit["tool"].(string); ok {
		labels = append(labels, "tool="+labelValue(tool))
	}
	labels = append(labels, fmt.Sprintf("repeat=\"%d\"", r.Repeat))
	if r.Pass > 0 {
		labels = append(labels, fmt.Sprintf("pass=\"%d\"", r.Pass))
	}
	return strings.Join(labels, ",")
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelValue(s string) string {
	return `"` + labelEscapes.Replace(strings.ToValidUTF8(s, "\ufffd")) + `"`
}
