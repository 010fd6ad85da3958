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

// TestSettled: a gate that is red waits for nothing, and another still does.
func TestSettled(t *testing.T) {
	m, _ := metric.Lookup("ttft.p50")
	for other, want := range map[string]bool{"g": true, "h": false} {
		f := gates.Family{Alpha: 0.05}
		for i, heads := range [][]float64{{1.30, 1.31, 1.29, 1.30}, {1.3, 0.8, 1.3, 0.8}} {
			c := gates.Comparison{ID: fmt.Sprint(i), Gate: []string{"g", other}[i], Metric: m, Claim: gates.Claim{Margin: 0.05}, CanFail: true}
			for repeat, d := range heads {
				c.Pairs = append(c.Pairs, gates.Pair{Repeat: repeat + 1, Base: 1, Head: d})
			}
			f.Comparisons = append(f.Comparisons, c)
		}
		s := gates.Sequence{Family: f, Looks: gates.Looks{4, 6}}
		p, err := s.Judge()
		if err != nil || p.Settled() != want {
			t.Errorf("another gate %s: settled %v, %v", other, p.Settled(), err)
		}
		s.Ended = true
		if p, err = s.Judge(); err != nil || !p.Settled() || s.Hopeless(p) {
			t.Errorf("another gate %s: at the end settled %v, hopeless %v, %v", other, p.Settled(), s.Hopeless(p), err)
		}
	}
}

// TestHopelessCountsWhatDecides: a pass decides, too, and a strict regression needs a bound beyond the margin.
func TestHopelessCountsWhatDecides(t *testing.T) {
	m, _ := metric.Lookup("ttft.p50")
	for name, tt := range map[string]struct {
		heads  []float64
		alpha  float64 // of a pass
		strict bool
		want   bool
	}{
		"near a pass":           {[]float64{1.05, 0.97, 1.04, 0.98}, 0, false, false},
		"at the margin":         {[]float64{1.049, 1.051, 1.045, 1.053}, 0.0001, false, false},
		"at the margin, strict": {[]float64{1.049, 1.051, 1.045, 1.053}, 0.0001, true, true},
	} {
		c := gates.Comparison{ID: "c", Gate: "g", Metric: m, Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{Strict: tt.strict}, CanFail: true}
		for repeat, d := range tt.heads {
			c.Pairs = append(c.Pairs, gates.Pair{Repeat: repeat + 1, Base: 1, Head: d})
		}
		f := gates.Family{Alpha: 0.05, PassAlpha: tt.alpha, Comparisons: []gates.Comparison{c}}
		s := gates.Sequence{Family: f, Looks: gates.Looks{4, 6, 8}}
		p, err := s.Judge()
		if err != nil || p.Stop {
			t.Fatalf("%s: stop %v, %v", name, p.Stop, err)
		}
		if got := s.Hopeless(p); got != tt.want {
			t.Errorf("%s: hopeless %v", name, got)
		}
	}
}
