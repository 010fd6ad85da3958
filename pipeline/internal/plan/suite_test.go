package plan

import (
	"math"
	"strings"
	"testing"
)

func TestSuitesHaveAShareOfTheirOwn(t *testing.T) {
	cfg := config(6, 2, 4, 8)
	before := build(t, cfg, Options{})
	cfg.Gates[0].SuiteMargin = 0.02
	p := build(t, cfg, Options{})
	g := p.Gates[0]
	suites := g.Suites()
	if len(suites) != len(g.Metrics) || len(suites[0].Heads) != 3 || suites[0].HeadValue != "head" {
		t.Fatalf("%+v", suites)
	}
	if got := p.share(g); math.Abs(got-0.8*before.share(g)) > 1e-15 || p.FamilySize != before.FamilySize+len(suites) {
		t.Errorf("share %g of %g, family of %d instead of %d", got, before.share(g), p.FamilySize, before.FamilySize)
	}
	var text strings.Builder
	if err := p.WriteText(&text); err != nil || !strings.Contains(text.String(), "over up to 3 cells each, margin 2 %, Holm over a family of") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestASuiteOfOneCellIsRefused(t *testing.T) {
	cfg := config(6, 2)
	cfg.Gates[0].SuiteMargin = 0.02
	if _, diags := Build(cfg, Options{}); !diags.HasErrors() || !strings.Contains(diags.Error(), "gate has no suite") {
		t.Errorf("%v", diags)
	}
}
