package judge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"pgregory.net/rapid"
)

// stored is a document as another program reads it.
func stored(tb testing.TB, doc *result.Document) *result.Document {
	tb.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		tb.Fatal(err)
	}
	var out result.Document
	if err := json.Unmarshal(text, &out); err != nil {
		tb.Fatal(err)
	}
	return &out
}

// TestVerifyTakesWhatWasJudged: no document of this program contradicts itself, whatever was
// measured and however it was to be judged.
func TestVerifyTakesWhatWasJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomSession(t)
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(s.doc)
		if err != nil {
			t.Fatal(err)
		}
		var doc result.Document
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if err := judge.Verify(&doc, nil); err != nil {
			t.Fatalf("%v\n%s", err, bytes.TrimSpace(text))
		}
	})
	p, doc, h := nightly(3, 4, 20)
	if err := judge.Judge(p, doc, judge.Options{History: h}); err != nil {
		t.Fatal(err)
	}
	doc.Seed = p.Benchmarks[0].Seed
	if err := judge.Verify(stored(t, doc), nil); err != nil {
		t.Errorf("against a history: %v", err)
	}
}

// randomSession draws a plan and what was measured.
func randomSession(t *rapid.T) session {
	s := newSession()
	if cells := rapid.IntRange(1, 4).Draw(t, "cells"); cells > 1 {
		s = suiteSession(cells, 0.01)
	}
	g := &s.plan.Gates[0]
	g.Metrics = rapid.SampledFrom([][]string{{"ttft.p50"}, {"ttft.p50", "ttft.p99"}}).Draw(t, "metrics")
	g.Strict = rapid.Bool().Draw(t, "strict")
	test := rapid.SampledFrom(gates.StandardTests().OfRuns()).Draw(t, "test")
	if g.TestName = test.Name; test.Design != gates.Paired {
		g.SuiteMargin = 0 // suites need pairs
	}
	g.OnRegression = rapid.SampledFrom([]result.Action{"fail", "warn"}).Draw(t, "on_regression")
	s.plan.Attempt = rapid.IntRange(0, 3).Draw(t, "attempt")
	if rapid.Bool().Draw(t, "looks") {
		s.plan.Looks = []int{2, 4}
		if rapid.Bool().Draw(t, "extended") {
			s.plan.Before = [][]int{{2, 4}}
			s.plan.Looks = []int{2, 4, 6}
		}
	}
	s.doc.RepeatsPlanned, s.doc.RepeatsDone = rapid.IntRange(4, 6).Draw(t, "planned"), 4
	s.doc.Status = rapid.SampledFrom([]result.Status{result.StatusComplete, result.StatusInterrupted, result.StatusFailed}).Draw(t, "status")
	if s.doc.Status == result.StatusComplete && s.doc.RepeatsPlanned > 4 && rapid.Bool().Draw(t, "stopped") {
		s.doc.StoppedBy = result.StoppedBudget
	}
	slower := rapid.SampledFrom([]float64{0.9, 1, 1.02, 1.1, 1.3}).Draw(t, "slower")
	for i := range s.doc.Benchmarks[0].Cells {
		for j := range s.doc.Benchmarks[0].Cells[i].Runs {
			r := &s.doc.Benchmarks[0].Cells[i].Runs[j]
			noise := 1 + rapid.Float64Range(-0.05, 0.05).Draw(t, "noise")
			if i%2 == 1 {
				noise *= slower
			}
			r.Metrics["ttft.p50"] *= noise
			r.Metrics["ttft.p99"] *= noise
			switch rapid.IntRange(0, 40).Draw(t, "fault") {
			case 0:
				dead(r)
			case 1:
				r.Status, r.Reason = result.RunVoid, "the client was late"
			case 2:
				r.Failed = 5
			case 3:
				r.Overloaded = true
			}
		}
		c := &s.doc.Benchmarks[0].Cells[i]
		c.Summary = judge.GeoMeans(c)
	}
	return s
}

