package curves_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/result"
	"pgregory.net/rapid"
)

// sweep is a document of two sides at some rates, with so many launches of each.
func sweep(launches int, rates ...float64) *result.Document {
	doc := &result.Document{
		Sides:      []result.Sides{{Axis: "side", Base: "old", Head: "new"}},
		Targets:    []result.Target{{Addr: "t.old", GPUs: 2}, {Addr: "t.new", GPUs: 4}},
		Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Axes: []string{"side", "rate"}}},
	}
	for _, side := range []string{"old", "new"} {
		for _, rate := range rates {
			doc.Benchmarks[0].Cells = append(doc.Benchmarks[0].Cells, cell(side, rate, launches))
		}
	}
	return doc
}

func cell(side string, rate float64, launches int) result.Cell {
	text := fmt.Sprint(rate)
	c := result.Cell{
		Hash: side + text, Target: "t." + side,
		Values: []result.AxisValue{{Name: "side", Value: side}, {Name: "rate", Value: text}},
		Work:   map[string]string{"request_rate": text, "input_len": "100", "num_prompts": fmt.Sprint(10 * rate)},
	}
	for n := 1; n <= launches; n++ {
		x := 1 + 0.1*float64(n)
		c.Runs = append(c.Runs, result.Run{Repeat: n, Status: result.RunOK, Sent: 100, Metrics: map[string]float64{
			"ttft.p50": 0.01 * rate * x, "ttft.p99": 0.03 * rate * x, "tpot.p50": 0.02 * x, "output_throughput.mean": 80 * rate,
		}})
	}
	return c
}

func TestCells(t *testing.T) {
	charts := curves.Of(sweep(4, 8, 1, 4, 2))
	if len(charts) != 1 {
		t.Fatalf("%d charts", len(charts))
	}
	c := charts[0]
	if c.Load.Name != "request_rate" || c.Name() != "benchmark.b" || len(c.Lines) != 2 || c.Lines[0].Name != "old" ||
		c.Lines[0].Role != curves.Base || c.Lines[1].Role != curves.Head {
		t.Errorf("%+v", c)
	}
	var loads []float64
	for _, p := range c.Lines[1].Points {
		loads = append(loads, p.Load)
	}
	if d := cmp.Diff([]float64{1, 2, 4, 8}, loads); d != "" {
		t.Error(d)
	}
	p := c.Lines[1].Points[2] // 4 req/s on 4 GPUs
	gpu, _ := p.Estimate(*c.PerGPU)
	user, _ := p.Estimate(*c.PerUser)
	mean := math.Pow(1.1*1.2*1.3*1.4, 0.25)
	if math.Abs(gpu.Value-80) > 1e-9 || math.Abs(user.Value-50/mean) > 1e-9 || gpu.N != 4 {
		t.Errorf("per GPU %+v, per user %+v", gpu, user)
	}
}

// TestInterval sets the interval of four launches against the formula with the tabulated
// quantile: exp(m ± 3.182446 s / √4) of the logarithms of 1.1, 1.2, 1.3 and 1.4.
func TestInterval(t *testing.T) {
	charts := curves.Of(sweep(4, 1, 2))
	e, ok := charts[0].Lines[0].Points[0].Estimate(charts[0].Latencies[0])
	if !ok || math.Abs(e.Lower/0.01-1.055426) > 1e-6 || math.Abs(e.Upper/0.01-1.468570) > 1e-6 {
		t.Errorf("%+v", e)
	}
	charts = curves.Of(sweep(3, 1, 2))
	if e, _ := charts[0].Lines[0].Points[0].Estimate(charts[0].Latencies[0]); e.Interval() || e.N != 3 {
		t.Errorf("three launches have the interval %+v", e)
	}
}

// TestPassesAreOneLaunch: twenty passes of two launches are two values.
func TestPassesAreOneLaunch(t *testing.T) {
	doc := sweep(2, 1, 2)
	for i := range doc.Benchmarks[0].Cells {
		c := &doc.Benchmarks[0].Cells[i]
		runs := c.Runs
		for range 9 {
			c.Runs = append(c.Runs, runs...)
		}
	}
	c := curves.Of(doc)[0]
	if e, _ := c.Lines[0].Points[0].Estimate(c.Latencies[0]); e.N != 2 || e.Interval() {
		t.Errorf("%+v", e)
	}
}

