package cli

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/spf13/cobra"
)

// defaultSeries are the metrics that the history shows where none is named.
var defaultSeries = []string{"ttft.p50", "ttft.p99", "tpot.p50", "itl.p99", "e2el.p50", "output_throughput.mean"}

func (a *app) historyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "history", Short: "Report how metrics developed, and where they changed"}
	cmd.AddCommand(a.historyReport(), a.historyIssues())
	return cmd
}

// metricID returns the ID of a metric by any of its names.
func metricID(name string) (string, error) {
	m, ok := metric.Lookup(name)
	if !ok {
		return "", fmt.Errorf("there is no metric %q; did you mean %s?", name, metric.Suggest(name))
	}
	return m.ID, nil
}

// metricIDs returns the IDs of metrics, those of defaultSeries for none.
func metricIDs(names []string) ([]string, error) {
	if len(names) == 0 {
		return defaultSeries, nil
	}
	ids := make([]string, len(names))
	for i, name := range names {
		var err error
		if ids[i], err = metricID(name); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// valueText is a value with its unit; times in milliseconds.
func valueText(m metric.Metric, v float64) string {
	if m.Unit == "s" {
		return fmt.Sprintf("%.4g ms", 1000*v)
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, m.Unit))
}

// changeBy is a change in the unit in which the metric's changes are given.
func changeBy(m metric.Metric, d float64) string {
	if m.Scale == metric.Log {
		return fmt.Sprintf("%.1f %%", 100*d)
	}
	return valueText(m, d)
}
