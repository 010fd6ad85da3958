package reports_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// wide is a document with n regressions and n passes, each in a cell of its own, a server
// that failed with a long log, and an environment.
func wide(n int) *result.Document {
	doc := headDead()
	doc.Gates[0].Decisions = nil
	doc.Benchmarks[0].Cells = nil
	lower, upper, p := 0.1, 0.2, 0.0001
	for i := range 2 * n {
		values := []result.AxisValue{{Name: "rate", Value: fmt.Sprint(i)}}
		hash := fmt.Sprintf("%08x", i)
		doc.Benchmarks[0].Cells = append(doc.Benchmarks[0].Cells, result.Cell{Hash: hash, Values: values,
			Summary: map[string]float64{"ttft.p99": 0.4}})
		d := result.Decision{
			ID: hash, Kind: result.KindMetric, Cell: hash, Values: values, Metric: "ttft.p99", Label: "TTFT p99", Unit: "s",
			Direction: "lower", Scale: "log",
			Verdict: result.Regression, N: 6, BaseValue: new(0.4), HeadValue: new(0.46), Change: new(0.15 + float64(i)/1e4), Lower: &lower,
			Upper: &upper, P: &p, PHolm: &p, Margin: 0.05,
		}
		if i >= n {
			d.Verdict = result.Pass
		}
		doc.Gates[0].Decisions = append(doc.Gates[0].Decisions, d)
	}
	for range 200 {
		doc.Launches[3].Failure.LogTail = append(doc.Launches[3].Failure.LogTail, strings.Repeat("x", 200))
	}
	return doc
}

func render(t *testing.T, doc *result.Document, o reports.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := reports.Markdown(&out, doc, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestBudgetDropsInOrder holds the order in which parts go as the budget shrinks: what is
// gone stays gone, and nothing goes before what is due earlier.
func TestBudgetDropsInOrder(t *testing.T) {
	doc := wide(250)
	parts := []struct{ name, text string }{
		{"log", "<summary>last "},
		{"environment", "| target | engine |"},
		{"measured", "Request throughput|`rate=499` | "},
		{"passes", "| ✅ |"},
		{"rows beyond 50", "`rate=199`"},
		{"the worst row", "`rate=249` | TTFT p99"},
	}
	full := render(t, doc, reports.Options{})
	gone := 0
	for budget := len(full) + 1; budget > 2500; budget -= 3000 {
		text := render(t, doc, reports.Options{Budget: budget, Full: "the run's summary"})
		if len(text) > budget {
			t.Fatalf("%d bytes for a budget of %d", len(text), budget)
		}
		wellFormed(t, text)
		for gone < len(parts) && !containsAny(text, parts[gone].text) {
			gone++
		}
		for i, p := range parts {
			if i >= gone && !containsAny(text, p.text) {
				t.Fatalf("budget %d: %s is gone before %s", budget, p.name, parts[gone].name)
			}
			if i < gone && containsAny(text, p.text) {
				t.Fatalf("budget %d: %s is there again", budget, p.name)
			}
		}
		if !strings.Contains(text, "regressed — `perf/gate.hcl`") {
			t.Fatalf("budget %d: no heading", budget)
		}
	}
	if gone < len(parts)-1 {
		t.Errorf("only %d of %d parts were ever dropped", gone, len(parts))
	}
}

func containsAny(text, alternatives string) bool {
	for a := range strings.SplitSeq(alternatives, "|`") {
		if strings.Contains(text, a) {
			return true
		}
	}
	return false
}

// wellFormed checks that nothing was cut in the middle.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	for _, tag := range []string{"details", "summary", "sub", "code"} {
		if a, b := strings.Count(text, "<"+tag+">"), strings.Count(text, "</"+tag+">"); a != b {
			t.Fatalf("%d <%s>, %d </%s>", a, tag, b, tag)
		}
	}
	if strings.Count(text, "```")%2 != 0 {
		t.Fatal("a code block is not closed")
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") && !strings.HasSuffix(line, "|\n") {
			t.Fatalf("row is cut: %q", line)
		}
	}
}

func TestBudgetSaysWhatIsLeftOut(t *testing.T) {
	text := render(t, wide(250), reports.Options{Budget: 33_000, Full: "the run's summary"})
	for _, want := range []string{
		"40 lines of logs left out for size: see the run's summary",
		"11 rows left out for size", // environment
		"250 rows left out for size",
		"250 comparisons passed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said", want)
		}
	}
	text = render(t, wide(250), reports.Options{Budget: 15_000})
	if m := regexp.MustCompile(`_\+(\d+) more rows_`).FindStringSubmatch(text); m == nil || m[1] != "200" {
		t.Errorf("rows beyond 50: %v", m)
	}
}

func TestBudgetTooSmall(t *testing.T) {
	err := reports.Markdown(&bytes.Buffer{}, wide(3), reports.Options{Budget: 100})
	if err == nil || !strings.Contains(err.Error(), "the budget is 100: raise it") {
		t.Errorf("%v", err)
	}
}