// TestVerifyRefusesForgeries: what does not follow from the runs of a document is invalidSuccess.
func TestVerifyRefusesForgeries(t *testing.T) {
	slow := func(s session) { s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1.37 }) }
	held := func(s session) {
		for repeat := range 4 {
			for _, target := range []string{"base", "head"} {
				s.doc.Launches = append(s.doc.Launches, result.Launch{ID: fmt.Sprint(repeat, target), Repeat: repeat + 1, Target: target,
					Startup: 300, Held: 900})
			}
		}
	}
	short := func(s session) { s.doc.RepeatsPlanned = 6 }
	suite := func(s session) {
		of := suiteSession(12, 0.03)
		*s.plan, s.doc.Benchmarks = *of.plan, of.doc.Benchmarks
	}
	overload := func(s session) { s.each(1, func(r *result.Run) { r.Overloaded = true }) }
	otherRate := func(s session) {
		s.each(0, func(r *result.Run) { r.Work = map[string]string{"request_rate": "4"} })
		s.each(1, func(r *result.Run) { r.Work = map[string]string{"request_rate": "8"} })
	}
	over := func(status result.TransportStatus) func(session) {
		return func(s session) {
			for i := range s.doc.Benchmarks[0].Cells {
				s.doc.Targets = append(s.doc.Targets, result.Target{Addr: s.doc.Benchmarks[0].Cells[i].Target, Connector: "nixl"})
				s.each(i, func(r *result.Run) { r.Transport = &result.Transport{Status: result.TransportProved} })
			}
			s.each(1, func(r *result.Run) { r.Transport.Status, r.Transport.Reason = status, "KV went over TCP" })
		}
	}
	calibrated := func(s session) {
		here := map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H100"}
		s.doc.Machine = here
		s.plan.Variance = &plan.Variance{Calibration: "c", Machine: here, Within: 1.5,
			Spreads: []plan.Spread{{Cell: "base", Metric: "ttft.p50", SD: 0.01, DF: 8}}}
	}
	tests := []struct {
		name  string
		setup func(session)
		forge func(*result.Document)
		want  string
	}{
		{"a green verdict over red gates", slow, func(d *result.Document) { d.Verdict = result.Pass }, "the verdict is"},
		{"an exit code", slow, func(d *result.Document) { d.ExitCode = 0 }, "the exit code is 0"},
		{"a green gate over red decisions", slow, func(d *result.Document) {
			d.Gates[0].Verdict, d.Verdict, d.ExitCode = result.Pass, result.Pass, 0
		}, "the worst of its decisions"},
		{"a green decision", slow, green, "and its runs give regression"},
		{"without its decisions", slow, func(d *result.Document) {
			green(d)
			d.Gates[0].Decisions = nil
		}, "the worst of its decisions is missing"},
		{"a margin of its own", slow, func(d *result.Document) {
			green(d)
			d.Gates[0].Decisions[0].Margin = 0.9
		}, "has the margin"},
		{"a suite margin of its own", suite, func(d *result.Document) {
			green(d)
			last(d).Margin = 0.9
		}, "has the margin 0.9, and its gate 0.02"},
		{"a suite margin that its gate does not state", suite, func(d *result.Document) {
			green(d)
			last(d).Margin, d.Gates[0].SuiteMargin = 0.9, 0
		}, "its gate states no suite_margin"},
		{"without its suite", suite, func(d *result.Document) {
			d.Gates[0].Decisions = slices.DeleteFunc(d.Gates[0].Decisions, func(d result.Decision) bool { return d.SuiteCells > 0 })
			green(d)
		}, "no decision is over its 12 cells by ttft.p50"},
		{"an overload that the gate does not allow", overload, green, "is pass, and its runs give invalid"},
		{"an overload that the gate allowed", func(s session) {
			overload(s)
			s.plan.Gates[0].AllowOverload = true
		}, func(d *result.Document) { d.Gates[0].AllowOverload = false }, "is pass, and its runs give invalid"},
		{"void runs that do not count", func(s session) { s.each(1, func(r *result.Run) { r.Status, r.Reason = result.RunVoid, "late" }) }, green,
			"is pass, and its runs give invalid"},
		{"other pairs", slow, func(d *result.Document) {
			green(d)
			for i := range d.Gates[0].Decisions[0].Pairs {
				d.Gates[0].Decisions[0].Pairs[i].Head = d.Gates[0].Decisions[0].Pairs[i].Base
			}
		}, "another pair in repeat 1"},
		{"fewer pairs", slow, func(d *result.Document) { d.Gates[0].Decisions[0].Pairs = d.Gates[0].Decisions[0].Pairs[1:] }, "has 3 pairs"},
		{"a smaller change", slow, func(d *result.Document) { d.Gates[0].Decisions[0].Change = new(0.01) }, "has the change 0.01"},
		{"another p", slow, func(d *result.Document) { d.Gates[0].Decisions[0].P = new(0.5) }, "has the p 0.5"},
		{"another reason", slow, func(d *result.Document) { d.Gates[0].Decisions[0].Reason = "within its margin" }, "the reason"},
		{"a metric where more is better", slow, func(d *result.Document) { d.Gates[0].Decisions[0].Direction = "higher" }, "is described as"},
		{"success of a dead head", func(s session) { s.each(1, dead) }, green, "and its runs give"},
		{"an improvement", func(session) {}, func(d *result.Document) {
			d.Gates[0].Decisions[0].Verdict = result.Improvement
		}, "is improvement, and its runs give pass"},
		{"a regression", func(session) {}, func(d *result.Document) {
			d.Gates[0].Decisions[0].Verdict, d.Gates[0].Verdict, d.Verdict, d.ExitCode = result.Regression, result.Regression, result.Regression, 1
		}, "is regression, and its runs give pass"},
		{"a baseline file that decides", func(s session) { s.plan.Gates[0].BaselineKind = "paired" },
			func(d *result.Document) { d.Gates[0].BaselineKind = "file" }, "nothing to be decided by"},
		{"a history that is not there", func(session) {}, func(d *result.Document) { d.Gates[0].BaselineKind = "stored" },
			"nothing to be decided by"},
		{"a limit that is a comparison", slow, func(d *result.Document) {
			green(d)
			d.Gates[0].Decisions[0].Kind = result.KindAssert
		}, "a limit and a comparison"},
		{"a loose alpha", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1 + 0.06*float64(r.Repeat%2) })
		}, func(d *result.Document) { d.Alpha = 0.4 }, ""},
		{"a cheaper session", held, func(d *result.Document) { d.Bill.Spent.MachineHours /= 2 }, "the bill is not"},
		{"a cheaper verdict", held, func(d *result.Document) { d.Bill.Gates[0].Repeats-- }, "the bill is not"},
		{"no bill", held, func(d *result.Document) { d.Bill = nil }, "the bill is not"},
		{"a bill of nothing", slow, func(d *result.Document) { d.Bill = &result.Bill{} }, "the bill is not"},
		{"a budget that was not spent", slow, func(d *result.Document) { d.StoppedBy = result.StoppedBudget }, "has all of its"},
		{"a settled session that passes", short, func(d *result.Document) { d.StoppedBy = result.StoppedSettled }, "no gate has a regression"},
		{"given up at no look", short, func(d *result.Document) { d.StoppedBy = result.StoppedHopeless }, "no look was taken"},
		{"a known spread beside machines that differ", slow, func(d *result.Document) {
			d.Machines = &result.Machines{Count: 2, Between: 0.03}
			d.Variance = &result.Variance{Within: 1.5}
			d.Gates[0].Decisions[0].Known = &result.KnownSpread{SD: 0.01, DF: 20}
		}, "has a known spread of pairs, and an error between machines"},
		{"a spread of another machine", calibrated, func(d *result.Document) { d.Variance.Machine["gpu_name"] = "NVIDIA A10" },
			"is pass, and its runs give invalid"},
		{"a spread of a machine that is not named", calibrated, func(d *result.Document) { d.Variance.Machine = nil },
			"is pass, and its runs give invalid"},
		{"runs of another machine than the spread", calibrated, func(d *result.Document) { d.Machine["gpu_name"] = "NVIDIA A10" },
			"is pass, and its runs give invalid"},
		{"other work of a side", otherRate, green, "is pass, and its runs give invalid"},
		{"an unknown setting", func(s session) {
			s.each(0, func(r *result.Run) { r.Work = map[string]string{"parameter.batch": "8"} })
			s.each(1, func(r *result.Run) { r.Work = map[string]string{"parameter.batch": "16"} })
		}, green, "is pass, and its runs give invalid"},
		{"a declared difference", func(s session) {
			otherRate(s)
			s.plan.Gates[0].Differ = []string{"request_rate"}
		}, func(d *result.Document) { d.Gates[0].Differ = nil }, "is pass, and its runs give invalid"},
		{"other requests", halfPrompts, green, "is pass, and its runs give invalid"},
		{"without the differences of its requests", halfPrompts, func(d *result.Document) {
			green(d)
			d.Requests[0].Differences = nil
		}, "8 prompts of benchmark.b have another length in repeat 1, and its differences contradict that"},
		{"without other prompts", halfPrompts, func(d *result.Document) {
			green(d)
			d.Requests[0].Differences = nil
			for i := range d.Requests[0].Pairs {
				d.Requests[0].Pairs[i].OtherPrompts = 0
			}
		}, "had other prompt tokens in repeat 1, and no prompt is said to be of another length"},
		{"without the comparison of its requests", halfPrompts, func(d *result.Document) {
			green(d)
			d.Requests = nil
		}, "compares sides whose requests were recorded and not compared"},
		{"without its requests", halfPrompts, func(d *result.Document) {
			green(d)
			d.Requests = nil
			for i := range d.Benchmarks[0].Cells {
				for j := range d.Benchmarks[0].Cells[i].Runs {
					d.Benchmarks[0].Cells[i].Runs[j].Requests = nil
				}
			}
		}, "does not say what its requests were"},
		{"a contradicted transport", over(result.TransportContradicted), green, "is pass, and its runs give invalid"},
		{"an unproven transport that fails", func(s session) {
			over(result.TransportUnproven)(s)
			s.plan.Gates[0].OnUnprovenTransport = result.Fail
		}, green, "is pass, and its runs give invalid"},
		{"without its transport", over(result.TransportContradicted), func(d *result.Document) {
			green(d)
			for j := range d.Benchmarks[0].Cells[1].Runs {
				d.Benchmarks[0].Cells[1].Runs[j].Transport = nil
			}
		}, "has no evidence of the transport of nixl"},
		{"a limit over a contradicted transport", over(result.TransportContradicted), func(d *result.Document) {
			green(d)
			g := &d.Gates[0]
			g.BaselineKind, g.Decisions = "", g.Decisions[:1]
			g.Decisions[0].Kind, g.Decisions[0].Pairs = result.KindAssert, nil
		}, "nothing to be decided by"},
		{"a launch without a partner", func(s session) {
			head := &s.doc.Benchmarks[0].Cells[1]
			head.Runs = head.Runs[:3]
			s.doc.Pairings = []result.Pairing{{Benchmark: s.doc.Benchmarks[0].Addr}}
		}, green, "is pass, and its runs give missing"},
		{"figures of a cell", slow, func(d *result.Document) { d.Benchmarks[0].Cells[1].Summary = map[string]float64{"ttft.p50": 0.1} },
			"in the summary"},
	}
	for _, tt := range tests {
		s := newSession()
		s.doc.RepeatsPlanned, s.doc.RepeatsDone = 4, 4
		tt.setup(s)
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		doc := stored(t, s.doc)
		if err := judge.Verify(doc, nil); err != nil {
			t.Fatalf("%s: before the forgery: %v", tt.name, err)
		}
		tt.forge(doc)
		if err := judge.Verify(doc, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// halfPrompts gives the head half of each prompt, and records it as a session does.
func halfPrompts(s session) {
	cells := s.doc.Benchmarks[0].Cells
	compared := result.ComparedRequests{Benchmark: s.doc.Benchmarks[0].Addr, Base: cells[0].Hash, Head: cells[1].Hash}
	for i, tokens := range []int{256, 128} {
		cells[i].Work = map[string]string{"tool": "pipeline"}
		s.each(i, func(r *result.Run) { r.Requests = &result.RunRequests{PromptTokens: tokens * r.Sent} })
	}
	for _, r := range cells[1].Runs {
		compared.Pairs = append(compared.Pairs, result.PairedRequests{Repeat: r.Repeat, Pass: r.Pass, Requests: 8, OtherPrompts: 8})
		compared.Differences = append(compared.Differences, result.RequestDifference{What: result.OtherPrompts, Repeat: r.Repeat, Base: 256,
			Head: 128, Text: "prompt tokens differ"})
	}
	s.doc.Requests = append(s.doc.Requests, compared)
}

// last is the last decision of a document's first gate: that over all cells, where there is one.
func last(d *result.Document) *result.Decision {
	return &d.Gates[0].Decisions[len(d.Gates[0].Decisions)-1]
}

// green forges all results.
func green(d *result.Document) {
	for i := range d.Gates {
		for j := range d.Gates[i].Decisions {
			d.Gates[i].Decisions[j].Verdict = result.Pass
		}
		d.Gates[i].Verdict = result.Pass
	}
	d.Verdict, d.ExitCode = result.Pass, 0
}

// TestVerifyFindsAnyChange: a document in which any verdict or figure that is shown was
// changed is invalidSuccess.
func TestVerifyFindsAnyChange(t *testing.T) {
	s := suiteSession(3, 0.01)
	s.plan.Looks = gates.Looks{2, 4}
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text, _ := json.Marshal(s.doc)
		var doc result.Document
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		g := &doc.Gates[0]
		d := &g.Decisions[rapid.IntRange(0, len(g.Decisions)-1).Draw(t, "decision")]
		by := rapid.SampledFrom([]float64{-2, -0.5, 0.5, 0.99, 1.01, 2}).Draw(t, "by")
		number := rapid.SampledFrom([]*float64{d.BaseValue, d.HeadValue, d.Change, d.Lower, d.Upper, d.P, d.PHolm}).Draw(t, "number")
		if number == nil || *number == 0 {
			t.Skip("there is none")
		}
		*number *= by
		if err := judge.Verify(&doc, nil); err == nil {
			t.Fatalf("%s takes a change by %g", d.ID, by)
		}
	})
}

// TestVerifyOfAnyNumbers: whatever numbers a document holds, who reads it does not fall over.
func TestVerifyOfAnyNumbers(t *testing.T) {
	s := newSession()
	s.doc.Schema, s.plan.Looks = result.Schema, gates.Looks{2, 4}
	for i := range s.plan.Targets {
		s.doc.Targets = append(s.doc.Targets, result.Target{Addr: s.plan.Targets[i].Addr})
	}
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s.doc)
	if err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(`[:,[](-?[0-9][0-9.e+-]*)`).FindAllSubmatchIndex(text, -1)
	read := 0
	for _, at := range numbers {
		for _, value := range []string{"0", "-1", "3", "0.4999999", "1e300", "1e-300", "9223372036854775807"} {
			doc, err := result.Decode(bytes.NewReader(slices.Concat(text[:at[2]], []byte(value), text[at[3]:])), result.Limits{})
			if err != nil {
				continue
			}
			read++
			_ = judge.Verify(doc, nil)
		}
	}
	if read < len(numbers) {
		t.Errorf("%d documents were read: the test shows little", read)
	}
}
