package reports

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// CSV writes one row for each decision, in the order of the document. After them it writes one row of kind
// "objective" for each limit of a search, with the mean at the highest load that held. Values are in the stored units
// (seconds, not milliseconds); a change on the log scale is a ratio − 1. Text that a spreadsheet would read as a
// formula gets an apostrophe in front. CSV ignores the options.
func CSV(w io.Writer, doc *result.Document, _ Options) error {
	header := []string{
		"gate", "benchmark", "kind", "cell", "values", "base_side", "head_side", "metric", "unit", "direction", "scale",
		"n", "base", "head", "change", "lower", "upper", "p", "p_holm", "margin", "limit_op", "limit", "need_repeats", "verdict", "action",
		"reason", "base_bound", "head_bound", "base_name", "head_name",
	}
	return writeCSV(w, header, func(row func(...string)) {
		for i := range doc.Gates {
			g := &doc.Gates[i]
			for j := range g.Decisions {
				d := &g.Decisions[j]
				names := doc.Names(g, d)
				need := ""
				if d.NeedPairs > 0 {
					need = strconv.Itoa(d.NeedPairs)
				}
				row(escape.CSV(g.Addr), escape.CSV(g.Benchmark), string(d.Kind), escape.CSV(d.Cell), escape.CSV(result.Coordinates(d.Values, " ")),
					escape.CSV(d.Base), escape.CSV(d.Head), escape.CSV(d.Metric), escape.CSV(d.Unit), string(d.Direction), string(d.Scale),
					strconv.Itoa(d.N), optional(d.BaseValue), optional(d.HeadValue), optional(d.Change), optional(d.Lower), optional(d.Upper),
					optional(d.P), optional(d.PHolm),
					float(float64(d.Margin)), escape.CSV(string(d.LimitOp)), optional(d.Limit), need, escape.CSV(string(d.Verdict)),
					string(g.On(d.Verdict)), escape.CSV(d.Reason),
					string(d.BaseBound), string(d.HeadBound), escape.CSV(names.Base), escape.CSV(names.Head))
			}
		}
		for _, o := range newView(doc, Options{}).objectives() {
			row("", escape.CSV(o.at.benchmark.Addr), "objective", escape.CSV(o.at.cell.Hash), escape.CSV(result.Coordinates(o.at.cell.Values, " ")),
				"", "", escape.CSV(o.metric.ID), string(o.metric.Unit), string(o.metric.Direction), string(o.metric.Scale),
				strconv.Itoa(o.held), "", optional(o.value), "", "", "", "", "", "", string(o.op), float(o.limit), "", "", "", "", "", "", "", "")
		}
	})
}

func writeCSV(w io.Writer, header []string, rows func(row func(...string))) error {
	out := csv.NewWriter(w)
	_ = out.Write(header) // csv.Writer keeps errors until Error returns them
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
