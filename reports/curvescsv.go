package reports

import (
	"io"
	"slices"
	"strconv"

	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// CurvesCSV writes the points of the curves of doc, one row for each figure of each point, in stored units. It
// ignores the options.
func CurvesCSV(w io.Writer, doc *result.Document, _ Options) error {
	return writeCurves(w, curves.Of(doc))
}

// capacityFigure is the figure's name in rows of a capacity.
const capacityFigure = "capacity"

func writeCurves(w io.Writer, charts []curves.Chart) error {
	header := []string{
		"benchmark", "values", "line", "side", "load_kind", "load", "gpus", "figure", "unit",
		"launches", "value", "lower", "upper", "bound", "limit_op", "limit", "overloaded", "sent", "failed",
	}
	return writeCSV(w, header, func(row func(...string)) {
		for i := range charts {
			c := &charts[i]
			figures := c.All()
			for _, l := range c.Lines {
				at := []string{escape.CSV(c.Benchmark), escape.CSV(result.Coordinates(c.Values, " ")), escape.CSV(l.Name), l.Role.String(), c.Load.Name}
				write := func(cells ...string) { row(append(slices.Clip(at), cells...)...) }
				for _, p := range l.Points {
					pointRows(c, p, figures, write)
				}
				if k := l.Capacity; k != nil {
					write("", "", capacityFigure, c.Load.Unit, strconv.Itoa(k.N), float(k.Value), finite(k.Lower), finite(k.Upper), string(k.Bound),
						"", "", "", "", "")
				}
			}
		}
	})
}

// pointRows writes a row for each figure of a point.
func pointRows(c *curves.Chart, p curves.Point, figures []curves.Figure, write func(...string)) {
	sent, failed, overloaded := 0, 0, 0
	for _, l := range p.Launches {
		sent, failed = sent+l.Sent, failed+l.Failed
		if l.Overloaded {
			overloaded++
		}
	}
	gpus := ""
	if p.GPUs > 0 {
		gpus = strconv.Itoa(p.GPUs)
	}
	for _, f := range figures {
		e, ok := p.Estimate(f)
		if !ok {
			continue
		}
		op, limit := "", ""
		if on := c.LimitsOn(f); len(on) == 1 { // several limits do not fit into one column
			op, limit = string(on[0].Op), float(on[0].Value)
		}
		write(float(p.Load), gpus, f.ID, escape.CSV(f.Unit), strconv.Itoa(e.N), float(e.Value), finite(e.Lower), finite(e.Upper), "",
			escape.CSV(op), limit, strconv.Itoa(overloaded), strconv.Itoa(sent), strconv.Itoa(failed))
	}
}

// finite formats a number, "" if it is not finite.
func finite(v float64) string { return optional(finiteOrNil(v)) }

// compareCurves writes the points of the curves of all sides.
func compareCurves(w io.Writer, sides []Side, _ Options) error {
	return writeCurves(w, curves.OfSides(curveSides(sides)))
}

func curveSides(sides []Side) []curves.Side {
	out := make([]curves.Side, len(sides))
	for i, s := range sides {
		out[i] = curves.Side{Name: s.Title(i), Doc: s.Doc}
	}
	return out
}
