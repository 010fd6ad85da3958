package forest_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports/forest"
	"github.com/servegate/pipeline/reports/term"
)

var nan, inf = math.NaN(), math.Inf(1)

func plot() forest.Plot {
	return forest.Plot{Title: "v2 against v1: 1 gate regressed", Desc: "estimates <b>", Groups: []forest.Group{
		{Name: "TTFT p99 ↓, margin 5 %", Rows: []forest.Row{
			{Label: "rate=16", Verdict: "regression", Sign: "✗", Class: "bad", Value: 2.9, Lower: 2.7, Upper: 3.1,
				Text: "+14.4 %", Tip: "slower", Anchor: "c1-1"},
			{Label: "rate=64", Verdict: "regression", Sign: "✗", Class: "bad", Value: 12, Lower: 11, Upper: 13, Text: "+80 %"},
			{Label: "rate=4", Verdict: "inconclusive", Sign: "?", Class: "warn", Value: 0.4, Lower: -0.6, Upper: inf, Text: "+2.0 %"},
			{Label: "rate=1", Verdict: "pass", Sign: "✓", Value: 0, Lower: -0.2, Upper: 0.2, Text: "0.0 %"},
			{Label: "rate=2", Verdict: "pass", Sign: "✓", Value: -0.1, Lower: -0.3, Upper: 0.2, Text: "−0.5 %"},
		}},
		{Name: "success rate ↑", Rows: []forest.Row{
			{Label: "a cell <script>\x1b[31m with a very long name", Verdict: "missing", Sign: "⊘", Class: "bad", Value: nan, Lower: nan, Upper: nan,
				Text: "missing"},
		}},
	}}
}

// TestDrawings holds the three drawings of one plot.
func TestDrawings(t *testing.T) {
	p := plot()
	golden.Equal(t, filepath.Join("testdata", "plot.txt"), strings.Join(p.Text(80, 4), "\n")+"\n")
	golden.Equal(t, filepath.Join("testdata", "plot.svg"), p.SVG())
	s := p.Scale()
	golden.Equal(t, filepath.Join("testdata", "row.svg"), s.SVG(p.Groups[0].Rows[0])+"\n")
}

// TestLayout: the estimate is between the ends, and what is beyond the axis is at its edge without a stop.
func TestLayout(t *testing.T) {
	p := plot()
	s := p.Scale()
	rows := p.Groups[0].Rows
	for i, want := range []struct {
		beyond      int
		left, right bool
	}{{0, false, false}, {1, false, true}, {0, false, true}, {0, false, false}} {
		m, ok := s.Mark(rows[i])
		if !ok || m.Beyond != want.beyond || m.OpenLower != want.left || m.OpenUpper != want.right || m.From > m.At || m.At > m.To {
			t.Errorf("%s: %+v", rows[i].Label, m)
		}
	}
	if _, ok := s.Mark(p.Groups[1].Rows[0]); ok {
		t.Error("a row without an estimate is drawn")
	}
	if zero, margin := s.At(0), s.At(1); !(s.At(-1) < zero && zero < margin && margin < 1) {
		t.Errorf("zero at %v, margin at %v", zero, margin)
	}
	if p.Rows() != 6 || p.Drawn() != 5 {
		t.Errorf("%d rows, %d drawn", p.Rows(), p.Drawn())
	}
}

// TestAnyFigures: no figure breaks a drawing, and text keeps its width.
func TestAnyFigures(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, nan, inf, -inf, 1e308, -1e308, 1}))
	rapid.Check(t, func(t *rapid.T) {
		p := forest.Plot{Groups: []forest.Group{{Name: rapid.String().Draw(t, "name")}}}
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			p.Groups[0].Rows = append(p.Groups[0].Rows, forest.Row{
				Label: rapid.String().Draw(t, "label"), Sign: "✓", Class: `x" onload="y`, Value: number.Draw(t, "value"),
				Lower: number.Draw(t, "lower"), Upper: number.Draw(t, "upper"), Text: rapid.String().Draw(t, "text"),
			})
		}
		for _, line := range p.Text(80, 0)[2:] {
			if term.Width(line) > 80 {
				t.Errorf("%d columns: %q", term.Width(line), line)
			}
		}
		d := xml.NewDecoder(strings.NewReader(p.SVG()))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("%v in %s", err, p.SVG())
			}
			if e, ok := token.(xml.StartElement); ok {
				for _, a := range e.Attr {
					if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.HasPrefix(a.Name.Local, "on") {
						t.Errorf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
		}
	})
}
