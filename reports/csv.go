package reports

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// CSV writes one row for each decision, in the order of the document. Values are in the
// stored units (seconds, not milliseconds); a change on the log scale is a ratio − 1.
// Text that a spreadsheet would take for a formula has an apostrophe before it.
func CSV(w io.Writer, doc *result.Document) error {
	header := []string{
		"gate", "benchmark", "kind", "cell", "values", "base_side", "head_side", "metric", "unit", "direction", "scale",
		"n", "base", "head", "change", "lower", "upper", "p", "p_holm", "margin", "limit_op", "limit", "need_repeats", "verdict", "action", "reason",
	}
	return writeCSV(w, header, func(row func(...string)) {
		for i := range doc.Gates {
			g := &doc.Gates[i]
			for j := range g.Decisions {
				row(decisionRecord(g, &g.Decisions[j])...)
			}
		}
	})
}

func decisionRecord(g *result.Gate, d *result.Decision) []string {
	base, head, change := float(d.BaseValue), float(d.HeadValue), float(d.Change)
	if d.N == 0 {
		base, head, change = blankZero(d.BaseValue), blankZero(d.HeadValue), blankZero(d.Change)
	}
	if d.Kind == result.KindAssert {
		if base, change = "", ""; d.NoValue || d.Limit == nil && d.HeadValue == 0 {
			head = ""
		}
	}
	return []string{
		escape.CSV(g.Addr), escape.CSV(g.Benchmark), escape.CSV(d.Kind), escape.CSV(d.Cell), escape.CSV(valuesText(d.Values)),
		escape.CSV(d.Base), escape.CSV(d.Head), escape.CSV(d.Metric), escape.CSV(d.Unit), escape.CSV(d.Direction), escape.CSV(d.Scale),
		strconv.Itoa(d.N), base, head, change, optional(d.Lower), optional(d.Upper), optional(d.P), optional(d.PHolm),
		float(d.Margin), escape.CSV(d.LimitOp), optional(d.Limit), blankInt(d.NeedPairs), escape.CSV(string(d.Verdict)), string(g.On(d.Verdict)), escape.CSV(d.Reason),
	}
}

// RunsCSV writes one row for each metric of each run: what the decisions were made from,
// in long form, with one column for each axis of the document.
func RunsCSV(w io.Writer, doc *result.Document) error {
	axes := axesOf(doc)
	header := []string{"benchmark", "cell", "target"}
	for _, a := range axes {
		header = append(header, escape.CSV(a))
	}
	header = append(header, "repeat", "replaces", "pass", "launch", "status", "sent", "failed", "metric", "unit", "value")
	return writeCSV(w, header, func(row func(...string)) {
		for _, b := range doc.Benchmarks {
			for _, c := range b.Cells {
				at := []string{escape.CSV(b.Addr), escape.CSV(c.Hash), escape.CSV(c.Target)}
				for _, a := range axes {
					value, _ := split(c.Values, a)
					at = append(at, escape.CSV(value))
				}
				for _, r := range c.Runs {
					run := append(slices.Clone(at), strconv.Itoa(r.Repeat), blankInt(r.Replaces), blankInt(r.Pass), escape.CSV(r.Launch), escape.CSV(r.Status), strconv.Itoa(r.Sent), strconv.Itoa(r.Failed))
					if len(r.Metrics) == 0 { // a run without a value is a row, too
						row(append(run, "", "", "")...)
					}
					for _, id := range slices.Sorted(maps.Keys(r.Metrics)) {
						row(append(slices.Clone(run), escape.CSV(id), string(describe(id).Unit), float(r.Metrics[id]))...)
					}
				}
			}
		}
	})
}

// axesOf are the names of all axes, in order of appearance.
func axesOf(doc *result.Document) []string {
	var axes []string
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			for _, a := range c.Values {
				if !slices.Contains(axes, a.Name) {
					axes = append(axes, a.Name)
				}
			}
		}
	}
	return axes
}

func writeCSV(w io.Writer, header []string, rows func(row func(...string))) error {
	out := csv.NewWriter(w)
	_ = out.Write(header) // errors of a csv.Writer stay until Error is asked
	rows(func(record ...string) { _ = out.Write(record) })
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return float(*v)
}

func blankZero(v float64) string {
	if v == 0 {
		return ""
	}
	return float(v)
}

func blankInt(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
