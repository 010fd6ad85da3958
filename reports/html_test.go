package reports_test

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

func pageOf(t *testing.T, doc *result.Document, o reports.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := reports.HTML(&out, doc, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// withHistograms gives every run of doc the distributions that a run of the load
// generator has: log-normal around the run's own median.
func withHistograms(tb testing.TB, doc *result.Document) *result.Document {
	tb.Helper()
	typical := map[string]float64{"ttft": 0.05, "tpot": 0.0123, "itl": 0.012, "e2el": 1.6}
	for i := range doc.Benchmarks {
		for j := range doc.Benchmarks[i].Cells {
			c := &doc.Benchmarks[i].Cells[j]
			for k := range c.Runs {
				r := &c.Runs[k]
				if r.Status != result.RunOK {
					continue
				}
				r.Histograms = map[string]string{}
				for group, mid := range typical {
					if x, ok := r.Metrics[group+".p50"]; ok {
						mid = x
					}
					width := 0.15
					if tail, ok := r.Metrics[group+".p99"]; ok && tail > mid {
						width = math.Log(tail/mid) / 2.33
					}
					r.Histograms[group] = encoded(tb, mid, width, 1000)
				}
			}
		}
	}
	return doc
}

// encoded is a histogram of n values, the quantiles of a log-normal distribution.
func encoded(tb testing.TB, mid, width float64, n int) string {
	tb.Helper()
	h := hdrhistogram.New(1, 24*3600*1e6, 3)
	for i := range n {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/float64(n)-1)
		if err := h.RecordValue(int64(mid * math.Exp(width*z) * 1e6)); err != nil {
			tb.Fatal(err)
		}
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// The page of a document in text: what each kind of section, fold and chart says. The
// other documents have the same kinds; TestPagesAreClosed holds the structure of all.
func TestGoldenPages(t *testing.T) {
	docs := fixtures()
	docs["charts"] = withHistograms(t, docs["sides"])
	for _, name := range []string{"charts", "head-dead", "no-gates"} {
		golden.Equal(t, "testdata/"+name+".page.txt", []byte(outline(t, pageOf(t, reread(t, docs[name]), reports.Options{}))))
	}
}

// One page is kept whole, but for the style and the script, which have files of their own.
func TestGoldenHTML(t *testing.T) {
	text := pageOf(t, reread(t, fixtures()["infrastructure"]), reports.Options{})
	golden.Equal(t, "testdata/infrastructure.html", regexp.MustCompile(`(?s)(<(style|script)>).*?(</)`).ReplaceAll([]byte(text),
		[]byte("$1…$3")))
}

// TestRepeatsInOrder: what was measured again is stored at the end and drawn in its place.
func TestRepeatsInOrder(t *testing.T) {
	doc := regression()
	want := pageOf(t, doc, reports.Options{})
	for i := range doc.Gates {
		for j := range doc.Gates[i].Decisions {
			slices.Reverse(doc.Gates[i].Decisions[j].Pairs)
		}
	}
	for i := range doc.Benchmarks[0].Cells {
		slices.Reverse(doc.Benchmarks[0].Cells[i].Runs)
	}
	if diff := cmp.Diff(want, pageOf(t, doc, reports.Options{})); diff != "" {
		t.Errorf("the order of pairs and runs changes the page (-want +got):\n%s", diff)
	}
}
