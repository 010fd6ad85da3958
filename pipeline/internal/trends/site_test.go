package trends_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/trends"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/site"
)

// metrics are six of the usual ones.
var siteMetrics = []string{"ttft.p50", "ttft.p99", "tpot.p50", "itl.p99", "e2el.p50", "output_throughput.mean"}

// nights returns sessions of five cells with six metrics each. The first cell is slower by 10 % from a night on.
func nights(n, slower int) *history.History {
	h := &history.History{}
	for night := range n {
		r := session(night, 0)
		r.File, r.Source = "perf/night.hcl", history.Source{Commit: fmt.Sprintf("%040x", night+1), Branch: "main", Repository: "o/r"}
		r.GPUHours, r.Cells = 1.5, nil
		verdict := history.Verdict{Gate: "gate.latency", Verdict: "pass"}
		if night >= slower {
			verdict = history.Verdict{Gate: "gate.latency", Verdict: "regression", Fails: true}
		}
		r.Gates = []history.Verdict{verdict}
		for cell := range 5 {
			c := history.Cell{Benchmark: "benchmark.chat", Hash: fmt.Sprint("cell", cell), Label: fmt.Sprintf("rate=%d", 4<<cell), Model: "m",
				Runs: 4,
				Sent: 400, Metrics: map[string]float64{}}
			for i, id := range siteMetrics {
				v := 0.1 * float64(i+1) * (1 + 0.01*float64((night*7+cell*3+i*5)%11-5)/5)
				if cell == 0 && night >= slower && id == "ttft.p50" {
					v *= 1.1
				}
				c.Metrics[id] = v
			}
			r.Cells = append(r.Cells, c)
		}
		h.Records = append(h.Records, r)
	}
	return h
}

// siteOf writes the pages of a history, by path.
func siteOf(tb testing.TB, h *history.History, change func(*site.Site)) map[string]string {
	tb.Helper()
	q := query(start.AddDate(10, 0, 0))
	q.Metrics = nil
	judged, err := trends.Of(h, q)
	if err != nil {
		tb.Fatal(err)
	}
	s := trends.Site(h, judged, q)
	if change != nil {
		change(s)
	}
	pages := map[string]string{}
	for p := range s.Pages() {
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			tb.Fatalf("%s: %v", p.Path, err)
		}
		if _, twice := pages[p.Path]; twice {
			tb.Errorf("%s is written twice", p.Path)
		}
		pages[p.Path] = out.String()
	}
	if dir := os.Getenv("SITE_DIR"); dir != "" { // to look at them
		for path, text := range pages {
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				tb.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return pages
}

// BenchmarkSite writes the pages of 2,000 sessions of 30 series.
func BenchmarkSite(b *testing.B) {
	for b.Loop() {
		begin := time.Now()
		pages := siteOf(b, nights(2000, 1990), nil)
		size := 0
		for _, p := range pages {
			size += len(p)
		}
		b.Logf("%d pages, %d MB, %v; index %d KB, runs %d KB", len(pages), size>>20, time.Since(begin), len(pages["index.html"])>>10,
			len(pages["runs.html"])>>10)
	}
}

var relative = regexp.MustCompile(`href="([^"#]+)(#[^"]*)?"`)

// TestSite: the landing page names what has regressed, every page is reached from it, and no link leads nowhere.
func TestSite(t *testing.T) {
	h := nights(60, 50)
	h.Records = append(h.Records,
		history.Record{ID: "cal", Kind: history.Calibration, Time: start, Machine: h.Records[0].Machine,
			Noise: []history.Noise{{Cell: "cell0", Label: "rate=4", Metric: "ttft.p50", Pairs: 8, PairSD: 0.012}}},
		accepts("run-020", 20, nil))
	pages := siteOf(t, h, func(s *site.Site) {
		s.Answers = []site.Answer{{Name: "search-1", Time: start, Doc: &bisection.Document{Schema: bisection.Schema, Metric: "ttft.p50",
			MetricLabel: "TTFT p50", Cell: "rate=4", Answer: "found", Launches: 14, Unit: "%",
			Steps:      []bisection.Step{{Good: "aaaaaaa", Bad: "bbbbbbb", Candidates: 1, Probability: 0.99, Change: 10, Worse: true}},
			Candidates: []bisection.Candidate{{Ref: "aaaaaaa"}, {Ref: "bbbbbbb", Subject: "Fuse the sampler"}}}}}
		s.Runs[3].Report = true
		s.Authors = func(good, bad string) []string {
			if good != "aaaaaaa" || bad != "bbbbbbb" {
				t.Errorf("asked for the authors of %s..%s", good, bad)
			}
			return []string{"Ann", "Bob", "Cem", "Dai"}
		}
	})
	index := pages["index.html"]
	for _, want := range []string{"1 regression now, of 30 series", "rate=4", "TTFT p50", "10", "bbbbbbb", "Fuse the sampler", "since",
		"Ann, Bob, Cem and 1 more", "Stored baselines", "begins with it", "run-020.html"} {
		if !strings.Contains(index, want) {
			t.Errorf("the landing page does not say %q", want)
		}
	}
	reached := map[string]bool{"index.html": true, "runs/run-003/report.html": true}
	queue := []string{"index.html"}
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		for _, m := range relative.FindAllStringSubmatch(pages[from], -1) {
			to := filepath.ToSlash(filepath.Join(filepath.Dir(from), m[1]))
			if reached[to] {
				continue
			}
			reached[to] = true
			if _, ok := pages[to]; !ok {
				t.Errorf("%s links to %s, which there is not", from, to)
			}
			queue = append(queue, to)
		}
	}
	for path := range pages {
		if !reached[path] {
			t.Errorf("no page links to %s", path)
		}
	}
	// Four pages, 30 series, 60 runs, a machine and a search.
	if len(pages) != 4+30+60+1+1 {
		t.Errorf("%d pages", len(pages))
	}
}

