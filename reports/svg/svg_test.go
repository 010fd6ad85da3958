package svg_test

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
	"github.com/servegate/pipeline/reports/svg"
)

type chart interface{ SVG() string }

// charts are one of each kind, and what is hard to draw.
func charts() map[string]chart {
	nan := math.NaN()
	var curve []svg.Point
	for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.99, 0.999} {
		y := 40 + 30*-math.Log10(1-q)
		curve = append(curve, svg.Point{X: q, Y: y, Low: y * 0.9, High: y * 1.2})
	}
	return map[string]chart{
		"percentiles": svg.Lines{
			ID: "q", Title: "TTFT by percentile", Desc: "Line: median of the runs.",
			X: svg.Axis{Title: "percentile", Kind: svg.Percentile}, Y: svg.Axis{Title: "TTFT, ms", Zero: true},
			Series: []svg.Series{{Name: "base", Class: "base", Points: curve}, {Name: "head", Class: "head", Points: curve[:3]}},
		},
		"log": svg.Lines{
			Title: "log", X: svg.Axis{Kind: svg.Log}, Y: svg.Axis{Fixed: true, Max: 1},
			Series: []svg.Series{{Name: "a", Class: "s1", Dots: true, Points: []svg.Point{
				{X: 0.2, Y: 0.1, Low: 0.1, High: 0.4, BandX: true}, {X: -1, Y: 0.5}, {X: 2000, Y: 1, Low: 1500, High: 2500, BandX: true},
			}}},
		},
		"gap": svg.Lines{Title: "gap", Series: []svg.Series{{Name: "a", Class: "s1", Points: []svg.Point{
			{X: 1, Y: 2}, {X: 2, Y: 3}, {X: 3, Y: nan}, {X: 4, Y: 1}, {X: 5, Y: 2},
		}}}},
		"nothing": svg.Lines{Title: "nothing"},
		"segments": svg.Lines{
			Title: "TTFT over the load", X: svg.Axis{Kind: svg.Log, Ticks: []float64{1, 4, 16}}, Y: svg.Axis{Title: "TTFT p99, ms", Zero: true},
			Zones: []svg.Zone{{From: 3, To: 6, Class: "s1"}, {From: nan, To: 2, Class: "s2"}},
			Segments: []svg.Segment{
				{X1: math.Inf(-1), Y1: 40, X2: math.Inf(1), Y2: 40, Class: "margin", Tip: "limit 40 ms", Label: "limit 40 ms"},
				{X1: 4, Y1: math.Inf(-1), X2: 4, Y2: math.Inf(1), Class: "capacity s1"}, {X1: nan, Y1: 1, X2: 2, Y2: 2},
			},
			Series: []svg.Series{
				{Name: "tensor_parallel_size=8 hw=h200", Class: "s1", Dots: true, Points: []svg.Point{{X: 1, Y: 20}, {X: 16, Y: 60, Tip: "overloaded",
					Mark: "overloaded"}}},
				{Name: "tensor_parallel_size=4 hw=<b>", Class: "s2", Dots: true, Points: []svg.Point{{X: 1, Y: 25}}},
			},
		},
		"pairs": svg.Pairs{
			ID: "p", Title: "TTFT p99 of each repeat", Desc: "on is worse than off in 1 of 2 repeats.", Base: "off", Head: "on",
			Y:      svg.Axis{Title: "ms"},
			Points: []svg.Pair{{Label: "1", Base: 411, Head: 447, Worse: true}, {Label: "2", Base: 420, Head: 418}},
		},
		"trend": svg.Trend{
			ID: "t", Title: "TTFT p99 over the sessions", Desc: "+12 % at session 3.", X: svg.Axis{Title: "session"}, Y: svg.Axis{Title: "ms"},
			Lines: []svg.TrendLine{
				{Name: "1× H100", Class: "s1", Dots: []svg.Dot{{X: 1, Y: 400, Tip: "1: 400 ms <b>"}, {X: 2, Y: nan}, {X: 3, Y: 448}}},
				{Name: "1× H200", Class: "s2", Dots: []svg.Dot{{X: 4, Y: 300}}},
			},
			Levels: []svg.Level{{From: -5, To: 2.5, Y: 400, Class: "level", Tip: "level 400 ms"}, {From: 1, To: 3, Y: nan, Class: "margin"}},
			Marks:  []svg.Mark{{X: 2.5, Class: "worse", Sign: "✗", Tip: "+12 %"}, {X: nan, Class: "split"}},
		},
		"forest": svg.Forest{
			ID: "f", Title: "Change against the margin", X: svg.Axis{Title: "change, % (worse →)"}, Margin: 5,
			Rows: []svg.Interval{
				{Label: "#1", Value: 8.1, Lower: nan, Upper: nan, Text: "+8.1 %"},
				{Label: "#2", Value: nan, Lower: nan, Upper: nan},
				{Label: "all", Value: 8.8, Lower: 7.9, Upper: math.Inf(1), Main: true, Text: "+8.8 %"},
			},
		},
		"forest-left": svg.Forest{Title: "higher is better", Margin: -4.76,
			Rows: []svg.Interval{{Label: "all", Value: -1, Lower: -2, Upper: 0.5, Main: true}}},
		"heat": svg.Heat{
			ID: "h", Title: "Verdicts", Desc: "A row for each cell.", Columns: []svg.Column{{Title: "TTFT p99", Sub: "on vs off"},
				{Title: "TPOT p50"}},
			Rows: []svg.Row{
				{Label: "rate=4", Tiles: []*svg.Tile{{Class: "worse2", Text: "✗ +14.4 %", Title: "TTFT p99 at rate=4: regression", Anchor: "c1-1"},
					nil}},
				{Label: "rate=16", Tiles: []*svg.Tile{{Class: "same", Text: "✓ 0.0 %", Title: "pass"}, {Class: "open", Text: "? +3.1 %"}}},
			},
		},
		"hostile": svg.Heat{
			ID: `"><script>`, Title: "</title><script>alert(1)</script>", Desc: "\x1b[31m\u202e]]>", Columns: []svg.Column{{Title: "<b>&amp;"}},
			Rows: []svg.Row{{Label: "名前 <img src=x onerror=alert(1)>", Tiles: []*svg.Tile{{Class: `x" onload="y`, Text: "a\x00b<c>",
				Title: "'\"<>", Anchor: `javascript:alert(1)"`}}}},
		},
	}
}

