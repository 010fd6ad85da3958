package bisection

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/svg"
)

// HTML writes d as one page, with the curve over the candidates.
func HTML(w io.Writer, d *Document, o model.Options) error {
	return page.Write(w, cmp.Or(o.Budget, page.Budget), "candidates", func(yield func(*page.Page) bool) {
		for _, rows := range []int{2000, 200, 20} {
			if !yield(d.page(o, rows)) {
				return
			}
		}
	})
}

func (d *Document) page(o model.Options, rows int) *page.Page {
	r := d.report()
	out := page.New(r, cmp.Or(o.Full, "bisect.json"), page.HistoryStyle)
	for i := range r.Sections {
		if s, ok := page.SectionOf(&r.Sections[i], rows, 0); ok {
			if r.Sections[i].Kind == model.Measured {
				s.Trends = []page.Trend{{Anchor: "curve", Open: true, Icon: page.IconOf(r.Icon), Title: page.Spans(model.Plain("The curve"),
					model.MaxCell), Chart: d.chart()}}
			}
			out.Sections = append(out.Sections, s)
		}
	}
	return out
}

// chart has a dot for each pair, a line for the expected level and a mark at each step.
func (d *Document) chart() template.HTML {
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
			line.Dots = append(line.Dots, svg.Dot{X: float64(i), Y: *x.Change, Tip: page.Clean(fmt.Sprintf("%s · %s · %d pairs · %s", Short(x.Ref),
				d.change(*x.Change), x.Pairs, x.Subject), model.MaxCell)})
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
		c.Marks = append(c.Marks, svg.Mark{X: float64(at[s.Bad]) - 0.5, Class: class, Sign: sign,
			Tip: page.Clean(d.culprit(s).String(), model.MaxCell)})
	}
	return page.Chart(c)
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
