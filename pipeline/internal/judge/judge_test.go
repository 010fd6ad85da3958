package judge_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// session is a plan of one benchmark with a base, a head and one gate, and a document
// with four repeats of each.
type session struct {
	plan *plan.Plan
	doc  *result.Document
}

const repeats = 4

func newSession() session {
	cell := func(side string) plan.Cell {
		return plan.Cell{Hash: side, WorkKey: "w", Target: "server.vllm." + side, Values: []result.AxisValue{{Name: "side", Value: side}}}
	}
	p := &plan.Plan{
		Alpha: 0.05, FamilySize: 2,
		Targets:    []plan.Target{{Addr: "server.vllm.base", Source: "vllm"}, {Addr: "server.vllm.head", Source: "vllm"}},
		Benchmarks: []plan.Benchmark{{Addr: "benchmark.b", RepeatMax: repeats, Cells: []plan.Cell{cell("base"), cell("head")}}},
		Gates: []plan.Gate{{
			Addr: "gate.g", Benchmark: "benchmark.b", Baseline: "baseline.paired.p", BaselineKind: "paired", Axis: "side", BaseValue: "base",
			Metrics:     []string{"ttft.p50"},
			Terms:       gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
			Actions:     result.Actions{OnRegression: "fail", OnInconclusive: "warn", OnMissing: "fail", OnInvalid: "fail"},
			Comparisons: []plan.Comparison{{Head: "head", Base: "base", HeadValue: "head", BaseValue: "base"}},
		}},
	}
	doc := &result.Document{Status: result.StatusComplete, Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{
		{Hash: "base", Target: "server.vllm.base"}, {Hash: "head", Target: "server.vllm.head"},
	}}}}
	s := session{p, doc}
	for r := 1; r <= repeats; r++ {
		wobble := 1 + 0.004*float64(r%3-1)
		s.add(0, run(r, 0.100*wobble))
		s.add(1, run(r, 0.100))
	}
	return s
}

func (s session) add(cell int, r result.Run) {
	c := &s.doc.Benchmarks[0].Cells[cell]
	c.Runs = append(c.Runs, r)
}

// each changes every run of a cell.
func (s session) each(cell int, change func(*result.Run)) {
	for i := range s.doc.Benchmarks[0].Cells[cell].Runs {
		change(&s.doc.Benchmarks[0].Cells[cell].Runs[i])
	}
}

func run(repeat int, ttft float64) result.Run {
	return result.Run{
		Repeat: repeat, Status: result.RunOK, Sent: 200, Metrics: map[string]float64{"ttft.p50": ttft, "ttft.p99": 3 * ttft},
		Audit: map[string]any{"schedule_hash": "s", "work_hash": fmt.Sprint("w", repeat)},
	}
}

// again makes the third run of a cell void, with a value or without one, and measures its
// repeat again.
func (s session) again(cell int, cause result.VoidCause, ttft float64) {
	r := &s.doc.Benchmarks[0].Cells[cell].Runs[2]
	r.Status, r.Reason, r.VoidCause = result.RunVoid, "as it goes", cause
	if r.Metrics["ttft.p50"] = ttft; ttft == 0 {
		delete(r.Metrics, "ttft.p50")
	}
	for cell := range 2 {
		next := run(repeats+1, 0.1)
		next.Replaces = 3
		s.add(cell, next)
	}
}

