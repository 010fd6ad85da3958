package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports/result"
	"pgregory.net/rapid"
)

// grid is a benchmark of two axes without runs.
func grid(sides []string, rates ...int) []result.Benchmark {
	b := result.Benchmark{Addr: "benchmark.nightly", Axes: []string{"side", "qps"}}
	for _, s := range sides {
		for _, r := range rates {
			b.Cells = append(b.Cells, result.Cell{
				Hash:   fmt.Sprintf("%s-%d", s, r),
				Values: []result.AxisValue{{Name: "side", Value: s}, {Name: "qps", Value: fmt.Sprint(r)}},
			})
		}
	}
	return []result.Benchmark{b}
}

func measured(source string, params map[string]string, ttft float64) convert.Run {
	return convert.Run{
		Source: source, Line: 1, Tool: "vllm", Params: params, Metrics: map[string]float64{"ttft.p50": ttft},
		Counts: convert.Counts{Sent: 10, Succeeded: 10, FailedKnown: true},
	}
}

// TestFitOfManyCells: the work for a result does not grow with the number of cells, of which sweeps have thousands.
func TestFitOfManyCells(t *testing.T) {
	allocations := func(cells int) float64 {
		rates := make([]int, cells)
		var runs []convert.Run
		for i := range rates {
			rates[i] = i + 1
			runs = append(runs, measured("x.csv", map[string]string{"side": "base", "request_rate": fmt.Sprint(i + 1)}, float64(i+1)))
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := convert.Fit(runs, grid([]string{"base"}, rates...), convert.FitOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(50), allocations(400); many > 12*few {
		t.Errorf("%.0f allocations for 50 cells, %.0f for 400", few, many)
	}
}

// Each result is in the one cell that its parameters name, whatever they are called, and
// each launch is a run of its own there.
func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sides, rates := []string{"base", "head"}, []int{2, 4, 8}
		repeats := rapid.IntRange(1, 4).Draw(t, "repeats")
		key := rapid.SampledFrom([]string{"request_rate", "qps", "rate", "--request-rate"}).Draw(t, "key")
		var runs []convert.Run
		want := map[string][]float64{}
		for i, side := range sides {
			for j, rate := range rates {
				for l := range repeats {
					r := measured(fmt.Sprintf("%s-%d.json", side, l), nil, 1+float64(i*100+j*10+l))
					batch := []convert.Run{r}
					convert.Label(batch, map[string]string{"side": side, key: fmt.Sprintf("%d.0", rate)})
					runs = append(runs, batch...)
					cell := fmt.Sprintf("%s-%d", side, rate)
					want[cell] = append(want[cell], r.Metrics["ttft.p50"])
				}
			}
		}
		doc, err := convert.Fit(runs, grid(sides, rates...), convert.FitOptions{Options: convert.Options{OneLaunchPerFile: true}})
		if err != nil {
			t.Fatal(err)
		}
		if err := result.Validate(doc); err != nil {
			t.Fatal(err)
		}
		for _, c := range doc.Benchmarks[0].Cells {
			var got []float64
			for i, r := range c.Runs {
				got = append(got, r.Metrics["ttft.p50"])
				if r.Repeat != i+1 || r.Launch == "" {
					t.Fatalf("%s: run %d is repeat %d of launch %q", c.Hash, i, r.Repeat, r.Launch)
				}
			}
			if !slices.Equal(got, want[c.Hash]) {
				t.Fatalf("%s has %v, want %v", c.Hash, got, want[c.Hash])
			}
		}
	})
}

