package reports_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/result"
	"pgregory.net/rapid"
)

// loads is a document of two sides at some loads, which saturate at capacity.
func loads(launches int, rates ...float64) *result.Document {
	doc := &result.Document{
		Schema: result.Schema, Status: result.StatusComplete, Alpha: 0.05, File: "sweep.hcl",
		Sides:   []result.Sides{{Axis: "side", Base: "base", Head: "head", BaseTarget: "server.base", HeadTarget: "server.head"}},
		Targets: []result.Target{{Addr: "server.base", GPUs: 2}, {Addr: "server.head", GPUs: 2}}, Launches: []result.Launch{},
		Benchmarks: []result.Benchmark{{Addr: "benchmark.sweep", Axes: []string{"side", "rate"}, Cells: []result.Cell{}}},
		Gates:      []result.Gate{{Addr: "gate.slo", Benchmark: "benchmark.sweep", Verdict: result.Pass, Decisions: []result.Decision{}}},
	}
	for s, side := range []string{"base", "head"} {
		for _, rate := range rates {
			text := fmt.Sprint(rate)
			c := result.Cell{
				Hash: side + text, Target: "server." + side, Values: []result.AxisValue{{Name: "side", Value: side}, {Name: "rate", Value: text}},
				Work: map[string]string{"request_rate": text},
			}
			for n := 1; n <= launches; n++ {
				x := (1 + 0.02*float64(n%3)) * (1 + 0.2*float64(s)) * (1 + math.Pow(rate/12, 4))
				c.Runs = append(c.Runs, result.Run{Repeat: n, Status: result.RunOK, Sent: 100, Overloaded: rate > 20, Metrics: map[string]float64{
					"ttft.p50": 0.03 * x, "ttft.p99": 0.09 * x, "tpot.p50": 0.01 * math.Sqrt(x), "tpot.p99": 0.02 * math.Sqrt(x),
					"output_throughput.mean": 128 * min(rate, 20),
				}})
			}
			doc.Benchmarks[0].Cells = append(doc.Benchmarks[0].Cells, c)
			doc.Gates[0].Decisions = append(doc.Gates[0].Decisions, result.Decision{
				ID: side + text, Kind: result.KindAssert, Cell: side + text, Values: c.Values, Metric: "ttft.p99", Unit: "s", Direction: "lower",
				Verdict: result.Pass,
				Limit:   new(0.5), LimitOp: "<=", HeadValue: new(0.1),
			})
		}
	}
	return doc
}

// searched gives the sides of a document searches in the place of their cells.
func searched(launches int) *result.Document {
	doc := loads(launches, 4, 8, 16, 32)
	b := &doc.Benchmarks[0]
	sides := map[string]*result.Cell{}
	var cells []result.Cell
	for _, c := range b.Cells {
		side := c.Values[0].Value
		if sides[side] == nil {
			cells = append(cells, result.Cell{Hash: side, Target: c.Target, Values: c.Values[:1]})
			sides[side] = &cells[len(cells)-1]
			for n := 1; n <= launches; n++ {
				k := 14 + float64(n%4) + float64(len(cells))
				sides[side].Runs = append(sides[side].Runs, result.Run{Repeat: n, Status: result.RunOK, Search: &result.Search{
					Over: result.LoadRate, Min: 1, Max: 64, Capacity: &k, Lower: new(k - 1), Upper: new(k + 1),
				}})
			}
		}
		var rate float64
		fmt.Sscan(c.Values[1].Value, &rate)
		for i, r := range c.Runs {
			s := sides[side].Runs[i].Search
			v := r.Metrics["ttft.p99"]
			s.Probes = append(s.Probes, result.Probe{
				Kind: result.LoadRate, Load: rate, Reason: "doubled", Held: v < 0.5, Sent: 100, Overloaded: r.Overloaded, Metrics: r.Metrics,
				Objectives: []result.Objective{{Metric: "ttft.p99", Limit: 0.5, Value: &v, Held: v < 0.5}},
			})
		}
	}
	b.Cells, b.Axes = cells, []string{"side"}
	doc.Gates = []result.Gate{}
	return doc
}

var section = regexp.MustCompile(`(?s)<section id="curves".*?</section>`)

func curvesOf(t *testing.T, doc *result.Document) string {
	t.Helper()
	return section.FindString(pageOf(t, doc, reports.Options{}))
}

// TestGoldenCurves keeps the section of a sweep and that of a search as text, the charts of the
// latter whole, and the table.
func TestGoldenCurves(t *testing.T) {
	for name, doc := range map[string]*result.Document{"sweep": loads(6, 1, 2, 4, 8, 16, 32), "search": searched(6),
		"two-points": loads(1, 2, 4)} {
		text := pageOf(t, doc, reports.Options{})
		inspect(t, text)
		golden.Equal(t, "testdata/curves-"+name+".page.txt", []byte(outline(t, text)))
		golden.Equal(t, "testdata/curves-"+name+".csv", written(t, "curves", doc, reports.Options{}))
	}
	golden.Equal(t, "testdata/curves-search.html", []byte(curvesOf(t, searched(6))))
}

// TestBandsNeedLaunches: few launches are dots, and the page says what its bands are.
func TestBandsNeedLaunches(t *testing.T) {
	for launches, band := range map[int]bool{1: false, 3: false, 4: true, 6: true} {
		out := curvesOf(t, loads(launches, 1, 2, 4, 8))
		if strings.Contains(out, `class="band`) != band || strings.Contains(out, `class="whisker`) != band {
			t.Errorf("%d launches: a band is %v", launches, !band)
		}
		words := "No band: it needs 4 launches."
		if band {
			words = "95\u00a0% interval of that mean with the launch as the unit"
		}
		if !strings.Contains(out, words) {
			t.Errorf("%d launches: %q is not said", launches, words)
		}
	}
}