func TestKindsOfLoad(t *testing.T) {
	set := func(doc *result.Document, change func(i int, work map[string]string)) []curves.Chart {
		for i := range doc.Benchmarks[0].Cells {
			change(i%len(doc.Benchmarks[0].Cells), doc.Benchmarks[0].Cells[i].Work)
		}
		return curves.Of(doc)
	}
	closed := func(_ int, w map[string]string) { w["max_concurrency"] = w["request_rate"]; delete(w, "request_rate") }
	bounded := func(_ int, w map[string]string) { w["max_concurrency"], w["request_rate"] = w["request_rate"], "10" }
	batch := func(_ int, w map[string]string) { w["request_rate"] = "inf" }
	lengths := func(i int, w map[string]string) { w["input_len"] = fmt.Sprint(i) }
	last := func(_ int, w map[string]string) {
		if w["request_rate"] == "4" {
			w["request_rate"], w["num_prompts"] = "inf", ""
		}
	}
	for _, tt := range []struct {
		name     string
		change   func(int, map[string]string)
		want     string
		unplaced int
	}{
		{"a closed loop", closed, "concurrency", 0}, {"one rate with bounds", bounded, "concurrency", 0}, {"all at once", batch, "requests", 0},
		{"another work at each rate", lengths, "", 0}, {"a rate without an end", last, "request_rate", 2},
	} {
		charts := set(sweep(1, 1, 2, 4), tt.change)
		if tt.want == "" {
			if len(charts) > 0 {
				t.Errorf("%s: %+v", tt.name, charts)
			}
			continue
		}
		if len(charts) != 1 || charts[0].Load.Name != tt.want || charts[0].Unplaced != tt.unplaced {
			t.Errorf("%s: %+v", tt.name, charts)
		}
	}
}

// TestWithoutSides: configurations are lines of one chart, and each has a chart where they are many.
func TestWithoutSides(t *testing.T) {
	doc := sweep(1, 1, 2)
	doc.Sides = nil
	if charts := curves.Of(doc); len(charts) != 1 || len(charts[0].Lines) != 2 || charts[0].Lines[0].Name != "side=old" ||
		charts[0].Lines[0].Role != curves.Other {
		t.Errorf("%+v", charts)
	}
	for i := range 6 {
		for _, rate := range []float64{1, 2} {
			doc.Benchmarks[0].Cells = append(doc.Benchmarks[0].Cells, cell(fmt.Sprint("s", i), rate, 1))
		}
	}
	if charts := curves.Of(doc); len(charts) != 8 {
		t.Errorf("%d charts", len(charts))
	}
}

func TestGPUsAreNotInvented(t *testing.T) {
	doc := sweep(1, 1, 2)
	doc.Targets[1].GPUs = 0
	c := curves.Of(doc)[0]
	if c.PerGPU != nil || !slices.Equal(c.WithoutGPUs, []string{"new"}) {
		t.Errorf("%+v", c)
	}
	doc.Targets[1].GPUs, doc.Targets[1].Answering = 4, 1 // and as many as nobody knows
	if c := curves.Of(doc)[0]; c.PerGPU != nil || !slices.Equal(c.WithoutGPUs, []string{"new"}) {
		t.Errorf("beside a server that answers already: %+v", c)
	}
	for i := range doc.Benchmarks[0].Cells { // an import says it of its runs
		doc.Benchmarks[0].Cells[i].Runs[0].Work = map[string]string{"gpus": "8"}
	}
	if c := curves.Of(doc)[0]; c.PerGPU == nil || c.Lines[0].Points[0].GPUs != 8 {
		t.Errorf("%+v", c)
	}
}

func TestOneLoadIsNoCurve(t *testing.T) {
	if charts := curves.Of(sweep(4, 2)); len(charts) > 0 {
		t.Errorf("%+v", charts)
	}
	if charts := curves.Of(&result.Document{}); len(charts) > 0 {
		t.Errorf("%+v", charts)
	}
}

// search is a document whose sides were searched: each launch tried its own loads.
func search(capacities ...float64) *result.Document {
	doc := sweep(0, 1)
	for i := range doc.Benchmarks[0].Cells {
		c := &doc.Benchmarks[0].Cells[i]
		for n, k := range capacities {
			s := &result.Search{Over: result.LoadRate, Min: 1, Max: 64, Capacity: &k, Lower: new(k * 0.9), Upper: new(k * 1.1)}
			for _, load := range []float64{4, 16, k} {
				s.Probes = append(s.Probes, result.Probe{
					Kind: result.LoadRate, Load: load, Held: load <= k, Sent: 50, Overloaded: load > 20,
					Objectives: []result.Objective{{Metric: "ttft.p99", Limit: 0.5}},
					Metrics:    map[string]float64{"ttft.p99": 0.01 * load, "tpot.p50": 0.02},
				})
			}
			s.Probes = append(s.Probes, result.Probe{Kind: result.LoadRate, Load: 64, Void: "the client was late"})
			c.Runs = append(c.Runs, result.Run{Repeat: n + 1, Status: result.RunOK, Search: s})
		}
	}
	return doc
}

