package judge

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

// totals checks the verdicts of the gates and of the document, and the exit code.
func (v *verifier) totals() {
	for i := range v.doc.Gates {
		if g := &v.doc.Gates[i]; g.Verdict != worst(g) {
			v.addf("%s is %s, and the worst of its decisions is %s", g.Addr, g.Verdict, worst(g))
		}
	}
	if want := result.Overall(v.doc.Gates); v.doc.Verdict != want {
		v.addf("the verdict is %q, and its gates give %q", v.doc.Verdict, want)
	}
	interrupted := v.doc.Status == result.StatusInterrupted && (v.doc.ExitCode == 130 || v.doc.ExitCode == 143)
	if want := result.Exit(v.doc); v.doc.ExitCode != want && !interrupted {
		v.addf("the exit code is %d, and its gates give %d", v.doc.ExitCode, want)
	}
}

// spending checks the bill, and whether the session could have been stopped for the stated reason.
func (v *verifier) spending() {
	if want := result.NewBill(v.doc); !sameBill(v.doc.Bill, want) {
		v.addf("the bill is not the sum of its launches")
	}
	is := func(verdict result.Verdict) bool {
		return slices.ContainsFunc(v.doc.Gates, func(g result.Gate) bool { return g.Verdict == verdict })
	}
	switch by := v.doc.StoppedBy; {
	case by == "":
	case v.doc.Status != result.StatusComplete:
		v.addf("the session %s, and stopped_by is %q", unfinished(v.doc), by)
	case v.doc.RepeatsDone >= v.doc.RepeatsPlanned:
		v.addf("stopped_by is %q, and the session has all of its %d repeats", by, v.doc.RepeatsPlanned)
	case by == result.StoppedSettled && !is(result.Regression):
		v.addf("stopped_by is settled, and no gate has a regression")
	case by != result.StoppedBudget && len(v.doc.LooksTaken) == 0:
		v.addf("stopped_by is %q, and no look was taken", by)
	}
}

// sameBill reports whether two bills are equal within rounding.
func sameBill(a, b *result.Bill) bool {
	if a == nil || b == nil {
		return a == b
	}
	spent := func(x, y result.Spent) bool {
		return near(x.MachineHours, y.MachineHours) && near(x.GPUHours, y.GPUHours) && near(figure(x.Amount), figure(y.Amount))
	}
	return spent(a.Spent, b.Spent) && near(a.StartShare, b.StartShare) && near(a.MeasuredShare, b.MeasuredShare) &&
		near(a.ImagesSeconds, b.ImagesSeconds) &&
		slices.EqualFunc(a.Gates, b.Gates, func(x, y result.GateBill) bool {
			return x.Gate == y.Gate && x.Repeats == y.Repeats && spent(x.Spent, y.Spent)
		})
}

// summaries checks the figures of cells against their runs.
func (v *verifier) summaries() {
	for i := range v.doc.Benchmarks {
		b := &v.doc.Benchmarks[i]
		for j := range b.Cells {
			cell := &b.Cells[j]
			means := GeoMeans(cell)
			for id, value := range cell.Summary {
				if mean, ok := means[id]; !ok || !near(value, mean) {
					v.addf("%s of a cell of %s is %g in the summary, and its runs have %g", id, b.Addr, value, mean)
				}
			}
		}
	}
}

// evidence checks that valid runs have the evidence that a session records of each: the requests that our load generator
// sent, and the transport of KV cache that the file declares. A rehearsal, which its document names as simulated, may lack
// the former, and one in virtual time, in which nothing is transported, both.
func (v *verifier) evidence() {
	for i := range v.doc.Benchmarks {
		b := &v.doc.Benchmarks[i]
		for j := range b.Cells {
			cell := &b.Cells[j]
			connector := v.doc.Target(cell.Target).Connector
			for r := range sound(cell) {
				if v.doc.Simulated == "" && cell.Work[comparability.Tool] == comparability.OwnTool && r.Answers == nil && r.Requests == nil {
					v.addf("repeat %d of a cell of %s does not say what its requests were", r.Pair(), b.Addr)
				}
				if connector != "" && r.Transport == nil && !v.doc.Virtual() {
					v.addf("repeat %d of a cell of %s has no evidence of the transport of %s", r.Pair(), b.Addr, connector)
				}
			}
		}
	}
	for i := range v.doc.Requests {
		v.comparedRequests(&v.doc.Requests[i])
	}
}

// comparedRequests checks a comparison of requests against itself and the sums of its runs.
func (v *verifier) comparedRequests(c *result.ComparedRequests) {
	base, head := v.cells[key(c.Benchmark, c.Base)], v.cells[key(c.Benchmark, c.Head)]
	if base == nil || head == nil {
		v.addf("requests of %s are compared of cells that are not there", c.Benchmark)
		return
	}
	others := map[int]int{} // prompts of other lengths by repeat
	for _, p := range c.Pairs {
		others[p.Repeat] += p.OtherPrompts
	}
	for _, repeat := range slices.Sorted(maps.Keys(others)) {
		listed := slices.ContainsFunc(c.Differences, func(d result.RequestDifference) bool {
			return d.What == result.OtherPrompts && d.Repeat == repeat && !d.Shown
		})
		if others[repeat] > 0 != listed {
			v.addf("%d prompts of %s have another length in repeat %d, and its differences contradict that", others[repeat], c.Benchmark, repeat)
		}
		if others[repeat] == 0 && unequalPrompts(base, head, repeat) {
			v.addf("the sides of %s had other prompt tokens in repeat %d, and no prompt is said to be of another length", c.Benchmark, repeat)
		}
	}
}

// unequalPrompts reports whether the sums of prompt tokens of two sides differ in a repeat in which both answered all of
// the same requests. It allows a tenth for requests of which a server does not report the tokens, and prompts that
// repeat the server's own answers.
func unequalPrompts(base, head *result.Cell, repeat int) bool {
	sum := func(cell *result.Cell) (tokens, sent int, whole bool) {
		whole = !strings.Contains(cell.Work["dataset_options"], "real_answers")
		for r := range sound(cell) {
			if r.Pair() == repeat && r.Requests != nil {
				tokens, sent, whole = tokens+r.Requests.PromptTokens, sent+r.Sent, whole && r.Failed == 0
			}
		}
		return tokens, sent, whole && tokens > 0
	}
	b, sentB, wholeB := sum(base)
	h, sentH, wholeH := sum(head)
	return wholeB && wholeH && sentB == sentH && math.Abs(float64(b-h)) > 0.1*float64(max(b, h))
}

// evaluations checks the listed lost questions.
func (v *verifier) evaluations() {
	for i := range v.doc.Evaluations {
		e := &v.doc.Evaluations[i]
		base, head := v.cells[key(e.Benchmark, e.Base)], v.cells[key(e.Benchmark, e.Head)]
		if base == nil || head == nil {
			v.addf("an evaluation of %s is of cells that are not there", e.Benchmark)
			continue
		}
		want, _ := lost(base, head)
		same := slices.EqualFunc(e.Lost, want.Lost, func(a, b result.LostQuestion) bool {
			return a.ID == b.ID && near(a.BaseScore, b.BaseScore) && near(a.HeadScore, b.HeadScore)
		})
		if !same || e.Questions != want.Questions || e.Families != want.Families ||
			e.Repeats != want.Repeats || e.Worse != want.Worse || e.Better != want.Better {
			v.addf("%s lists other questions as lost than its runs give", e.Benchmark)
		}
	}
}