// TestPerGPUNeedsGPUs: what nobody says is not divided by.
func TestPerGPUNeedsGPUs(t *testing.T) {
	doc := loads(4, 1, 2, 4)
	if out := curvesOf(t, doc); !strings.Contains(out, "tok/s per GPU, output") || strings.Contains(out, "nothing says how many GPUs") {
		t.Error("figures per GPU are missing")
	}
	doc.Targets[1].GPUs = 0
	if out := curvesOf(t, doc); strings.Contains(out, "tok/s per GPU, output") ||
		!strings.Contains(out, "nothing says how many GPUs served head.") {
		t.Error("figures per GPU are there")
	}
}

// TestHostileCurves: names from outside are text, and short.
func TestHostileCurves(t *testing.T) {
	doc := loads(4, 1, 2, 4)
	payload := `</svg><script>alert(1)</script>` + strings.Repeat("x", 500) + "\u202e\x1b[31m"
	doc.Sides = nil
	doc.Benchmarks[0].Addr = payload
	doc.Gates = []result.Gate{}
	for i := range doc.Benchmarks[0].Cells {
		c := &doc.Benchmarks[0].Cells[i]
		c.Values[0] = result.AxisValue{Name: "=cmd|' /C calc'!A0", Value: payload}
		c.Values[1].Value = payload
		c.Work["request_rate"] = fmt.Sprint(i + 1)
	}
	inspect(t, pageOf(t, doc, reports.Options{}))
	if out := string(written(t, "curves", doc, reports.Options{})); strings.Contains(out, "\n=") || strings.Contains(out, ",=cmd") ||
		strings.Contains(out, "\x1b") {
		t.Error("a cell of the table is a formula")
	}
}

// TestAnyCurves draws whatever numbers a document has: every page is well-formed, without a
// coordinate that is no number.
func TestAnyCurves(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, -1, 1e-300, 1e308, 0.02}))
	rapid.Check(t, func(rt *rapid.T) {
		doc := loads(rapid.IntRange(1, 5).Draw(rt, "launches"), 1, 2)
		for i := range doc.Benchmarks[0].Cells {
			c := &doc.Benchmarks[0].Cells[i]
			c.Work["request_rate"] = rapid.SampledFrom([]string{"1", "2", "3", "1e-300", "1e300", "x"}).Draw(rt, "rate")
			for k := range c.Runs {
				for id := range c.Runs[k].Metrics {
					c.Runs[k].Metrics[id] = number.Draw(rt, id)
				}
			}
		}
		doc.Gates[0].Decisions[0].Limit = new(number.Draw(rt, "limit"))
		inspect(t, pageOf(t, doc, reports.Options{}))
	})
}

// TestManyCurves: a page has its size whatever the number of workloads and points.
func TestManyCurves(t *testing.T) {
	var rates []float64
	for i := range 25 {
		rates = append(rates, float64(i+1))
	}
	doc := loads(4, rates...)
	doc.Gates = []result.Gate{}
	b := doc.Benchmarks[0]
	doc.Benchmarks = nil
	for i := range 13 {
		b.Addr = fmt.Sprint("benchmark.b", i)
		doc.Benchmarks = append(doc.Benchmarks, b)
	}
	out := pageOf(t, doc, reports.Options{})
	if len(out) > page.Budget {
		t.Errorf("%d bytes", len(out))
	}
	if !regexp.MustCompile(`\d+ more workloads? left out here; report --format curves has all`).MatchString(out) {
		t.Error("what is left out is not said")
	}
	small := pageOf(t, doc, reports.Options{Budget: 200_000})
	if len(small) > 200_000 {
		t.Errorf("%d bytes", len(small))
	}
}

// TestCompareCurves: documents that are set beside each other are the lines of one chart, on a page
// with what keeps them from being like.
func TestCompareCurves(t *testing.T) {
	one, two := loads(4, 1, 2, 4), loads(4, 2, 4, 8)
	for _, doc := range []*result.Document{one, two} {
		doc.Sides, doc.Gates = nil, []result.Gate{}
		doc.Benchmarks[0].Cells = doc.Benchmarks[0].Cells[:3]
		doc.Benchmarks[0].Axes = []string{"rate"}
		for i := range doc.Benchmarks[0].Cells {
			c := &doc.Benchmarks[0].Cells[i]
			c.Values = c.Values[1:]
		}
	}
	two.Targets[0].GPUs = 0
	sides := []reports.Side{{Doc: one, Name: "H<b>200"}, {Doc: two, Name: "MI355X"}}
	page, csv := comparedAs(t, sides, "html"), comparedAs(t, sides, "curves")
	inspect(t, page)
	for _, want := range []string{"H&lt;b&gt;200", "not like for like: &lt;i&gt;", "nothing says how many GPUs served MI355X",
		"TTFT over the load", `id="sides"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, want := range []string{"benchmark.sweep,,H<b>200,base,request_rate,4,2,ttft.p99,s,4,",
		"benchmark.sweep,,MI355X,head,request_rate,8,,ttft.p99,s,4,"} {
		if !strings.Contains(csv, want) {
			t.Errorf("the table has no %s", want)
		}
	}
}

func comparedAs(t *testing.T, sides []reports.Side, name string) string {
	t.Helper()
	f, _ := reports.AllFormats().Lookup(name)
	var out strings.Builder
	if err := reports.Compare(&out, sides, f, reports.Options{Notes: []string{"not like for like: <i>"}}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
