package reports_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// values reports whether a format has measured values and no verdicts.
func values(format string) bool { return format == "openmetrics" || format == "pytorch-hud" }

// TestLimitsInEveryFormat: a limit that is not kept shows its value, the limit and how far
// it is beyond.
func TestLimitsInEveryFormat(t *testing.T) {
	doc := passing()
	g := &doc.Gates[len(doc.Gates)-1]
	limit := 0.4
	g.Decisions[0].Limit, g.Decisions[0].Verdict, g.Decisions[0].HeadValue = &limit, result.Regression, new(0.5)
	g.Verdict = result.Regression
	for _, f := range reports.AllFormats() {
		if f.Name == "curves" || values(f.Name) { // of points, which this document has not
			continue
		}
		wanted := []string{"500 ms", "400 ms", "25.0"}
		if f.Name == "json" || f.Name == "csv" {
			wanted = []string{"0.4", "0.5"}
		}
		out := string(written(t, f.Name, doc, reports.Options{}))
		for _, want := range wanted {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q", f.Name, want)
			}
		}
	}
}

// TestObjectivesInEveryFormat: the limits of a search are shown with what was measured at the highest
// load that held, and how far that is from them.
func TestObjectivesInEveryFormat(t *testing.T) {
	doc := searched(6)
	doc.Gates = []result.Gate{{Addr: "gate.capacity", Benchmark: "benchmark.sweep", Verdict: result.Pass, Decisions: []result.Decision{}}}
	for _, f := range reports.AllFormats() {
		if f.Name == "svg" || values(f.Name) { // only comparisons
			continue
		}
		wanted := []string{"382 ms", "500 ms", "23.6"} // of the base, at 16 req/s
		if f.Name == "json" || f.Name == "csv" || f.Name == "curves" {
			wanted = []string{"0.38", "0.5"}
		}
		out := string(written(t, f.Name, doc, reports.Options{}))
		for _, want := range wanted {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q", f.Name, want)
			}
		}
	}
}

// TestLoadsThatWereNotTried: the widest range of loads below the capacity of a cell that no launch tried is named.
func TestLoadsThatWereNotTried(t *testing.T) {
	doc := searched(4)
	for k, cell := range doc.Benchmarks[0].Cells {
		for i := range cell.Runs {
			s := cell.Runs[i].Search
			s.Min, s.Capacity = 1, new(18.0)
			s.Probes = s.Probes[:2]
			s.Probes[0].Load, s.Probes[1].Load = 2, []float64{16, 4}[k]
		}
	}
	runs := doc.Benchmarks[0].Cells[0].Runs
	for i := 1; i <= 3; i++ {
		runs[i].Search.Probes[0].Load = 5 // and shows nothing
	}
	runs[1].Search.Probes[0].Kind = result.LoadConcurrency
	runs[2].Status = result.RunVoid
	runs[3].Search.Probes[0].Void, runs[3].Search.Capacity = "lag", new(400.0)
	out := string(written(t, "markdown", doc, reports.Options{}))
	if want := "`base` tried no load between 2.00 and 16.0 req/s, the widest such range below a capacity"; !strings.Contains(out, want) {
		t.Errorf("%q is missing in\n%s", want, out)
	}
	for k := range runs {
		runs[k].Search.Probes[1].Load, runs[k].Search.Capacity = 4, new(64.0)
	}
	out = string(written(t, "markdown", doc, reports.Options{}))
	if want := "`base` tried no load between 4.00 and 64.0 req/s"; !strings.Contains(out, want) {
		t.Errorf("%q is missing in\n%s", want, out)
	}
}

// TestLimitsThatDoNotSeeAQueue: a server that falls behind while all limits hold is named.
func TestLimitsThatDoNotSeeAQueue(t *testing.T) {
	for _, behind := range []int{0, 2, 3} {
		doc := searched(4)
		for k := range doc.Benchmarks[0].Cells[0].Runs {
			for i := range doc.Benchmarks[0].Cells[0].Runs[k].Search.Probes {
				if p := &doc.Benchmarks[0].Cells[0].Runs[k].Search.Probes[i]; p.Load == 16 { // the highest that held
					p.Overloaded = k < behind
				}
			}
		}
		out := string(written(t, "markdown", doc, reports.Options{}))
		if said := strings.Contains(out, "`base` fell behind at the highest load that held in 3 of 4 launches"); said != (behind == 3) ||
			strings.Contains(out, "fell behind") != said {
			t.Errorf("%d launches fell behind: said %v", behind, said)
		}
	}
}

