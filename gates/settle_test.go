package gates_test

import (
	"fmt"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// TestHopelessCountsTheKnownSpread: what four pairs cannot decide by their own spread is not given
// up where a known one lets them.
func TestHopelessCountsTheKnownSpread(t *testing.T) {
	m, _ := metric.Lookup("ttft.p50")
	family := func(known *gates.Known) gates.Family {
		f := gates.Family{Alpha: 0.05}
		for i := range 20 {
			c := gates.Comparison{ID: fmt.Sprint(i), Gate: fmt.Sprint(i), Metric: m, Claim: gates.Claim{Margin: 0.05}, CanFail: true, Known: known}
			for repeat, d := range []float64{1.04, 1.05} {
				c.Pairs = append(c.Pairs, gates.Pair{Repeat: repeat + 1, Base: 1, Head: d})
			}
			f.Comparisons = append(f.Comparisons, c)
		}
		return f
	}
	for name, tt := range map[string]struct {
		known *gates.Known
		want  bool
	}{
		"own":   {nil, true},
		"known": {&gates.Known{SD: 0.02, DF: 30, Within: 1.5}, false},
	} {
		s := gates.Sequence{Family: family(tt.known), Looks: gates.Looks{2, 4}}
		p, err := s.Judge()
		if err != nil {
			t.Fatal(err)
		}
		if p.Stop || len(p.Open) == 0 {
			t.Fatalf("%s: nothing is open", name)
		}
		if got := s.Hopeless(p); got != tt.want {
			t.Errorf("%s: hopeless %v", name, got)
		}
	}
}
