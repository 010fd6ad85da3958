package reports_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/result"
)

// large is a document with so many pairs of cells, each with the runs, histograms and
// decisions of a real one.
func large(tb testing.TB, pairs int) *result.Document {
	tb.Helper()
	doc := withHistograms(tb, regression())
	b, g := &doc.Benchmarks[0], &doc.Gates[0]
	cells, decisions := b.Cells, g.Decisions
	b.Cells, g.Decisions = nil, nil
	for i := range pairs {
		base, head := cells[i%2], cells[i%2+2]
		values := []result.AxisValue{{Name: "rate", Value: fmt.Sprint(i % 25)}, {Name: "input", Value: fmt.Sprint(i / 25)}}
		base.Hash, head.Hash = fmt.Sprintf("b%d", i), fmt.Sprintf("h%d", i)
		base.Values = append([]result.AxisValue{{Name: "build", Value: "base"}}, values...)
		head.Values = append([]result.AxisValue{{Name: "build", Value: "head"}}, values...)
		b.Cells = append(b.Cells, base, head)
		for _, d := range decisions[i%2*4 : i%2*4+4] {
			d.Cell, d.BaseCell, d.Values = head.Hash, base.Hash, values
			g.Decisions = append(g.Decisions, d)
		}
	}
	doc.Gates = doc.Gates[:1]
	return doc
}

// TestLargePage holds the page of 500 pairs of cells to its size. That it takes less than
// two seconds is for BenchmarkHTML to show.
func TestLargePage(t *testing.T) {
	out := pageOf(t, large(t, 500), reports.Options{})
	if len(out) > page.Budget {
		t.Errorf("%d bytes", len(out))
	}
	f := inspect(t, out)
	if f.count["svg"] < 100 {
		t.Errorf("%d charts", f.count["svg"])
	}
	if !strings.Contains(out, "460 more comparisons of cells left out here") {
		t.Error("what was left out is not said")
	}
	t.Logf("%d bytes, %d charts", len(out), f.count["svg"])
}

func TestPageFitsItsBudget(t *testing.T) {
	doc := large(t, 8)
	full := len(pageOf(t, doc, reports.Options{}))
	last := full
	for _, budget := range []int{full / 2, 120_000} {
		out := pageOf(t, doc, reports.Options{Budget: budget})
		if len(out) > budget || len(out) > last {
			t.Errorf("%d bytes for a budget of %d", len(out), budget)
		}
		last = len(out)
		inspect(t, out)
	}
	err := reports.HTML(io.Discard, doc, reports.Options{Budget: 1000})
	if err == nil || !strings.Contains(err.Error(), "raise it or choose gates") {
		t.Errorf("%v", err)
	}
}

func TestPageWithoutCharts(t *testing.T) {
	out := pageOf(t, withHistograms(t, regression()), reports.Options{Comparisons: -1, TableRows: 3})
	if strings.Contains(out, `class="pair"`) || strings.Contains(out, `id="details"`) {
		t.Error("there are comparisons")
	}
	if m := regexp.MustCompile(`(\d+) more rows left out`).FindStringSubmatch(out); m == nil {
		t.Error("what was left out of tables is not said")
	}
	inspect(t, out)
}

func TestPageIsDeterministic(t *testing.T) {
	doc := withHistograms(t, regression())
	first := pageOf(t, doc, reports.Options{})
	for range 5 {
		if pageOf(t, doc, reports.Options{}) != first {
			t.Fatal("two pages of one document differ")
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	doc := large(b, 500)
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if err := reports.HTML(&out, doc, reports.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "bytes")
}