// TestPagesOfRuns: no page lists more runs than a browser lays out quickly, and each is reached from the one before.
func TestPagesOfRuns(t *testing.T) {
	pages := siteOf(t, nights(600, 700), nil)
	runs := map[string]int{"runs.html": 250, "runs-2.html": 250, "runs-3.html": 100}
	for path, want := range runs {
		if n := strings.Count(pages[path], `<th scope="row"`); n != want {
			t.Errorf("%s has %d runs, want %d", path, n, want)
		}
	}
	for from, to := range map[string]string{"runs.html": "runs-2.html", "runs-2.html": "runs-3.html", "runs-3.html": "runs-2.html"} {
		if !strings.Contains(pages[from], `href="`+to+`"`) {
			t.Errorf("%s does not link to %s", from, to)
		}
	}
	if pages["runs-4.html"] != "" {
		t.Error("an empty page of runs")
	}
}

// TestScoreboard: what became of alarms, by hand.
func TestScoreboard(t *testing.T) {
	h := nights(30, 100)
	red := func(nights ...int) {
		for _, n := range nights {
			h.Records[n].Gates[0] = history.Verdict{Gate: "gate.latency", Verdict: "regression", Fails: true}
		}
	}
	red(2, 3) // confirmed by a second session
	red(6)    // the next session does not find it
	red(9)    // noise, says a person
	red(12)   // accepted
	red(29)   // the last one
	h.Records[15].Gates[0].Verdict = "inconclusive"
	h.Records[16].Attempt = 2
	h.Records = append(h.Records, accepts("run-009", 9, func(a *history.Annotation) { a.Reason = "Noise: a neighbour" }),
		accepts("run-012", 12, nil))
	text := plainText(siteOf(t, h, nil)["gates.html"])
	// gate, sessions, confirmed, noise, not confirmed, open, inconclusive, reruns, GPU-hours
	if want := "gate.latency perf/night.hcl 30 2 1 1 1 3 % 1 45 2 false alarms in 30 sessions"; !strings.Contains(text, want) {
		t.Errorf("the scoreboard does not say %q:\n%s", want, text)
	}
	if text := plainText(siteOf(t, nights(30, 100), nil)["gates.html"]); !strings.Contains(text, "may be required") ||
		!strings.Contains(text, "1 gate, 1 may be required") {
		t.Errorf("a gate without alarms:\n%s", text)
	}
}

var markup = regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>|<[^>]*>`)

// plainText returns the text of a page with single spaces.
func plainText(html string) string {
	text := markup.ReplaceAllString(html, " ")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")), " ")
}