func dead(r *result.Run) {
	r.Status, r.Metrics, r.Sent, r.Reason = result.RunFailed, nil, 0, "the server did not start"
}

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(session)
		verdict result.Verdict
		exit    int
		reason  string // part of the reason of some decision
	}{
		{"equal sides", func(session) {}, result.Pass, 0, ""},
		{"slower head", func(s session) { s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1.2 }) }, result.Regression, 1, ""},
		// the success rate only passes
		{"faster head", func(s session) { s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 0.8 }) }, result.Pass, 0,
			"ttft.p50 improvement"},
		{"noisy head", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1 + 0.3*float64(r.Repeat%2) })
		}, result.Inconclusive, 0, ""},
		{"head never starts", func(s session) { s.each(1, dead) }, result.Regression, 1, "head"},
		{"both never start", func(s session) { s.each(0, dead); s.each(1, dead) }, result.Invalid, 4, ""},
		{"head drops requests and is faster", func(s session) {
			s.each(1, func(r *result.Run) { r.Failed = 20; r.Metrics["ttft.p50"] *= 0.5 })
		}, result.Regression, 1, ""},
		{"a pair is void for good", func(s session) {
			s.doc.Benchmarks[0].Cells[1].Runs[2].Status = result.RunVoid
			s.doc.Benchmarks[0].Cells[1].Runs[2].Reason = "lag"
		}, result.Invalid, 5, "void"},
		{"a void pair was measured again", func(s session) {
			s.doc.Benchmarks[0].Cells[1].Runs[2].Status = result.RunVoid
			for cell := range 2 {
				again := run(repeats+1, 0.1)
				again.Replaces = 3
				s.add(cell, again)
			}
		}, result.Pass, 0, ""},
		{"a slow head is void and measured again", func(s session) { s.again(1, result.VoidClient, 0.2) }, result.Inconclusive, 0,
			"void in 1 repeat and measured again"},
		{"a head as fast as ever is void and measured again", func(s session) { s.again(1, result.VoidClient, 0.1) }, result.Pass, 0, ""},
		{"a head without a value is void and measured again", func(s session) { s.again(1, result.VoidClient, 0) }, result.Inconclusive, 0,
			"void in 1 repeat"},
		{"a slow base is void and measured again", func(s session) { s.again(0, result.VoidClient, 0.2) }, result.Pass, 0, ""},
		{"a clock is stepped under a slow head", func(s session) { s.again(1, result.VoidClock, 0.2) }, result.Pass, 0, ""},
		{"a repeat with a failed head is measured again", func(s session) {
			s.doc.Benchmarks[0].Cells[0].Runs[2].Status = result.RunVoid
			dead(&s.doc.Benchmarks[0].Cells[1].Runs[2])
			for cell := range 2 {
				again := run(repeats+1, 0.1)
				again.Replaces = 3
				s.add(cell, again)
			}
		}, result.Inconclusive, 0, "failed in 1 of 4 repeats"},
		{"the head fails in both tries of a repeat", func(s session) {
			dead(&s.doc.Benchmarks[0].Cells[1].Runs[2])
			again := run(3, 0.1)
			dead(&again)
			s.add(1, again)
		}, result.Inconclusive, 0, "failed in 1 of 4 repeats"},
		{"the head fails in two repeats", func(s session) {
			dead(&s.doc.Benchmarks[0].Cells[1].Runs[0])
			dead(&s.doc.Benchmarks[0].Cells[1].Runs[2])
		}, result.Inconclusive, 0, "failed in 2 of 4 repeats"},
		{"other work on one side", func(s session) {
			s.each(1, func(r *result.Run) { r.Audit["work_hash"] = "other" })
		}, result.Invalid, 5, "same work"},
		{"a growing backlog", func(s session) { s.each(1, func(r *result.Run) { r.Overloaded = true }) }, result.Invalid, 5, "backlog"},
		{"a growing backlog that is allowed", func(s session) {
			s.each(1, func(r *result.Run) { r.Overloaded = true })
			s.plan.Gates[0].AllowOverload = true
		}, result.Pass, 0, ""},
		{"the matrix has no base", func(s session) { s.plan.Gates[0].Comparisons[0].Base = "" }, result.Missing, 5, "no cell with side = base"},
		{"a server given by url", func(s session) {
			s.plan.Targets[1].Source, s.plan.Targets[1].Attached = "http://127.0.0.1:1", true
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1.2 })
		}, result.Inconclusive, 0, "launch"},
		{"a regression that only warns", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1.2 })
			s.plan.Gates[0].OnRegression = "warn"
		}, result.Regression, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession()
			tt.change(s)
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			if s.doc.Verdict != tt.verdict || s.doc.ExitCode != tt.exit {
				t.Errorf("%s with exit %d, want %s with %d: %s", s.doc.Verdict, s.doc.ExitCode, tt.verdict, tt.exit, reasons(s.doc))
			}
			if !strings.Contains(reasons(s.doc), tt.reason) {
				t.Errorf("no reason says %q: %s", tt.reason, reasons(s.doc))
			}
		})
	}
}

