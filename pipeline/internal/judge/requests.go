package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

const (
	// otherTemplate and promptShare bound how far the token counts of two engines for one prompt may differ, because
	// one of them adds tokens.
	otherTemplate = 4
	promptShare   = 0.01
)

// otherRequests excludes a comparison if the measured requests show that the sides did different work. It also lists
// differences that still allow a comparison. Requests are not compared if the file declares different work. With
// different models, differences are only listed. A gate on answers states itself how far texts may differ.
func otherRequests(doc *result.Document, benchmark string, base, head *result.Cell, declared comparability.Declared,
	answered bool) (first exclusion, notes []string) {
	i := comparedRequests(doc, benchmark, base, head)
	switch {
	case comparability.Compare(base.Work, head.Work, declared).Meant():
		return first, nil
	case i < 0 && doc.Simulated == "" && comparability.HaveRequests(base, head):
		// Their digests are in the journal alone, and were compared for the pairs of the run's own gates.
		return exclusion{reason: "the run did not compare the requests of these cells: measure again with the file that compares them"}, nil
	case i < 0:
		return first, nil
	}
	models := declared[comparability.Model]
	engines := doc.Target(base.Target).Engine != doc.Target(head.Target).Engine
	for _, d := range doc.Requests[i].Differences {
		switch {
		case d.Shown, models, answered && d.What == result.OtherBeginnings, engines && d.What == result.OtherUsage,
			engines && d.What == result.OtherPrompts && fewTokens(d):
			notes = append(notes, "the sides differ in their requests: "+d.Text)
		default:
			first = earliest(first, exclusion{fmt.Sprintf("the sides did not do the same work in repeat %d: %s", d.Repeat, d.Text), d.Repeat})
		}
	}
	return first, notes
}

// otherLength excludes a comparison of a metric that grows with the length of the answers if the model ended the answers
// of one side earlier, by as much as the margin. It holds what [otherRequests] only lists.
func (t twoCells) otherLength(m metric.Metric) (first exclusion) {
	declared := declaredOf(t.doc, t.gate.Differ, t.base, t.head)
	i := comparedRequests(t.doc, t.gate.Benchmark, t.base, t.head)
	if i < 0 || !t.ofLength(m) || declared[comparability.Model] || comparability.Compare(t.base.Work, t.head.Work, declared).Meant() {
		return first
	}
	for _, d := range t.doc.Requests[i].Differences {
		if d.What == result.OtherLengths && d.Shown && math.Abs(math.Log(d.Head/d.Base)) >= float64(t.gate.Margin) {
			first = earliest(first, exclusion{fmt.Sprintf("the sides did not do the same work in repeat %d: %s; set ignore_eos, or compare "+
				"metric.tpot", d.Repeat, d.Text), d.Repeat})
		}
	}
	return first
}

// ofLength reports whether a side that answers in fewer tokens has better values of a metric without being faster. More of
// its requests are within a limit on E2EL, and its servers have capacity for more.
func (t twoCells) ofLength(m metric.Metric) bool {
	switch m.Group {
	case "goodput":
		return comparability.LimitsE2EL(t.base.Work)
	case "capacity":
		return true
	}
	return m.OfLength()
}

// comparedRequests returns the index of the comparison of two cells' requests, -1 if there is none.
func comparedRequests(doc *result.Document, benchmark string, base, head *result.Cell) int {
	return slices.IndexFunc(doc.Requests, func(r result.ComparedRequests) bool {
		return r.Benchmark == benchmark && r.Base == base.Hash && r.Head == head.Hash
	})
}

// fewTokens reports whether prompts differ by no more than the tokens that engines add.
func fewTokens(d result.RequestDifference) bool {
	return math.Abs(d.Head-d.Base) <= max(otherTemplate, promptShare*min(d.Base, d.Head))
}

// sentAgain warns of requests that were sent again.
func sentAgain(base, head *result.Cell) []string {
	var n [2]int
	for i, side := range sides(base, head) {
		for _, r := range side.cell.Current() {
			n[i] += resent(r)
		}
	}
	if n == [2]int{} {
		return nil
	}
	return []string{fmt.Sprintf(
		"connections closed without an answer, so that requests were sent again, which counts as failed: %d of the base, %d of the head", n[0],
		n[1])}
}