func TestGolden(t *testing.T) {
	for name, c := range charts() {
		t.Run(name, func(t *testing.T) {
			got := c.SVG()
			wellFormed(t, got)
			path := filepath.Join("testdata", name+".svg")
			golden.Equal(t, path, got)
		})
	}
}

// testingT is what both kinds of tests have.
type testingT interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// wellFormed reads a drawing as XML: only our elements, no number that is none, no
// address but one in the page, and a title first.
func wellFormed(t testingT, s string) {
	t.Helper()
	known := map[string]bool{
		"svg": true, "title": true, "desc": true, "line": true, "text": true, "circle": true, "path": true, "rect": true, "g": true, "a": true,
		"clipPath": true,
	}
	d := xml.NewDecoder(strings.NewReader(s))
	for n := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, s)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if n++; !known[start.Name.Local] || n == 2 && start.Name.Local != "title" {
			t.Errorf("element %d is <%s>", n, start.Name.Local)
		}
		for _, a := range start.Attr {
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.HasPrefix(a.Name.Local, "on") ||
				a.Name.Local == "style" {
				t.Errorf("%s=%q", a.Name.Local, a.Value)
			}
			if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
				t.Errorf("a link to %q", a.Value)
			}
		}
	}
}

// number draws any float64 that a document can hold, and those that it cannot.
func number() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64(), rapid.Float64Range(-100, 100), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1),
		1e308, -1e308, 5e-324}))
}

// TestAnyNumbers draws charts of any numbers: none panics, and each is well formed.
func TestAnyNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]svg.Kind{svg.Linear, svg.Log, svg.Percentile})
		lines := svg.Lines{X: svg.Axis{Kind: kind.Draw(t, "x")}, Y: svg.Axis{Kind: kind.Draw(t, "y"), Zero: rapid.Bool().Draw(t, "zero")}}
		var s svg.Series
		var pairs svg.Pairs
		forest := svg.Forest{Margin: number().Draw(t, "margin")}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			a, b, c, d := number().Draw(t, "a"), number().Draw(t, "b"), number().Draw(t, "c"), number().Draw(t, "d")
			s.Points = append(s.Points, svg.Point{X: a, Y: b, Low: c, High: d, BandX: rapid.Bool().Draw(t, "band")})
			pairs.Points = append(pairs.Points, svg.Pair{Base: a, Head: b})
			forest.Rows = append(forest.Rows, svg.Interval{Value: a, Lower: b, Upper: c})
		}
		s.Dots = true
		lines.Series = []svg.Series{s}
		lines.Zones = []svg.Zone{{From: number().Draw(t, "from"), To: number().Draw(t, "to")}}
		lines.Segments = []svg.Segment{{X1: number().Draw(t, "x1"), Y1: number().Draw(t, "y1"), X2: number().Draw(t, "x2"),
			Y2: number().Draw(t, "y2"), Label: "limit"}}
		for _, c := range []chart{lines, pairs, forest} {
			wellFormed(t, c.SVG())
		}
	})
}
