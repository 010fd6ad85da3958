package gates_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// A sequence that may be gone on with is judged at its planned looks alone: the verdict of a stop is
// that of the last look before it, and before the first there is none.
func TestAResumableSequenceIsJudgedAtItsLooks(t *testing.T) {
	m, _ := metric.Lookup("ttft.p50")
	for n := 1; n <= 8; n++ {
		c := gates.Comparison{ID: "a", Gate: "g", Metric: m, Claim: gates.Claim{Margin: 0.05}, CanFail: true}
		for i := range n {
			head := 0.15 // half as much again, but for a wobble
			if i >= 5 {
				head = 0.05
			}
			c.Pairs = append(c.Pairs, gates.Pair{Repeat: i + 1, Base: 0.1, Head: head + 0.0001*float64(i)})
		}
		s := gates.Sequence{Family: gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}, Looks: gates.Looks{4, 6, 8},
			Ended: true, Resumable: true}
		p, err := s.Judge()
		if err != nil {
			t.Fatal(err)
		}
		d := p.Judgement.Comparisons[0]
		if n < 4 {
			if d.Verdict != gates.Inconclusive || d.Look != nil || len(p.Taken) > 0 || n > 1 &&
				!strings.Contains(d.Reason, "the first look is after 4 repeats") || d.Difference == nil {
				t.Errorf("%d pairs: %s at %v, looks %v: %s", n, d.Verdict, d.Look, p.Taken, d.Reason)
			}
			continue
		}
		if d.Verdict != gates.Regression || d.Look.Repeats != 4 || p.Taken[len(p.Taken)-1] != 4 {
			t.Errorf("%d pairs: %s after %d, looks %v: %s", n, d.Verdict, d.Look.Repeats, p.Taken, d.Reason)
		}
	}
}
