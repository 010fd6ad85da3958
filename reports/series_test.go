package reports_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/series"
)

var firstNight = time.Date(2026, 8, 1, 2, 17, 0, 0, time.UTC)

// night is a session: its values of a level have 1 % of noise, the same in every test.
func night(n int, level float64, rng *rand.Rand) series.Point {
	return series.Point{
		Run: fmt.Sprintf("20260801-%03d", n), Time: firstNight.AddDate(0, 0, n), Commit: fmt.Sprintf("%07x%033d", 0xabc000+n, n),
		Value: level * math.Exp(0.01*rng.NormFloat64()),
	}
}

// part judges the sessions from a night on, with one level each. Accepted is the index of
// what was, −1 for nothing.
func part(t *testing.T, id, machine string, from, accepted int, levels ...float64) series.Part {
	t.Helper()
	m, ok := metric.Lookup(id)
	if !ok {
		t.Fatal(id)
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(levels))))
	p := series.Part{Machine: machine}
	var values []float64
	for i, l := range levels {
		p.Points = append(p.Points, night(from+i, l, rng))
		values = append(values, p.Points[i].Value)
	}
	found := trend.Series{}
	var err error
	if len(values) >= 6 {
		if found, err = trend.Detect(m, values); err != nil {
			t.Fatal(err)
		}
	}
	if p.Standing, err = trend.Stand(m, values, found, trend.Terms{Margin: 0.05, Accepted: accepted}); err != nil {
		t.Fatal(err)
	}
	p.Noise = found.Noise
	for _, c := range found.ChangePoints {
		p.Changes = append(p.Changes, series.Change{
			Index: c.Index, State: c.State, Before: c.Before, After: c.After, Change: c.Change, Worse: c.Worse, P: c.P,
			Accepted: accepted >= 0 && c.Index <= p.Start,
		})
	}
	if accepted >= 0 {
		p.Accepted = &series.Acceptance{ID: "w1", Index: accepted, Time: p.Points[accepted].Time.Add(8 * time.Hour),
			Reason: "larger KV blocks", Author: "alice"}
	}
	return p
}

func levels(parts ...any) []float64 {
	var out []float64
	for i := 0; i < len(parts); i += 2 {
		for range parts[i+1].(int) {
			out = append(out, parts[i].(float64))
		}
	}
	return out
}

func seriesOf(id, label string, parts ...series.Part) series.Trend {
	m, _ := metric.Lookup(id)
	return series.Trend{
		Key: fmt.Sprintf("%016x", len(id)*100+len(label)), Benchmark: "benchmark.chat", Cell: "c" + label, Label: label,
		Model:  "meta-llama/Llama-3.1-8B",
		Metric: id, MetricLabel: m.Label, Unit: string(m.Unit), Direction: string(m.Direction), Scale: string(m.Scale),
		Margin: 0.05, Parts: parts,
	}
}

// sixtyNights has one of each.
func sixtyNights(t *testing.T) *series.History {
	t.Helper()
	const h100, h200 = "1× NVIDIA H100 80GB HBM3", "1× NVIDIA H200"
	moved := seriesOf("ttft.p50", "rate=4", part(t, "ttft.p50", h100, 0, -1, levels(0.05, 45)...), part(t, "ttft.p50", h200, 45, -1,
		levels(0.04, 15)...))
	moved.Parts[0].Retired = true
	return &series.History{
		Schema: series.Schema, Branch: "main", Sessions: 60, First: firstNight, Last: firstNight.AddDate(0, 0, 59),
		Warnings: []string{"the record damaged.json is left out: its checksum does not fit its content: it was altered or damaged"},
		Trends: []series.Trend{
			seriesOf("e2el.p50", "rate=4", part(t, "e2el.p50", h100, 0, 35, levels(1.6, 25, 1.85, 35)...)),
			moved,
			seriesOf("itl.p99", "rate=8", part(t, "itl.p99", h100, 0, -1, levels(0.021, 59, 0.035, 1)...)),
			seriesOf("output_throughput.mean", "rate=8", part(t, "output_throughput.mean", h100, 0, -1, levels(2100.0, 20, 1500.0, 1, 2100.0,
				14, 2400.0, 25)...)),
			seriesOf("ttft.p99", "rate=8", part(t, "ttft.p99", h100, 0, -1, levels(0.4, 48, 0.45, 12)...)),
			seriesOf("ttft.p99", "rate=16", part(t, "ttft.p99", h100, 56, -1, levels(0.9, 4)...)),
		},
	}
}