func reasons(doc *result.Document) string {
	var out []string
	for _, g := range doc.Gates {
		for _, d := range g.Decisions {
			out = append(out, fmt.Sprintf("%s %s: %s", d.Metric, d.Verdict, d.Reason))
		}
	}
	return strings.Join(out, "; ")
}

func TestLimits(t *testing.T) {
	s := newSession()
	s.plan.Gates[0] = plan.Gate{Addr: "gate.g", Benchmark: "benchmark.b", Assert: true, Actions: result.Actions{OnRegression: "fail"},
		Comparisons: []plan.Comparison{{Head: "head"}}}
	s.doc.Benchmarks[0].Cells[1].Runs[1].Metrics["ttft.p50"] = 0.3
	below := func(limit float64) judge.Options {
		return judge.Options{Assert: func(_ string, _ []result.AxisValue, in config.AssertInput) ([]config.Limit, string, error) {
			value, known := in.Metrics["ttft.p50"]
			slow := config.Limit{Metric: "ttft.p50", Op: "<", Value: value, Limit: limit, Known: known, Holds: known && value < limit}
			errors := config.Limit{Text: "self.errors", Op: "==", Value: float64(in.Errors), Known: true, Holds: in.Errors == 0}
			return []config.Limit{slow, errors}, "too slow", nil
		}}
	}
	if err := judge.Judge(s.plan, s.doc, below(0.2)); err != nil {
		t.Fatal(err)
	}
	d := s.doc.Gates[0].Decisions[0]
	if d.Verdict != result.Pass || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "repeat 2") {
		t.Errorf("%+v: the geometric mean holds the limit, repeat 2 alone does not", d)
	}
	if err := judge.Judge(s.plan, s.doc, below(0.1)); err != nil {
		t.Fatal(err)
	}
	if d := s.doc.Gates[0].Decisions[0]; d.Verdict != result.Regression || d.Reason != "too slow" || s.doc.ExitCode != 1 {
		t.Errorf("%+v, exit %d: the limit is broken", d, s.doc.ExitCode)
	}
	// Each comparison of the condition has its own row with value and limit.
	decisions := s.doc.Gates[0].Decisions
	if len(decisions) != 2 || decisions[0].ID == decisions[1].ID || decisions[1].Label != "errors" || decisions[1].Verdict != result.Pass {
		t.Fatalf("%+v: want a decision on the time and one on errors", decisions)
	}
	if d := decisions[0]; d.Limit == nil || *d.Limit != 0.1 || d.LimitOp != "<" || d.HeadValue == nil || *d.HeadValue < 0.1 || d.Unit != "s" {
		t.Errorf("%+v: want the value and the limit of 0.1 s", d)
	}

	// A server that never answered is not worse than anything: it was not measured. Where no other target works either,
	// it is the infrastructure.
	base := s.doc.Benchmarks[0].Cells[0].Runs
	for name, run := range map[string]result.Run{
		"did not start":           {Status: result.RunFailed, Reason: "exit status 1"},
		"invalidSuccess all":      {Status: result.RunFailed, Sent: 40, Failed: 40, Failures: map[string]int{"connect": 40}},
		"invalidSuccess, as ever": {Status: result.RunOK, Sent: 40, Failed: 40, Failures: map[string]int{"connect": 40}},
	} {
		runs := s.doc.Benchmarks[0].Cells[1].Runs
		for i := range runs {
			repeat := runs[i].Repeat
			runs[i] = run
			runs[i].Repeat = repeat
		}
		for alone, exit := range map[bool]int{false: result.ExitUndecided, true: result.ExitInfrastructure} {
			if s.doc.Benchmarks[0].Cells[0].Runs = base; alone {
				s.doc.Benchmarks[0].Cells[0].Runs = nil
			}
			if err := judge.Judge(s.plan, s.doc, below(0.2)); err != nil {
				t.Fatal(err)
			}
			d := s.doc.Gates[0].Decisions[0]
			if d.Verdict != result.Missing || d.Infrastructure != alone || s.doc.ExitCode != exit ||
				!strings.Contains(d.Reason, "answered no request") {
				t.Errorf("%s, alone: %v: %+v, exit %d; want missing, exit %d", name, alone, d, s.doc.ExitCode, exit)
			}
		}
	}
	s.doc.Benchmarks[0].Cells[0].Runs = base
	// One that answered and failed requests is beyond its limit on errors.
	for i := range s.doc.Benchmarks[0].Cells[1].Runs {
		r := &s.doc.Benchmarks[0].Cells[1].Runs[i]
		r.Status, r.Sent, r.Failed, r.Failures = result.RunFailed, 40, 40, map[string]int{"status": 40}
	}
	if err := judge.Judge(s.plan, s.doc, below(0.2)); err != nil {
		t.Fatal(err)
	}
	if d := s.doc.Gates[0].Decisions; d[0].Verdict != result.Missing || d[1].Verdict != result.Regression || s.doc.ExitCode != 1 {
		t.Errorf("%+v, exit %d: failed requests break the limit on errors, and leave no time to judge", d, s.doc.ExitCode)
	}
}