func TestSearches(t *testing.T) {
	c := curves.Of(search(10, 11, 12, 13))[0]
	if got := len(c.Lines[0].Points); got != 6 { // 4, 16 and one of each launch; none of the void ones
		t.Errorf("%d points", got)
	}
	if got := len(c.Lines[0].Points[0].Launches); got != 4 {
		t.Errorf("%d launches", got)
	}
	if len(c.Limits) != 1 || c.Limits[0] != (curves.Limit{Metric: "ttft.p99", Op: "<=", Value: 0.5}) {
		t.Errorf("%+v", c.Limits)
	}
	if k := c.Lines[0].Capacity; k == nil || k.N != 4 || !k.Interval() || k.OneLaunch || k.Value < 11 || k.Value > 12 {
		t.Errorf("%+v", k)
	}
	if k := curves.Of(search(10))[0].Lines[0].Capacity; k == nil || !k.OneLaunch || k.Lower != 9 {
		t.Errorf("%+v", k)
	}
	doc := search(10, 11, 12, 64)
	doc.Benchmarks[0].Cells[0].Runs[3].Search.Bound = result.AtLeast
	if k := curves.Of(doc)[0].Lines[0].Capacity; k == nil || k.Bound != result.AtLeast || k.Interval() {
		t.Errorf("%+v", k)
	}
}

// TestTrend: launches that tried loads of their own on one straight line have it as their mean
// curve, without spread, at loads that four of them reach.
func TestTrend(t *testing.T) {
	c := curves.Of(search(10, 11, 12, 13))[0]
	if !c.Lines[0].Searched || c.Lines[0].Launches() != 4 {
		t.Errorf("%+v", c.Lines[0])
	}
	i := slices.IndexFunc(c.Latencies, func(f curves.Figure) bool { return f.ID == "ttft.p99" })
	trend := c.Lines[0].Trend(c.Latencies[i])
	if len(trend) < 10 || trend[0].Load != 4 || math.Abs(trend[len(trend)-1].Load-16) > 1e-9 {
		t.Fatalf("%+v", trend)
	}
	for _, p := range trend {
		if want := 0.01 * p.Load; math.Abs(p.Value-want) > 1e-9 || !p.Interval() || p.Upper-p.Lower > 1e-9 || p.N != 4 {
			t.Errorf("%+v, want %g", p, want)
		}
	}
	if trend := curves.Of(search(10, 11, 12))[0].Lines[0].Trend(c.Latencies[i]); trend != nil {
		t.Errorf("three launches have the trend %+v", trend)
	}
}

// TestNoEstimateIsNoNumber: whatever a document has, what is estimated is a number, within its
// interval where it has one.
func TestNoEstimateIsNoNumber(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, -1, 1e308, 5e-324, math.NaN(), math.Inf(1)}))
	rapid.Check(t, func(t *rapid.T) {
		doc := sweep(rapid.IntRange(0, 6).Draw(t, "launches"), 1, 2, 4)
		doc.Targets[0].GPUs = rapid.IntRange(-1, 8).Draw(t, "gpus")
		for i := range doc.Benchmarks[0].Cells {
			c := &doc.Benchmarks[0].Cells[i]
			c.Work["request_rate"] = rapid.SampledFrom([]string{"1", "2", "1e300", "-1", "nan", "inf", ""}).Draw(t, "rate")
			for k := range c.Runs {
				for id := range c.Runs[k].Metrics {
					c.Runs[k].Metrics[id] = number.Draw(t, id)
				}
			}
		}
		for _, c := range curves.Of(doc) {
			for _, f := range c.All() {
				for _, l := range c.Lines {
					for _, p := range l.Points {
						e, ok := p.Estimate(f)
						if ok && (math.IsNaN(e.Value) || math.IsInf(e.Value, 0)) {
							t.Fatalf("%s: %+v", f.ID, e)
						}
						const rounding = 1e-9
						if ok && e.Interval() && (e.Value < e.Lower-rounding*math.Abs(e.Value) || e.Value > e.Upper+rounding*math.Abs(e.Value)) {
							t.Fatalf("%s: %+v", f.ID, e)
						}
					}
				}
			}
		}
	})
}

// TestDeclaredMeasures: what a file declares is among the figures of a chart, with its unit.
func TestDeclaredMeasures(t *testing.T) {
	doc := sweep(2, 1, 2)
	doc.Measures = result.Measures{{Metric: "measure.joules", Label: "Energy", Unit: "J/tok", Scale: "relative"}}
	for i := range doc.Benchmarks[0].Cells {
		for _, r := range doc.Benchmarks[0].Cells[i].Runs {
			r.Metrics["measure.joules"] = 0.25
		}
	}
	figures := curves.Of(doc)[0].All()
	if !slices.ContainsFunc(figures, func(f curves.Figure) bool { return f.ID == "measure.joules" && f.Unit == "J/tok" }) {
		t.Errorf("no measure.joules in %+v", figures)
	}
}
