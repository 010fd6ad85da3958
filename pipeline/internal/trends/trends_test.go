package trends_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/series"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/trends"
)

var start = time.Date(2026, 8, 1, 3, 0, 0, 0, time.UTC)

// session is one night's record.
func session(night int, ttft float64) history.Record {
	return history.Record{
		ID: fmt.Sprintf("run-%03d", night), Kind: history.Session, Time: start.Add(time.Duration(night) * 24 * time.Hour),
		Machine: map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H100", "arch": "amd64", "driver": "580"},
		Cells:   []history.Cell{{Hash: "h", Model: "m", Metrics: map[string]float64{"ttft.p50": ttft}}},
	}
}

func query(now time.Time) trends.Query {
	return trends.Query{Metrics: []string{"ttft.p50"}, Margin: func(string) float64 { return 0.05 }, Now: now}
}

// of lays records out that nothing was stored of.
func of(t *testing.T, q trends.Query, records ...history.Record) *series.History {
	t.Helper()
	out, err := trends.Of(&history.History{Records: records}, q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// nightsOf are sessions with a level from each of some nights on.
func nightsOf(n int, level func(night int) float64) []history.Record {
	var out []history.Record
	for night := range n {
		out = append(out, session(night, level(night)*(1+0.004*float64(night%3-1))))
	}
	return out
}

func accepts(run string, night int, change func(*history.Annotation)) history.Record {
	w := history.Annotation{Run: run, Reason: "new kernel", Author: "alice", Measured: session(night, 1).Time}
	if change != nil {
		change(&w)
	}
	return history.Record{ID: "annotation-" + run, Kind: history.Acceptance, Time: w.Measured.Add(time.Hour), Annotation: &w}
}

func stepAt(at int) func(int) float64 {
	return func(night int) float64 {
		if night >= at {
			return 0.12
		}
		return 0.1
	}
}

// TestTrendsInNaturalOrder: series are sorted by the numbers in their labels.
func TestTrendsInNaturalOrder(t *testing.T) {
	night := session(0, 0.1)
	night.Cells = nil
	for _, rate := range []string{"10", "2", "1", "8"} {
		night.Cells = append(night.Cells, history.Cell{
			Hash: rate, Label: "rate=" + rate, Model: "m", Metrics: map[string]float64{"ttft.p50": 0.1},
		})
	}
	var got []string
	for _, s := range of(t, query(start), night).Trends {
		got = append(got, s.Label)
	}
	if want := []string{"rate=1", "rate=2", "rate=8", "rate=10"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAcceptancesOfTrends(t *testing.T) {
	now := start.AddDate(0, 0, 40)
	for name, tt := range map[string]struct {
		annotation history.Record
		want       trend.Condition
	}{
		"of a session of the new level": {accepts("run-022", 22, nil), trend.Steady},
		"of the first one":              {accepts("run-020", 20, nil), trend.Steady},
		"of the old level":              {accepts("run-010", 10, nil), trend.Regressed},
		"of another metric":             {accepts("run-022", 22, func(w *history.Annotation) { w.Metric = "ttft.p99" }), trend.Regressed},
		"of another cell":               {accepts("run-022", 22, func(w *history.Annotation) { w.Cell = "other" }), trend.Regressed},
		"of this cell and metric": {accepts("run-022", 22, func(w *history.Annotation) { w.Cell, w.Metric = "h", "ttft.p50" }),
			trend.Steady},
		"that has expired": {accepts("run-022", 22, func(w *history.Annotation) { w.Expires = now.AddDate(0, 0, -1) }),
			trend.Regressed},
		"of a run that was not kept": {accepts("pull-request", 22, nil), trend.Steady},
		"of a run after all of them": {accepts("pull-request", 35, nil), trend.Regressed},
	} {
		t.Run(name, func(t *testing.T) {
			got := of(t, query(now), append(nightsOf(30, stepAt(20)), tt.annotation)...)
			if len(got.Trends) != 1 || got.Trends[0].Condition() != tt.want {
				t.Errorf("%+v", got.Trends)
			}
		})
	}
}

// Values of two machines are parts of one series, and never set beside each other.
func TestMachinesSplitTrends(t *testing.T) {
	records := nightsOf(30, stepAt(15))
	for i := range records[15:] {
		records[15+i].Machine = map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H200", "arch": "amd64"}
	}
	got := of(t, query(start), records...)
	if len(got.Trends) != 1 || len(got.Trends[0].Parts) != 2 || got.Trends[0].Condition() != trend.Steady || got.Sessions != 30 {
		t.Fatalf("%+v", got)
	}
	if p := got.Trends[0].Parts; !p[0].Retired || p[1].Retired || len(p[0].Changes)+len(p[1].Changes) != 0 ||
		p[1].Machine != "1× NVIDIA H200" {
		t.Errorf("%+v", p)
	}
	key := of(t, query(start), records[:10]...).Trends[0].Key
	if key != got.Trends[0].Key || len(key) != 16 {
		t.Errorf("the key moved from %s to %s", key, got.Trends[0].Key)
	}
}

// A benchmark that is gone keeps nobody busy for ever.
func TestTrendsRetire(t *testing.T) {
	records := nightsOf(40, stepAt(20))
	for i := range records[30:] {
		records[30+i].Cells[0].Hash = "another"
	}
	got := of(t, query(start), records...)
	retired := 0
	for _, s := range got.Trends {
		if s.Parts[0].Retired {
			retired++
		}
		if s.Condition() == trend.Regressed {
			t.Errorf("%s is regressed", s.Cell)
		}
	}
	if len(got.Trends) != 2 || retired != 1 {
		t.Errorf("%+v", got.Trends)
	}
	// Every seventh night is no reason.
	records = nightsOf(40, stepAt(100))
	for i := range records {
		if i%7 != 0 {
			records[i].Cells[0].Hash = "another"
		}
	}
	records = append(records, session(41, 0.1), session(42, 0.1))
	for i := range 12 {
		r := session(43+i, 0.1)
		r.Cells[0].Hash = "another"
		records = append(records, r)
	}
	for _, s := range of(t, query(start), records...).Trends {
		if s.Parts[0].Retired {
			t.Errorf("%s is retired", s.Cell)
		}
	}
}

func TestSimulatedTrendsStayApart(t *testing.T) {
	records := nightsOf(20, stepAt(100))
	for i := range 10 {
		r := session(100+i, 0.5)
		r.ID, r.Simulated = fmt.Sprintf("sim-%d", i), "process"
		records = append(records, r)
	}
	q := query(start)
	if got := of(t, q, records...); got.Sessions != 20 || len(got.Trends) != 1 {
		t.Errorf("real: %+v", got)
	}
	q.Simulated = true
	if got := of(t, q, records...); got.Sessions != 10 || len(got.Trends) != 1 || !got.Simulated {
		t.Errorf("simulated: %+v", got)
	}
}

// A creep is reported as one: since when, and that it is no step.
func TestCreepOfTrends(t *testing.T) {
	got := of(t, query(start.AddDate(2, 0, 0)), nightsOf(80, func(n int) float64 { return 0.1 * (1 + 0.003*float64(max(0, n-20))) })...)
	if len(got.Trends) != 1 || got.Trends[0].Condition() != trend.Regressed {
		t.Fatalf("%+v", got.Trends)
	}
	if p := got.Trends[0].Parts[0]; p.Change < 0.1 || p.Since < 30 {
		t.Errorf("%+v", p.Standing)
	}
}

// inCells are sessions of several cells, whose levels a function gives.
func inCells(nights, cells int, level func(night, cell int) float64) []history.Record {
	var out []history.Record
	for night := range nights {
		r := session(night, 0)
		r.Cells = nil
		for c := range cells {
			value := level(night, c) * (1 + 0.004*float64((night+c)%3-1))
			r.Cells = append(r.Cells, history.Cell{Benchmark: "b", Hash: fmt.Sprint("h", c), Label: fmt.Sprint("c", c), Model: "m",
				Metrics: map[string]float64{"ttft.p50": value}})
		}
		out = append(out, r)
	}
	return out
}

// What makes all cells of a machine slow for some sessions is a note on the machine; what makes one slow, or all for longer,
// is a regression of the cells.
func TestMovesOfAMachine(t *testing.T) {
	slow := func(from, to int, of func(cell int) bool) func(night, cell int) float64 {
		return func(night, cell int) float64 {
			if night >= from && night < to && of(cell) {
				return 0.11
			}
			return 0.1
		}
	}
	all, first := func(int) bool { return true }, func(cell int) bool { return cell == 0 }
	for name, tt := range map[string]struct {
		level     func(night, cell int) float64
		regressed int
		warning   string
	}{
		"a neighbour that left": {slow(20, 23, all), 0,
			"8 of 8 cells were worse together, by +10.0 % in the median, in 3 sessions from 2026-08-21 to 2026-08-23. They recovered"},
		"one that is there":    {slow(27, 30, all), 0, "is taken for the machine's for 7 sessions"},
		"all cells for longer": {slow(20, 30, all), 8, ""},
		"one cell":             {slow(20, 30, first), 1, ""},
		"one cell, and a night": {func(n, c int) float64 { return max(slow(20, 30, first)(n, c), slow(25, 26, all)(n, c)) }, 1,
			"in 1 session from"},
		"nothing": {slow(0, 0, all), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := of(t, query(start), inCells(30, 8, tt.level)...)
			regressed := 0
			for i := range got.Trends {
				p := got.Trends[i].Parts[0]
				if p.Condition != trend.Regressed {
					continue
				}
				regressed++
				if p.Since < 19 || p.Since > 21 || p.ReferenceEnd < 19 || p.ReferenceEnd > 21 {
					t.Errorf("%s: since %d, reference until %d", got.Trends[i].Label, p.Since, p.ReferenceEnd)
				}
			}
			warnings := strings.Join(got.Warnings, "\n")
			if regressed != tt.regressed || !strings.Contains(warnings, tt.warning) || tt.warning == "" && warnings != "" {
				t.Errorf("%d regressed, want %d; %s", regressed, tt.regressed, warnings)
			}
		})
	}
	// Sessions that are left out move no index: the regression of the cell begins where it did.
	got := of(t, query(start), inCells(30, 8, func(n, c int) float64 { return max(slow(20, 30, first)(n, c), slow(10, 13, all)(n, c)) })...)
	if p := got.Trends[0].Parts[0]; p.Condition != trend.Regressed || p.Since != 20 || len(p.Changes) != 1 || p.Changes[0].Index != 20 ||
		len(p.Points) != 30 {
		t.Errorf("since %d, %+v, %d points", p.Since, p.Changes, len(p.Points))
	}
}