func TestGoldenHistory(t *testing.T) {
	simulated := &series.History{Schema: series.Schema, Simulated: true, Sessions: 8, First: firstNight, Last: firstNight.AddDate(0, 0, 7)}
	simulated.Trends = []series.Trend{seriesOf("ttft.p50", "rate=4", part(t, "ttft.p50", "Xeon", 0, -1, levels(0.05, 8)...))}
	for name, h := range map[string]*series.History{
		"history": sixtyNights(t), "history-simulated": simulated, "history-empty": {Schema: series.Schema},
	} {
		for _, f := range reports.AllFormats().OfHistories() {
			if f.Name == "json" && name != "history-simulated" {
				continue // the figures of sixty nights say nothing that the others do not
			}
			var out bytes.Buffer
			if err := f.History(&out, h, reports.Options{}); err != nil {
				t.Fatalf("%s, %s: %v", name, f.Name, err)
			}
			if f.Name == "html" {
				golden.Equal(t, "testdata/"+name+".page.txt", []byte(outline(t, out.String())))
				continue
			}
			golden.Equal(t, "testdata/"+name+f.Extension, out.Bytes())
		}
	}
}

// The page is closed as that of a run is, whatever the history says.
func TestHistoryPageIsClosed(t *testing.T) {
	hostileOne := sixtyNights(t)
	n := 0
	poison(reflect.ValueOf(hostileOne).Elem(), &n)
	for name, h := range map[string]*series.History{"usual": sixtyNights(t), "hostile": hostileOne} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := series.HTML(&out, h, reports.Options{}); err != nil {
				t.Fatal(err)
			}
			f := inspect(t, out.String())
			if f.count["svg"] != len(h.Trends) || f.count["h1"] != 1 || f.count["main"] != 1 {
				t.Errorf("%d charts, %d h1, %d main", f.count["svg"], f.count["h1"], f.count["main"])
			}
			if name == "hostile" && !strings.Contains(out.String(), "&lt;img src=x onerror=alert(1)&gt;") {
				t.Error("the payloads are not in the page")
			}
		})
	}
}

// A history of any size fits the budgets, by whole rows.
func TestHistoryWithinBudgets(t *testing.T) {
	h := sixtyNights(t)
	one := h.Trends[4]
	for i := range 300 {
		one.Label, one.Key = fmt.Sprintf("rate=%d", i+100), fmt.Sprintf("%016x", i)
		h.Trends = append(h.Trends, one)
	}
	var page, text bytes.Buffer
	if err := series.HTML(&page, h, reports.Options{Budget: 1 << 20}); err != nil || page.Len() > 1<<20 {
		t.Errorf("%d bytes, %v", page.Len(), err)
	}
	if f := inspect(t, page.String()); f.count["svg"] == 0 {
		t.Error("no charts are left")
	}
	if err := series.Markdown(&text, h, reports.Options{Budget: 20_000}); err != nil || text.Len() > 20_000 {
		t.Errorf("%d bytes, %v", text.Len(), err)
	}
	if !strings.Contains(text.String(), "301 of 306 series regressed") || !strings.Contains(text.String(), "more row") {
		t.Errorf("what was left out is not counted:\n%s", text.String())
	}
	if err := series.HTML(&page, h, reports.Options{Budget: 1000}); err == nil {
		t.Error("a page of 1,000 bytes is impossible")
	}
}

// TestNarrowTerminal: on 80 columns a history leaves out columns rather than breaking words, and says which.
func TestNarrowTerminal(t *testing.T) {
	var out bytes.Buffer
	if err := format("text").History(&out, sixtyNights(t), reports.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/history-80.txt", out.Bytes())
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
