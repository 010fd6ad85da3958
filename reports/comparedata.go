package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// CompareSchema is the version of a comparison as JSON.
const CompareSchema = "pipeline/comparison/1.0"

// compareDocument is a comparison as JSON. Values are in the stored units; a change on the
// log scale is a ratio − 1, on the others a difference.
type compareDocument struct {
	Schema string           `json:"schema"`
	Sides  []compareSide    `json:"sides"`
	Rows   []compareDataRow `json:"rows"`
	Alone  []compareAlone   `json:"alone,omitempty"`
}

type compareSide struct {
	Name      string `json:"name"`
	File      string `json:"file"`
	Simulated string `json:"simulated,omitempty"`
}

type compareDataRow struct {
	Benchmark string             `json:"benchmark"`
	Values    []result.AxisValue `json:"values"`
	Metric    string             `json:"metric"`
	Unit      string             `json:"unit"`
	Direction string             `json:"direction"`
	Scale     string             `json:"scale"`
	Sides     []compareValue     `json:"sides"`
}

// compareValue is one side of a row; null values are those of a side without the metric.
type compareValue struct {
	Side   string   `json:"side"`
	N      int      `json:"n"`
	Value  *float64 `json:"value"`
	CV     *float64 `json:"cv"`
	Change *float64 `json:"change"` // against A; null for A itself
}

type compareAlone struct {
	Side      string             `json:"side"`
	Benchmark string             `json:"benchmark"`
	Values    []result.AxisValue `json:"values"`
}

// comparisonData is a comparison as data.
func comparisonData(docs []*result.Document, o Options) compareDocument {
	cells, alone := joinAll(docs)
	out := compareDocument{Schema: CompareSchema, Sides: []compareSide{}, Rows: []compareDataRow{}}
	for i, d := range docs {
		out.Sides = append(out.Sides, compareSide{sideName(i), documentName(d), d.Simulated})
		for _, c := range alone[i] {
			out.Alone = append(out.Alone, compareAlone{sideName(i), c.benchmark.Addr, c.cell.Values})
		}
	}
	for _, r := range comparedRows(cells, o) {
		out.Rows = append(out.Rows, dataRow(r))
	}
	return out
}

func dataRow(r comparedRow) compareDataRow {
	m := r.metric
	row := compareDataRow{Benchmark: r.benchmark, Values: r.values, Metric: m.ID, Unit: string(m.Unit), Direction: string(m.Direction), Scale: string(m.Scale)}
	a := center(m, r.sides[0])
	for i, values := range r.sides {
		side := compareValue{Side: sideName(i), N: len(values)}
		if len(values) > 0 {
			b := center(m, values)
			side.Value, side.CV = finiteOrNil(b), finiteOrNil(variation(values))
			switch {
			case i == 0:
			case m.Scale == metric.Difference || m.Scale == metric.Proportion:
				side.Change = finiteOrNil(b - a)
			default:
				side.Change = finiteOrNil(b/a - 1)
			}
		}
		row.Sides = append(row.Sides, side)
	}
	return row
}

func finiteOrNil(x float64) *float64 {
	if !finite(x) {
		return nil
	}
	return &x
}

func compareJSON(w io.Writer, docs []*result.Document, o Options) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(comparisonData(docs, o)); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// compareCSV writes one row for each metric of each cell and side.
func compareCSV(w io.Writer, docs []*result.Document, o Options) error {
	header := []string{"benchmark", "values", "metric", "unit", "direction", "scale", "side", "file", "n", "value", "cv", "change"}
	data := comparisonData(docs, o)
	return writeCSV(w, header, func(row func(...string)) {
		for _, r := range data.Rows {
			for i, side := range r.Sides {
				row(escape.CSV(r.Benchmark), escape.CSV(valuesText(r.Values)), escape.CSV(r.Metric), escape.CSV(r.Unit), escape.CSV(r.Direction), escape.CSV(r.Scale),
					side.Side, escape.CSV(data.Sides[i].File), strconv.Itoa(side.N), optional(side.Value), optional(side.CV), optional(side.Change))
			}
		}
	})
}