func TestFitTells(t *testing.T) {
	rate := func(v string) map[string]string { return map[string]string{"request_rate": v} }
	side := func(s, v string) map[string]string { return map[string]string{"side": s, "request_rate": v} }
	for name, tt := range map[string]struct {
		runs  []convert.Run
		cells []result.Benchmark
		opt   convert.FitOptions
		err   string
		warn  string
		full  []string // cells that have a run
	}{
		"no side": {runs: []convert.Run{measured("a", rate("2"), 1)}, cells: grid([]string{"base", "head"}, 2),
			err: "a:1: the result has no \"side\""},
		"one side only exists": {runs: []convert.Run{measured("a", rate("2"), 1)}, cells: grid([]string{"base"}, 2, 4), full: []string{"base-2"}},
		"loose": {runs: []convert.Run{measured("a", rate("2"), 1)}, cells: grid([]string{"base", "head"}, 2),
			opt: convert.FitOptions{Loose: true}, warn: "stand for every value", full: []string{"base-2", "head-2"}},
		"another rate": {runs: []convert.Run{measured("a", side("base", "3"), 1)}, cells: grid([]string{"base", "head"}, 2),
			err: "request_rate=\"3\""},
		"one left over": {runs: []convert.Run{measured("a", side("base", "3"), 1), measured("b", side("head", "2"), 1)},
			cells: grid([]string{"base", "head"}, 2), warn: "a:1 fits no cell", full: []string{"head-2"}},
		"under another name": {runs: []convert.Run{measured("a", map[string]string{"build": "head", "request_rate": "2"}, 1)},
			cells: grid([]string{"base", "head"}, 2), opt: convert.FitOptions{Names: map[string]string{"side": "build"}}, full: []string{"head-2"}},
		"nothing": {cells: grid([]string{"base"}, 2), err: "no result found"},
		"two ways": {runs: []convert.Run{measured("a", rate("2"), 1)}, cells: grid([]string{"base"}, 2),
			opt: convert.FitOptions{Options: convert.Options{LaunchBy: "x", OneLaunchPerFile: true}}, err: "not by both"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := convert.Fit(tt.runs, tt.cells, tt.opt)
			if tt.err != "" {
				if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "qps=", "request_rate="), tt.err) {
					t.Errorf("%v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.warn != "" && !slices.ContainsFunc(doc.Warnings, func(w string) bool { return strings.Contains(w, tt.warn) }) {
				t.Errorf("warnings %q, want %s", doc.Warnings, tt.warn)
			}
			var full []string
			for _, c := range doc.Benchmarks[0].Cells {
				if len(c.Runs) > 0 {
					full = append(full, c.Hash)
				}
			}
			if !slices.Equal(full, tt.full) {
				t.Errorf("cells with runs %v, want %v", full, tt.full)
			}
		})
	}
}

// A result that two benchmarks could take has to say which one it is of.
func TestFitTwoBenchmarks(t *testing.T) {
	benchmarks := func() []result.Benchmark {
		b := append(grid([]string{"base"}, 2), grid([]string{"base"}, 2)...)
		b[1].Addr = "benchmark.other"
		return b
	}
	run := measured("a", map[string]string{"side": "base", "request_rate": "2"}, 1)
	if _, err := convert.Fit([]convert.Run{run}, benchmarks(), convert.FitOptions{}); err == nil ||
		!strings.Contains(err.Error(), "benchmark=other") {
		t.Errorf("%v", err)
	}
	run.Params["benchmark"] = "other"
	doc, err := convert.Fit([]convert.Run{run}, benchmarks(), convert.FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(doc.Benchmarks[1].Cells[0].Runs); n != 1 || len(doc.Benchmarks[0].Cells[0].Runs) != 0 {
		t.Errorf("%d runs in the other", n)
	}
}

func TestParseLabels(t *testing.T) {
	for arg, want := range map[string]string{
		"side=base:night/*.json":      "map[side:base] night/*.json",
		"side=base,launch=1:a.log":    "map[launch:1 side:base] a.log",
		"side=base:night.log?qps=2":   "map[side:base] night.log?qps=2",
		"night.log?side=base":         "map[] night.log?side=base",
		"C:night.log":                 "map[] C:night.log",
		"=base:a":                     "map[] =base:a",
		"dir/side=base:a":             "map[] dir/side=base:a",
		"side=base:":                  "map[] side=base:",
		"side=:a":                     "map[] side=:a",
		"side=a:b:c":                  "map[side:a] b:c",
		"night.log?q=http://x:80/a=b": "map[] night.log?q=http://x:80/a=b",
	} {
		labels, rest := convert.ParseLabels(arg)
		if got := fmt.Sprint(labels) + " " + rest; got != want {
			t.Errorf("%s: %s, want %s", arg, got, want)
		}
	}
}

// What is left of an attempt is no pass, and a launch with one pass pairs with the first of a
// launch with several.
func TestFitPairsWholePasses(t *testing.T) {
	cut := measured("head.log", map[string]string{"side": "head", "qps": "2"}, 9)
	cut.Cut = "the block is cut"
	retry := measured("head.log", map[string]string{"side": "head", "qps": "2"}, 1.5)
	retry.Line = 50
	base := measured("base.log", map[string]string{"side": "base", "qps": "2"}, 1)
	doc, err := convert.Fit([]convert.Run{cut, retry, base}, grid([]string{"base", "head"}, 2),
		convert.FitOptions{Options: convert.Options{OneLaunchPerFile: true}})
	if err != nil {
		t.Fatal(err)
	}
	passes := map[float64]int{}
	for _, c := range doc.Benchmarks[0].Cells {
		for _, r := range c.Runs {
			if r.Status == result.RunOK {
				passes[r.Metrics["ttft.p50"]] = r.Pass
			}
		}
	}
	if len(passes) != 2 || passes[1] != 1 || passes[1.5] != 1 {
		t.Errorf("passes by value: %v, want the first on both sides", passes)
	}
	if w := strings.Join(doc.Warnings, "\n"); strings.Contains(w, "only the passes that both sides have") {
		t.Errorf("warnings %q", w)
	}
}
