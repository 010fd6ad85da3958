package plan

import (
	"fmt"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// A benchmark is measured as often as it asks for, whatever the others need.
func TestLooksOfTheFile(t *testing.T) {
	for _, tt := range []struct {
		mins, maxs []int
		want       string
	}{
		{[]int{5}, []int{5}, "[5]"},
		{[]int{4}, []int{12}, "[4 6 8 10 12]"},
		{[]int{4, 20}, []int{12, 20}, "[20]"},
		{[]int{4, 6}, []int{7, 9}, "[6 8 9]"},
		{nil, nil, "[]"},
	} {
		var bs []Benchmark
		for i := range tt.mins {
			bs = append(bs, Benchmark{RepeatMin: tt.mins[i], RepeatMax: tt.maxs[i], Cells: []Cell{{}}})
		}
		if got := fmt.Sprint(looks(bs)); got != tt.want {
			t.Errorf("looks of %v to %v are %s, want %s", tt.mins, tt.maxs, got, tt.want)
		}
	}
}

// A margin of what can be zero is in its unit, and one of a share in percentage points.
func TestAMarginOfADifferenceIsAbsolute(t *testing.T) {
	for id, want := range map[string]string{"queue.p99": "50 ms", "ttft.p99": "5 %", "goodput.share": "5 pp", "evaluation.score": "5 pp",
		"agreement.share": "5 pp"} {
		if got := new(Plan).marginText(Gate{Metrics: []string{id}, Terms: gates.Terms{Claim: gates.Claim{Margin: 0.05}}}); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
