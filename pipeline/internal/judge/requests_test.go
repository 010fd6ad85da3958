package judge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// TestOtherRequests: measured requests that show other work make every comparison of the sides invalid;
// what engines may do as they like is said and decides nothing.
func TestOtherRequests(t *testing.T) {
	half := result.RequestDifference{What: result.OtherPrompts, Repeat: 1, Base: 256, Head: 128,
		Text: "prompt tokens differ: base 256, head 128"}
	template := result.RequestDifference{What: result.OtherPrompts, Repeat: 1, Base: 256, Head: 257,
		Text: "prompt tokens differ: base 256, head 257"}
	pieces := result.RequestDifference{What: result.OtherEvents, Repeat: 1, Base: 1, Head: 1.5, Text: "tokens per event", Shown: true}
	beginnings := result.RequestDifference{What: result.OtherBeginnings, Repeat: 1, Base: 1, Text: "0 of 72 greedy answers"}
	late := half
	late.Repeat = 3
	engines := func(s session) {
		s.doc.Targets = []result.Target{{Addr: "server.vllm.base", Engine: "vllm"}, {Addr: "server.vllm.head", Engine: "sglang"}}
	}
	prompts := func(base, head float64) result.RequestDifference {
		return result.RequestDifference{What: result.OtherPrompts, Repeat: 1, Base: base, Head: head, Text: "prompt tokens differ"}
	}
	usage := result.RequestDifference{What: result.OtherUsage, Repeat: 1, Base: 1, Text: "the head reports no tokens"}
	finish := result.RequestDifference{What: result.OtherFinish, Repeat: 1, Base: 1, Text: "answers end by other reasons"}
	for _, tt := range []struct {
		name   string
		found  result.RequestDifference
		change func(s session)
		want   result.Verdict
		from   int
		warned bool
	}{
		{"half prompts", half, nil, result.Invalid, 1, false},
		{"half prompts from the third repeat on", late, nil, result.Invalid, 3, false},
		{"one token more", template, nil, result.Invalid, 1, false},
		{"one token more by another engine", template, engines, result.Pass, 0, true},
		{"four tokens more by another engine", prompts(100, 104), engines, result.Pass, 0, true},
		{"five tokens more by another engine", prompts(100, 105), engines, result.Invalid, 1, false},
		{"a hundredth more by another engine", prompts(1000, 1010), engines, result.Pass, 0, true},
		{"a hundredth of the longer more", prompts(1000, 1010.05), engines, result.Invalid, 1, false},
		{"no usage", usage, nil, result.Invalid, 1, false},
		{"no usage by another engine", usage, engines, result.Pass, 0, true},
		{"another end by another engine", finish, engines, result.Invalid, 1, false},
		{"half prompts by another engine", half, engines, result.Invalid, 1, false},
		{"another model", half, func(s session) {
			s.doc.Targets = []result.Target{{Addr: "server.vllm.base", Model: "a"}, {Addr: "server.vllm.head", Model: "b"}}
		}, result.Pass, 0, true},
		{"other first characters", beginnings, nil, result.Invalid, 1, false},
		{"other first characters of two models under one name", beginnings, func(s session) {
			s.plan.Gates[0].Differ = []string{"model"}
		}, result.Pass, 0, true},
		{"other first characters in a file that compares answers", beginnings, func(s session) {
			quality := s.plan.Gates[0]
			quality.Addr, quality.Metrics, quality.Comparisons = "gate.answers", []string{"agreement.share"}, nil
			s.plan.Gates = append(s.plan.Gates, quality)
		}, result.Pass, 0, true},
		{"other prompts in a file that compares answers", half, func(s session) {
			quality := s.plan.Gates[0]
			quality.Addr, quality.Metrics, quality.Comparisons = "gate.answers", []string{"agreement.share"}, nil
			s.plan.Gates = append(s.plan.Gates, quality)
		}, result.Invalid, 1, false},
		{"of another base", half, func(s session) { s.doc.Requests[0].Base = "other" }, result.Pass, 0, false},
		{"of another head", half, func(s session) { s.doc.Requests[0].Head = "other" }, result.Pass, 0, false},
		{"of another benchmark", half, func(s session) { s.doc.Requests[0].Benchmark = "benchmark.c" }, result.Pass, 0, false},
		{"pieces", pieces, nil, result.Pass, 0, true},
		{"lengths that the file declares", half, func(s session) {
			s.plan.Gates[0].Differ = []string{"input_len"}
			s.doc.Benchmarks[0].Cells[0].Work = map[string]string{"input_len": "256"}
			s.doc.Benchmarks[0].Cells[1].Work = map[string]string{"input_len": "128"}
		}, result.Pass, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession()
			s.doc.Requests = []result.ComparedRequests{{Benchmark: "benchmark.b", Base: "base", Head: "head",
				Differences: []result.RequestDifference{tt.found}}}
			if tt.change != nil {
				tt.change(s)
			}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			for _, d := range s.doc.Gates[0].Decisions {
				warned := strings.Contains(strings.Join(d.Warnings, "\n"), tt.found.Text)
				if d.Verdict != tt.want || d.Kind == result.KindMetric && (d.InvalidFrom != tt.from || warned != tt.warned) ||
					tt.want == result.Invalid && !strings.Contains(d.Reason, tt.found.Text) {
					t.Errorf("%s: %s from %d: %s, warnings %q", d.ID, d.Verdict, d.InvalidFrom, d.Reason, d.Warnings)
				}
			}
		})
	}
}