// A limit does not hide that the head does not start: the exit status is that of the file without it. Where the base
// does not start either, both are the infrastructure.
func TestALimitHidesNoDeadHead(t *testing.T) {
	for _, tt := range []struct {
		name       string
		base, head bool // dead
		limit      bool
		exit       int
	}{
		{"head", false, true, false, result.ExitRegression},
		{"head, with a limit", false, true, true, result.ExitRegression},
		{"base, with a limit", true, false, true, result.ExitUndecided},
		{"both", true, true, false, result.ExitInfrastructure},
		{"both, with a limit", true, true, true, result.ExitInfrastructure},
	} {
		s := newSession()
		if tt.limit {
			s.plan.Gates = append(s.plan.Gates, plan.Gate{
				Addr: "gate.slo", Benchmark: "benchmark.b", Assert: true,
				Actions: result.Actions{OnRegression: "fail", OnMissing: "fail"}, Comparisons: []plan.Comparison{{Head: "head"}},
			})
		}
		for cell, is := range []bool{tt.base, tt.head} {
			if is {
				s.each(cell, dead)
			}
		}
		holds := func(_ string, _ []result.AxisValue, in config.AssertInput) ([]config.Limit, string, error) {
			return []config.Limit{{Holds: in.Errors == 0}}, "", nil
		}
		if err := judge.Judge(s.plan, s.doc, judge.Options{Assert: holds}); err != nil {
			t.Fatal(err)
		}
		if s.doc.ExitCode != tt.exit {
			t.Errorf("%s: exit %d, want %d (%s)", tt.name, s.doc.ExitCode, tt.exit, reasons(s.doc))
		}
	}
}

