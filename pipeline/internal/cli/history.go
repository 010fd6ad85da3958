package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/spf13/cobra"
)

// defaultSeries are the metrics that the history shows where none is named.
var defaultSeries = []string{"ttft.p50", "ttft.p99", "tpot.p50", "itl.p99", "e2el.p50", "output_throughput.mean"}

func (a *app) historyCommand() *cobra.Command {
	var f historyFlag
	var branch, cell string
	var metrics []string
	var asJSON, markdown, changed bool
	cmd := &cobra.Command{
		Use: "history", Short: "Show how metrics developed, and where they changed", Args: cobra.NoArgs,
		Long: "Shows each metric of each cell over the sessions of the history, with the points at which it changed:\n" +
			"confirmed with at least 3 sessions after it, suspected with fewer. A change point says that something changed, not what.\n" +
			"Sessions on other machines, of other models and of the simulator are series of their own.",
		RunE: interruptible(func(ctx context.Context, _ []string) error {
			metrics, err := metricIDs(metrics)
			if err != nil {
				return exit(exitUsage, err)
			}
			h, err := a.readHistory(ctx, f)
			if err != nil {
				return err
			}
			series, err := h.SeriesOf(branch, metrics)
			if err != nil {
				return exit(exitInfrastructure, err)
			}
			series = slices.DeleteFunc(series, func(s history.Series) bool {
				return changed && len(s.Changes) == 0 || cell != "" && cell != s.Label && cell != s.Cell
			})
			switch {
			case asJSON:
				return a.writeJSON(series)
			case markdown:
				return writeSeriesMarkdown(a.Out, series)
			}
			return writeSeries(a.Out, series)
		}),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&branch, "branch", "", "only sessions of this `branch`")
	cmd.Flags().StringVar(&cell, "cell", "", "only the cell with this `label` or hash")
	cmd.Flags().StringArrayVar(&metrics, "metric", nil, "a `metric` to show, such as ttft.p99 (repeatable)")
	cmd.Flags().BoolVar(&changed, "changed", false, "only series that changed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a markdown table")
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

func writeSeries(w io.Writer, all []history.Series) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "the history has no such series")
		return err
	}
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "cell\tmetric\tsessions\tlast\tnoise\tcourse\tchanges")
	for _, s := range all {
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", line(seriesName(s)), s.MetricID, len(s.Points), lastValue(s), noiseText(s),
			course(s), line(strings.Join(changesText(s), "; ")))
	}
	return tw.Flush()
}

func writeSeriesMarkdown(w io.Writer, all []history.Series) error {
	var b strings.Builder
	b.WriteString("| cell | metric | sessions | last | noise | changes |\n|---|---|--:|--:|--:|---|\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s |\n", escape.Inline(seriesName(s), 200), escape.Inline(s.MetricID, 60), len(s.Points),
			lastValue(s), noiseText(s), escape.Inline(strings.Join(changesText(s), "; "), 400))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func seriesName(s history.Series) string {
	name := strings.TrimSpace(strings.TrimPrefix(s.Benchmark, "benchmark.") + " " + s.Label)
	if s.Simulated != "" {
		return name + " (simulated)"
	}
	return name + " on " + s.Machine
}

func lastValue(s history.Series) string {
	return valueText(s.Metric, s.Points[len(s.Points)-1].Value)
}

// valueText is a value with its unit; times in milliseconds.
func valueText(m metric.Metric, v float64) string {
	if m.Unit == "s" {
		return fmt.Sprintf("%.4g ms", 1000*v)
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, m.Unit))
}

func noiseText(s history.Series) string {
	if s.Noise == 0 {
		return "–"
	}
	return changeBy(s.Metric, s.Noise)
}

// changeBy is a change in the unit in which the metric's changes are given.
func changeBy(m metric.Metric, d float64) string {
	if m.Scale == metric.Log {
		return fmt.Sprintf("%.1f %%", 100*d)
	}
	return valueText(m, d)
}

func changesText(s history.Series) []string {
	var out []string
	for _, c := range s.Changes {
		how := "better"
		if c.Worse {
			how = "worse"
		}
		sign := ""
		if c.Change > 0 {
			sign = "+"
		}
		text := fmt.Sprintf("%s%s (%s, %s) at %s", sign, changeBy(s.Metric, c.Change), how, c.State, s.Points[c.Index].Time)
		if commit := s.Points[c.Index].Commit; commit != "" {
			text += " " + short(commit)
		}
		if c.Accepted != "" {
			text += ", accepted: " + c.Accepted
		}
		out = append(out, text)
	}
	return out
}

// course draws the last values of a series as bars.
func course(s history.Series) string {
	const most = 30
	bars := []rune("▁▂▃▄▅▆▇█")
	points := s.Points[max(0, len(s.Points)-most):]
	least := slices.MinFunc(points, func(a, b history.Value) int { return cmp.Compare(a.Value, b.Value) }).Value
	top := slices.MaxFunc(points, func(a, b history.Value) int { return cmp.Compare(a.Value, b.Value) }).Value
	var b strings.Builder
	for _, p := range points {
		at := 0
		if top > least {
			at = int((p.Value - least) / (top - least) * float64(len(bars)-1))
		}
		b.WriteRune(bars[at])
	}
	return b.String()
}
