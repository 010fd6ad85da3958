package reports_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/bisection"
)

// searchedTwenty is a search of 20 commits with a culprit, and a range in which part of it was undone.
func searchedTwenty() *bisection.Document {
	d := &bisection.Document{
		Schema: bisection.Schema, Tool: "pipeline 1.0.0", File: "perf/gate.pipeline.hcl", Answer: bisection.Range, Confidence: 0.95, Launches: 36,
		Gate: "gate.latency", Metric: "ttft.p50", MetricLabel: "TTFT p50", Cell: "rate=4", Unit: "%", SD: 2.1, TwoSteps: 0.98,
		Steps: []bisection.Step{
			{Good: commitOf(6), Bad: commitOf(7), Candidates: 1, Probability: 0.991, Change: 16.4, Worse: true},
			{Good: commitOf(12), Bad: commitOf(14), Candidates: 2, Probability: 0.962, Change: -7.9},
		},
		Notes: []string{"The work tree has changes that are not committed: no candidate has them."},
	}
	for i := range 21 {
		c := bisection.Candidate{Ref: commitOf(i), Subject: fmt.Sprintf("Change %d", i)}
		switch {
		case i >= 14:
			c.Level = 8.3
		case i >= 7:
			c.Level = 16.5
		}
		if i%3 == 0 && i > 0 || i == 7 || i == 14 || i == 20 {
			value := c.Level + float64(i%5) - 2
			c.Change, c.Pairs = &value, 1+i%3
		}
		d.Candidates = append(d.Candidates, c)
	}
	d.Candidates[7].Probability, d.Candidates[13].Probability, d.Candidates[14].Probability = 0.991, 0.481, 0.481
	d.Candidates[13].Unusable = "building it: sh: exit status 1"
	return d
}

func commitOf(i int) string { return fmt.Sprintf("%02x%038x", i, i) }

func TestGoldenBisection(t *testing.T) {
	none := &bisection.Document{Schema: bisection.Schema, Answer: bisection.None, Confidence: 0.95, Launches: 8, Simulated: "virtual",
		Candidates: []bisection.Candidate{{Ref: "nightly-1"}, {Ref: "nightly-2"}}}
	for name, d := range map[string]*bisection.Document{"bisect": searchedTwenty(), "bisect-none": none} {
		for _, f := range reports.AllFormats().OfBisections() {
			if f.Name == "json" && name == "bisect" {
				continue // its figures say nothing that the others do not
			}
			var out bytes.Buffer
			if err := f.Bisection(&out, d, reports.Options{}); err != nil {
				t.Fatalf("%s, %s: %v", name, f.Name, err)
			}
			if f.Name == "html" {
				golden.Equal(t, "testdata/"+name+".page.txt", []byte(outline(t, out.String())))
				continue
			}
			golden.Equal(t, "testdata/"+name+f.Extension, out.Bytes())
		}
	}
	for answer, want := range map[bisection.Answer]string{bisection.Undecided: "cannot be told apart",
		bisection.Unfit: "in what cannot be searched for"} {
		none.Answer = answer
		var out bytes.Buffer
		if err := bisection.Text(&out, none, reports.Options{}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %s", answer, err, &out)
		}
	}
}

// The page is closed whatever commits say of themselves, and markdown has no mention or link of theirs.
func TestBisectionOfHostileCommits(t *testing.T) {
	d := searchedTwenty()
	n := 0
	poison(reflect.ValueOf(d).Elem(), &n)
	var page, markdown bytes.Buffer
	if err := bisection.HTML(&page, d, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	if f := inspect(t, page.String()); f.count["svg"] != 1 || f.count["h1"] != 1 || f.count["script"] > 1 {
		t.Errorf("%d charts, %d h1, %d scripts", f.count["svg"], f.count["h1"], f.count["script"])
	}
	if err := bisection.Markdown(&markdown, d, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<img", "](http", "\x1b"} {
		if strings.Contains(markdown.String(), bad) {
			t.Errorf("markdown has %q", bad)
		}
	}
}

// TestBisectionSubjects: the table of candidates has subjects where there are commits, and no empty column where there are
// none.
func TestBisectionSubjects(t *testing.T) {
	for subject, want := range map[string]bool{"": false, "Fuse the sampler": true} {
		d := &bisection.Document{Schema: bisection.Schema, Metric: "ttft.p50", MetricLabel: "TTFT p50", Answer: bisection.Found, Unit: "%",
			Confidence: 0.95, Steps: []bisection.Step{{Good: "v1", Bad: "v2", Candidates: 1, Probability: 0.99, Change: 10, Worse: true}},
			Candidates: []bisection.Candidate{{Ref: "v1"}, {Ref: "v2", Subject: subject, Probability: 0.99}}}
		var out bytes.Buffer
		if err := bisection.Text(&out, d, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "subject"); got != want {
			t.Errorf("%q: a column of subjects: %v\n%s", subject, got, out.String())
		}
	}
}