// A head that loses requests in every run where the base loses none is never green, however few repeats there are.
func TestAHeadThatLosesRequestsIsNeverGreen(t *testing.T) {
	for n := 2; n <= repeats; n++ {
		for _, gates := range []int{1, 8} {
			for _, looks := range []bool{false, true} {
				s := newSession()
				s.plan.Benchmarks[0].RepeatMax = n
				for i := 1; i < gates; i++ {
					more := s.plan.Gates[0]
					more.Addr = fmt.Sprintf("gate.g%d", i)
					s.plan.Gates = append(s.plan.Gates, more)
				}
				if looks && n > 2 {
					s.plan.Looks = []int{2, n}
				}
				for cell := range s.doc.Benchmarks[0].Cells {
					c := &s.doc.Benchmarks[0].Cells[cell]
					c.Runs = c.Runs[:n]
				}
				s.each(1, func(r *result.Run) { r.Sent, r.Failed = 40, 10+4*r.Repeat })
				if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
					t.Fatal(err)
				}
				if s.doc.Outcome().Check != result.CheckFailure {
					t.Errorf("%d repeats, %d gates, looks %v: exit %d (%s)", n, gates, looks, s.doc.ExitCode, reasons(s.doc))
				}
			}
		}
	}
}

func TestAFileIsDescribed(t *testing.T) {
	s, base := newSession(), newSession()
	g := &s.plan.Gates[0]
	g.BaselineKind, g.BaselinePath = "file", "old.json"
	g.Comparisons = []plan.Comparison{{Head: "head"}}
	s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 2 })
	read := func(string) (*result.Document, error) { return base.doc, nil }
	if err := judge.Judge(s.plan, s.doc, judge.Options{Baseline: read}); err != nil {
		t.Fatal(err)
	}
	d := s.doc.Gates[0].Decisions[0]
	if d.Verdict != result.Inconclusive || *d.Change < 0.99 || *d.Change > 1.01 || s.doc.ExitCode != 0 {
		t.Errorf("%+v: a doubled time against a file is described as +100 %% and not decided", d)
	}
	price := func(gpu float64) *result.Price { return &result.Price{Currency: "USD", GPUHour: gpu} }
	s.plan.Price, s.plan.Gates[0].Metrics = price(2), []string{"cost.per_million_tokens"}
	dearer := plan.Plan{Price: price(3)}
	for _, of := range []session{s, base} {
		of.each(0, func(r *result.Run) { r.Metrics["cost.per_million_tokens"] = 1 })
		of.each(1, func(r *result.Run) { r.Metrics["cost.per_million_tokens"] = 1 })
	}
	for want, measures := range map[result.Verdict]result.Measures{result.Inconclusive: s.plan.Described(),
		result.Invalid: dearer.Described()} {
		base.doc.Measures = measures
		if err := judge.Judge(s.plan, s.doc, judge.Options{Baseline: read}); err != nil {
			t.Fatal(err)
		}
		if d := s.doc.Gates[0].Decisions[0]; d.Verdict != want || (d.Change == nil) != (want == result.Invalid) {
			t.Errorf("prices of %s and %s: %+v, want %s", s.doc.Measures[0].Definition, measures[0].Definition, d, want)
		}
	}
	base.doc.Simulated = "process"
	if err := judge.Judge(s.plan, s.doc, judge.Options{Baseline: read}); err != nil {
		t.Fatal(err)
	}
	if d := s.doc.Gates[0].Decisions[0]; d.Verdict != result.Invalid {
		t.Errorf("a real run against a simulated baseline is %s, want invalid", d.Verdict)
	}
}

// A further attempt at the same change passes at a stricter level.
func TestAttemptsShareTheErrorOfAPass(t *testing.T) {
	verdicts := map[int]result.Verdict{}
	for _, attempt := range []int{0, 1, 20} {
		s := newSession()
		s.plan.Attempt = attempt
		s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1 + 0.02*float64(r.Repeat%2) })
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		verdicts[attempt] = d.Verdict
		want := 0.0
		if attempt > 0 {
			want = gates.AttemptAlpha(0.05, attempt)
		}
		if math.Abs(d.Level-want) > 1e-12 {
			t.Errorf("attempt %d: the bounds have the level %g, want %g", attempt, d.Level, want)
		}
	}
	if verdicts[0] != result.Pass || verdicts[1] != result.Pass || verdicts[20] != result.Inconclusive {
		t.Errorf("verdicts by attempt: %v; want a pass at first and none at the twentieth", verdicts)
	}
}

