package plan_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// After a gate was red, what is not decided there fails, also under another name.
func TestInconclusiveAfterRed(t *testing.T) {
	p := &plan.Plan{Alpha: 0.05, Gates: []plan.Gate{{Addr: "gate.a", Actions: result.Actions{OnInconclusive: "warn"}},
		{Addr: "gate.b", Actions: result.Actions{OnInconclusive: "ignore"}}}}
	on := func() (out []string) {
		for _, g := range p.Gates {
			out = append(out, string(p.OnInconclusive(g)))
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		again func()
		want  []string
	}{
		{"first", func() { p.Again(1, nil) }, []string{"warn", "ignore"}},
		{"nothing was red", func() { p.Again(2, nil) }, []string{"warn", "ignore"}},
		{"one was red", func() { p.Again(2, []string{"gate.a"}) }, []string{"fail", "ignore"}},
		{"one is called otherwise now", func() { p.Again(2, []string{"gate.c"}) }, []string{"fail", "fail"}},
		{"nobody knows", func() { p.AgainUnknown(3) }, []string{"fail", "fail"}},
	} {
		tt.again()
		if got := on(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