// TestRequestsNotCompared: another file cannot pair cells whose requests the run recorded and did not compare.
func TestRequestsNotCompared(t *testing.T) {
	for name, tt := range map[string]struct {
		compared []result.ComparedRequests
		want     result.Verdict
	}{
		"of the pair":        {[]result.ComparedRequests{{Benchmark: "benchmark.b", Base: "base", Head: "head"}}, result.Pass},
		"of another pair":    {[]result.ComparedRequests{{Benchmark: "benchmark.b", Base: "base", Head: "other"}}, result.Invalid},
		"of other workloads": {nil, result.Invalid},
	} {
		s := newSession()
		s.doc.Requests = tt.compared
		for c := range s.doc.Benchmarks[0].Cells {
			cell := &s.doc.Benchmarks[0].Cells[c]
			for r := range cell.Runs {
				cell.Runs[r].Requests = &result.RunRequests{}
			}
		}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, d := range s.doc.Gates[0].Decisions {
			if d.Verdict != tt.want {
				t.Errorf("%s: %s: %s, %s", name, d.ID, d.Verdict, d.Reason)
			}
		}
		if err := judge.Verify(s.doc, nil); err != nil && strings.Contains(err.Error(), "not compared") {
			t.Errorf("%s: a document that was judged so is found to be wrong: %v", name, err)
		}
	}
}

// TestResentRequests: requests that were sent again count as failed on both sides alike.
func TestResentRequests(t *testing.T) {
	for _, tt := range []struct {
		base, head int
		want       result.Verdict
	}{{0, 0, result.Pass}, {3, 3, result.Pass}, {0, 10, result.Regression}} {
		s := newSession()
		s.doc.Requests = []result.ComparedRequests{{Benchmark: "benchmark.b", Base: "base", Head: "head"}}
		for cell, n := range []int{tt.base, tt.head} {
			s.each(cell, func(r *result.Run) { r.Requests = &result.RunRequests{Resent: n} })
		}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, d := range s.doc.Gates[0].Decisions {
			if d.Kind == result.KindSuccess && (d.Verdict != tt.want || (len(d.Warnings) > 0) != (tt.base+tt.head > 0)) {
				t.Errorf("%d and %d sent again: %s: %s %q", tt.base, tt.head, d.Verdict, d.Reason, d.Warnings)
			}
		}
	}
}

// TestShorterAnswers: answers that one side ends earlier make times that grow with them invalid from the margin on, and
// stand beside all others.
func TestShorterAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		metric string
		head   float64 // tokens; the base has 40
		want   result.Verdict
	}{
		"end-to-end latency":               {"e2el.p50", 32, result.Invalid},
		"end-to-end latency, within":       {"e2el.p50", 39, result.Pass},
		"requests of a second":             {"request_throughput.mean", 32, result.Invalid},
		"longer answers":                   {"e2el.p50", 50, result.Invalid},
		"the first token is as before":     {"ttft.p50", 32, result.Pass},
		"time per token, of which fewer":   {"tpot.p50", 32, result.Pass},
		"tokens of a second, of which few": {"output_throughput.mean", 32, result.Pass},
		"requests within E2EL":             {"goodput.rate", 32, result.Invalid},
		"requests within E2EL, within":     {"goodput.rate", 39, result.Pass},
		"requests within TTFT":             {"goodput.rate", 32, result.Pass},
		"capacity":                         {"capacity.rate", 32, result.Invalid},
		"of another model":                 {"e2el.p50", 32, result.Pass},
		"of lengths that differ":           {"e2el.p50", 32, result.Pass},
		"of pieces, not tokens":            {"e2el.p50", 32, result.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession()
			s.plan.Gates[0].Metrics = []string{tt.metric}
			limits := steps.Goodput{TTFT: time.Second}
			if strings.Contains(name, "E2EL") {
				limits.E2EL = 2 * time.Second
			}
			for cell := range 2 {
				s.doc.Benchmarks[0].Cells[cell].Work = comparability.OfWorkload(steps.Workload{Goodput: limits})
				s.each(cell, func(r *result.Run) { r.Metrics[tt.metric] = r.Metrics["ttft.p50"] })
			}
			found := result.RequestDifference{What: result.OtherLengths, Repeat: 1, Base: 40, Head: tt.head, Text: "output tokens", Shown: true}
			switch name {
			case "of another model":
				s.doc.Targets = []result.Target{{Addr: "server.vllm.base", Model: "a"}, {Addr: "server.vllm.head", Model: "b"}}
			case "of lengths that differ": // nothing is said of them, since the file declares them
				s.plan.Gates[0].Differ, found.Text = []string{"output_len"}, ""
				for cell, n := range []string{"40", "32"} {
					s.doc.Benchmarks[0].Cells[cell].Work["output_len"] = n
				}
			case "of pieces, not tokens":
				found.What = result.OtherEvents
			}
			s.doc.Requests = []result.ComparedRequests{{Benchmark: "benchmark.b", Base: "base", Head: "head",
				Differences: []result.RequestDifference{found}}}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			d := s.doc.Gates[0].Decisions[0]
			if d.Verdict != tt.want || !strings.Contains(strings.Join(append(d.Warnings, d.Reason), "\n"), found.Text) {
				t.Errorf("%s: %s, warnings %q", d.Verdict, d.Reason, d.Warnings)
			}
		})
	}
}
