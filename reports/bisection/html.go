package bisection

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/svg"
)

// HTML writes d as one page, with the curve over the candidates.
func HTML(w io.Writer, d *Document, o model.Options) error {
	r := d.report()
	return page.Write(w, o.Budget, "candidates", []int{2000, 200, 20}, func(rows int) *page.Page {
		return page.New(r, page.Bounds{Rows: rows}, cmp.Or(o.Full, "bisect.json"), page.HistoryStyle)
	})
}

// chart returns a chart with a dot for each pair, a line for the expected level and a mark at each step.
func (d *Document) chart() model.Chart {
	at := map[string]int{}
	for i, c := range d.Candidates {
		at[c.Ref] = i
	}
	last := len(d.Candidates) - 1
	c := svg.Trend{
		ID: "curve-c", Title: d.MetricLabel + " over the candidates",
		Desc: "A dot is the mean of a candidate's pairs against the good end; the line is the expected level.",
		X: svg.Axis{Title: "candidate", Fixed: true, Min: -0.5, Max: float64(last) + 0.5, Ticks: ticks(last),
			Format: func(x float64) string { return Short(d.Candidates[min(max(0, int(math.Round(x))), last)].Ref) }},
		Y: svg.Axis{Title: "change, " + d.Unit, Format: func(x float64) string { return fmt.Sprintf("%.3g", x) }},
	}
	line := svg.TrendLine{Name: d.MetricLabel, Class: "s1", Dots: []svg.Dot{{X: 0, Y: 0, Tip: Short(d.Candidates[0].Ref) + ", the good end"}}}
	for i, x := range d.Candidates {
		if x.Change != nil && i > 0 {
			line.Dots = append(line.Dots, svg.Dot{X: float64(i), Y: *x.Change, Tip: fmt.Sprintf("%s · %s · %d pairs · %s", Short(x.Ref),
				d.change(*x.Change), x.Pairs, x.Subject)})
		}
	}
	c.Lines = []svg.TrendLine{line}
	for from := 0; from <= last; {
		to := from
		for to < last && math.Abs(d.Candidates[to+1].Level-d.Candidates[from].Level) < d.SD/20 {
			to++
		}
		c.Levels = append(c.Levels, svg.Level{From: float64(from) - 0.5, To: float64(to) + 0.5, Y: d.Candidates[from].Level, Class: "level",
			Tip: "level " + d.change(d.Candidates[from].Level)})
		from = to + 1
	}
	for _, s := range d.Steps {
		class, sign := "worse", "✗"
		if !s.Worse {
			class, sign = "better", "▲"
		}
		c.Marks = append(c.Marks, svg.Mark{X: float64(at[s.Bad]) - 0.5, Class: class, Sign: sign, Tip: d.culprit(s).String()})
	}
	return c
}

func ticks(last int) []float64 {
	out := []float64{0}
	for _, part := range []int{1, 2, 3} {
		if at := float64(last * part / 3); at > out[len(out)-1] {
			out = append(out, at)
		}
	}
	return out
}
