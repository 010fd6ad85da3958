package reports

import (
	"io"
	"strconv"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// CompareSchema is the schema version of a comparison in JSON.
const CompareSchema = "pipeline/comparison/1.0"

// compareDocument is a comparison in JSON. Values are in the stored units. A change is a ratio − 1 on the log scale
// and a difference on the others.
type compareDocument struct {
	Schema string           `json:"schema"`
	Sides  []compareSide    `json:"sides"`
	Rows   []compareDataRow `json:"rows"`
	// Failures lists the cells in which requests failed.
	Failures []compareFailures `json:"failures,omitempty"`
	Alone    []compareAlone    `json:"alone,omitempty"`
}

type compareSide struct {
	Name      string `json:"name"`
	File      string `json:"file"`
	Against   string `json:"against,omitempty"` // the side that this one is compared with, none for the first
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

// compareValue is one side of a row. Its values are null if the side lacks the metric.
type compareValue struct {
	Side   string   `json:"side"`
	N      int      `json:"n"`
	Value  *float64 `json:"value"`
	CV     *float64 `json:"cv"`
	Change *float64 `json:"change"` // against the side that it is compared with; null for the first
}

// compareFailures counts the failed requests of a cell on a side and on the side that it is compared with. P is the p
// value for the side failing more.
type compareFailures struct {
	Values  []result.AxisValue `json:"values"`
	Side    string             `json:"side"`
	Sent    int                `json:"sent"`
	Failed  int                `json:"failed"`
	Against string             `json:"against"`
	SentA   int                `json:"against_sent"`
	FailedA int                `json:"against_failed"`
	P       float64            `json:"p"`
}

type compareAlone struct {
	Side      string             `json:"side"`
	Benchmark string             `json:"benchmark"`
	Values    []result.AxisValue `json:"values"`
}

// comparisonData returns a comparison as data.
func comparisonData(sides []Side, o Options) compareDocument {
	c := newCompared(sides, o)
	out := compareDocument{Schema: CompareSchema, Sides: []compareSide{}, Rows: []compareDataRow{}}
	for i, s := range sides {
		side := compareSide{Name: s.Title(i), File: documentName(s.Doc), Simulated: s.Doc.Simulated}
		if i > 0 {
			side.Against = sides[s.Against].Title(s.Against)
		}
		out.Sides = append(out.Sides, side)
		for _, at := range c.alone[i] {
			out.Alone = append(out.Alone, compareAlone{s.Title(i), at.benchmark.Addr, at.cell.Values})
		}
	}
	for _, f := range c.found {
		out.Failures = append(out.Failures, compareFailures{
			f.cell.sides[0].Values, sides[f.side].Title(f.side), f.sent, f.failed, sides[f.against].Title(f.against), f.sentA, f.failedA, f.p,
		})
	}
	for _, r := range c.rows {
		out.Rows = append(out.Rows, dataRow(r, sides))
	}
	return out
}

func dataRow(r comparedRow, sides []Side) compareDataRow {
	m := r.metric
	row := compareDataRow{Benchmark: r.benchmark, Values: r.values, Metric: m.ID, Unit: string(m.Unit), Direction: string(m.Direction),
		Scale: string(m.Scale)}
	for i, values := range r.sides {
		side := compareValue{Side: sides[i].Title(i), N: len(values)}
		if len(values) > 0 {
			side.Value, side.CV = finiteOrNil(center(m, values)), finiteOrNil(variation(values))
		}
		if i > 0 {
			side.Change = finiteOrNil(r.change(i, sides[i].Against))
		}
		row.Sides = append(row.Sides, side)
	}
	return row
}

func finiteOrNil(x float64) *float64 {
	if !humanize.Finite(x) {
		return nil
	}
	return &x
}

func compareJSON(w io.Writer, sides []Side, o Options) error {
	return model.JSON(w, comparisonData(sides, o))
}

// compareCSV writes one row for each metric of each cell and side.
func compareCSV(w io.Writer, sides []Side, o Options) error {
	header := []string{"benchmark", "values", "metric", "unit", "direction", "scale", "side", "file", "n", "value", "cv", "change"}
	data := comparisonData(sides, o)
	return writeCSV(w, header, func(row func(...string)) {
		for _, r := range data.Rows {
			for i, side := range r.Sides {
				row(escape.CSV(r.Benchmark), escape.CSV(result.Coordinates(r.Values, " ")), escape.CSV(r.Metric), escape.CSV(r.Unit),
					escape.CSV(r.Direction), escape.CSV(r.Scale),
					escape.CSV(side.Side), escape.CSV(data.Sides[i].File), strconv.Itoa(side.N), optional(side.Value), optional(side.CV),
					optional(side.Change))
			}
		}
	})
}