// TestLoadsThatMissBelowTheCapacity: a load far below the capacity at which the limits did not hold is named; one that
// missed by less than 5 %, or within the interval, or that nothing held above, is not.
func TestLoadsThatMissBelowTheCapacity(t *testing.T) {
	for _, tt := range []struct {
		load, headroom float64
		named          bool
	}{{4, -0.3, true}, {8, -0.06, true}, {4, -0.04, false}, {16, -0.3, false}, {32, -0.3, false}} {
		doc := searched(4)
		search := doc.Benchmarks[0].Cells[0].Runs[1].Search
		for i := range search.Probes {
			if p := &search.Probes[i]; p.Load == tt.load {
				p.Held, p.Headroom = false, tt.headroom
			}
		}
		out := string(written(t, "markdown", doc, reports.Options{}))
		want := fmt.Sprintf("`base` missed a limit at %.2f req/s in 1 of 4 launches, below loads that held", tt.load)
		if strings.Contains(out, want) != tt.named || strings.Contains(out, "missed a limit") != tt.named {
			t.Errorf("headroom %g at %g: want it named: %v, in\n%s", tt.headroom, tt.load, tt.named, out)
		}
	}
}

// TestBoundsInEveryFormat: a capacity beyond the range of its search is a bound wherever it is printed.
func TestBoundsInEveryFormat(t *testing.T) {
	doc := searched(4)
	for i := range doc.Benchmarks[0].Cells {
		c := &doc.Benchmarks[0].Cells[i]
		c.Summary = map[string]float64{"capacity.rate": 64}
		for k := range c.Runs {
			c.Runs[k].Search.Capacity, c.Runs[k].Search.Bound = new(64.0), result.AtLeast
		}
	}
	doc.Gates = []result.Gate{{Addr: "gate.capacity", Benchmark: "benchmark.sweep", Verdict: result.Inconclusive,
		Decisions: []result.Decision{{
			ID: "d", Kind: result.KindMetric, Cell: "head", BaseCell: "base", Base: "base", Head: "head", Metric: "capacity.rate",
			Label: "Capacity", Unit: "req/s", Direction: "higher", Scale: "log",
			Verdict: result.Inconclusive, N: 4, BaseValue: new(64.0), HeadValue: new(64.0), Change: new(0.0), BaseBound: result.AtLeast,
			HeadBound: result.AtLeast,
		}}}}
	bare := regexp.MustCompile(`[^≥] 64(?:\.0)? req/s`)
	for _, f := range reports.AllFormats() {
		if f.Name == "pytorch-hud" { // of runs, which have no capacity in this document
			continue
		}
		out := strings.ReplaceAll(string(written(t, f.Name, doc, reports.Options{})), `$\ge$`, "≥") // as LaTeX writes it
		sign := "≥ 64"
		if f.Name == "json" || f.Name == "csv" || f.Name == "curves" || values(f.Name) {
			sign = "at_least"
		} else if found := bare.FindString(out); found != "" {
			t.Errorf("%s has %q without a sign", f.Name, found)
		}
		if !strings.Contains(out, sign) {
			t.Errorf("%s lacks %q", f.Name, sign)
		}
	}
}

// TestObjectivesThatNeverHeld: a side whose SLO holds nowhere has no value and no headroom.
func TestObjectivesThatNeverHeld(t *testing.T) {
	doc := searched(4)
	for i := range doc.Benchmarks[0].Cells[0].Runs {
		s := doc.Benchmarks[0].Cells[0].Runs[i].Search
		s.Capacity, s.Lower, s.Upper = nil, nil, nil
		for k := range s.Probes {
			s.Probes[k].Held, s.Probes[k].Objectives[0].Held = false, false
		}
	}
	out := string(written(t, "text", doc, reports.Options{}))
	if !regexp.MustCompile(`base +TTFT p99 +— +— +≤ 500 ms +— +4 of 4 launches`).MatchString(out) {
		t.Error(out)
	}
}