// TestNumberOfAMeasuredAgainRepeat: what a repeat that was measured again is the reason for is told with the number of the
// planned repeat, since its own is above all that a plan can have.
func TestNumberOfAMeasuredAgainRepeat(t *testing.T) {
	replaced := func(s session, change func(*result.Run)) {
		s.doc.Benchmarks[0].Cells[1].Runs[2].Status, s.doc.Benchmarks[0].Cells[1].Runs[2].Reason = result.RunVoid, "lag"
		for cell := range 2 {
			again := run(1001, 0.1)
			again.Replaces = 3
			if cell == 1 {
				change(&again)
			}
			s.add(cell, again)
		}
	}
	for name, tt := range map[string]struct {
		limit  bool
		change func(*result.Run)
	}{
		"void again": {false, func(r *result.Run) { r.Status, r.Reason = result.RunVoid, "lag" }},
		"no transport": {false, func(r *result.Run) {
			r.Transport = &result.Transport{Status: result.TransportContradicted, Reason: "over TCP"}
		}},
		"beyond the limit": {true, func(r *result.Run) { r.Metrics["ttft.p50"] = 0.3 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession()
			replaced(s, tt.change)
			var opt judge.Options
			if tt.limit {
				s.plan.Gates[0] = plan.Gate{Addr: "gate.g", Benchmark: "benchmark.b", Assert: true, Actions: result.Actions{OnRegression: "fail"},
					Comparisons: []plan.Comparison{{Head: "head"}}}
				opt.Assert = func(_ string, _ []result.AxisValue, in config.AssertInput) ([]config.Limit, string, error) {
					value := in.Metrics["ttft.p50"]
					return []config.Limit{{Metric: "ttft.p50", Op: "<", Value: value, Limit: 0.2, Known: true, Holds: value < 0.2}}, "", nil
				}
			}
			if err := judge.Judge(s.plan, s.doc, opt); err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, d := range s.doc.Gates[0].Decisions {
				text.WriteString(d.Reason + strings.Join(d.Warnings, ", "))
			}
			if !strings.Contains(text.String(), "repeat 3") || strings.Contains(text.String(), "1001") {
				t.Errorf("%s", &text)
			}
		})
	}
}

// TestTheWorstOfSeveralVoidRunsCounts: of several void runs of a repeat, the one that is worse for the head counts, also where
// values are zero and have no ratio.
func TestTheWorstOfSeveralVoidRunsCounts(t *testing.T) {
	const metric = "preemptions.per_request"
	for range 20 { // the runs are kept in a map
		s := newSession()
		s.plan.Gates[0].Metrics, s.plan.Gates[0].Margin = []string{metric}, 0.1
		again := func(repeat int, status result.RunStatus, value float64) {
			for cell := range 2 {
				r := run(repeat, 0.1)
				if r.Replaces, r.Metrics[metric] = 3, 0; status == result.RunVoid && cell == 1 {
					r.Status, r.VoidCause, r.Reason, r.Metrics[metric] = status, result.VoidClient, "as it goes", value
				}
				s.add(cell, r)
			}
		}
		for cell := range 2 {
			s.each(cell, func(r *result.Run) { r.Metrics[metric] = 0 })
		}
		third := &s.doc.Benchmarks[0].Cells[1].Runs[2]
		third.Status, third.VoidCause, third.Reason, third.Metrics[metric] = result.RunVoid, result.VoidClient, "as it goes", 0.5
		again(repeats+1, result.RunVoid, 0)
		again(repeats+2, result.RunOK, 0)
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := s.doc.Gates[0].Decisions[0]; d.Verdict != result.Inconclusive || !strings.Contains(d.Reason, "void") {
			t.Fatalf("%s: %s", d.Verdict, d.Reason)
		}
	}
}
