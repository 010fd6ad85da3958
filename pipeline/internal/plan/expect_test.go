package plan_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

func TestAPlanStatesWhatImprovementItShows(t *testing.T) {
	cfg := configOf(6, 2)
	cfg.Gates[0].Expect, cfg.Gates[0].Margin = gates.ExpectImprovement, 0
	p := build(t, cfg, plan.Options{})
	var text strings.Builder
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"expects an improvement by more than the margin, which is shown after",
		"a true improvement of", "is shown with 80 % power",
		"expects an improvement, and no gate compares what is answered",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
