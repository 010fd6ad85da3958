package plan_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

func TestSuitesHaveAShareOfTheirOwn(t *testing.T) {
	cfg := configOf(6, 2, 4, 8)
	before := build(t, cfg, plan.Options{})
	cfg.Gates[0].SuiteMargin = 0.02
	p := build(t, cfg, plan.Options{})
	g := p.Gates[0]
	suites := g.Suites()
	if len(suites) != len(g.Metrics) || len(suites[0].Heads) != 3 || suites[0].HeadValue != "head" {
		t.Fatalf("%+v", suites)
	}
	if p.FamilySize != before.FamilySize+len(suites) {
		t.Errorf("a family of %d instead of %d", p.FamilySize, before.FamilySize)
	}
	for share, p := range map[string]*plan.Plan{"0.05": before, "0.04": p} {
		var text strings.Builder
		if err := p.WriteText(&text); err != nil || !strings.Contains(text.String(), "success rates included, at "+share+" one-sided") {
			t.Errorf("no share of %s: %v\n%s", share, err, text.String())
		}
	}
	var text strings.Builder
	if err := p.WriteText(&text); err != nil ||
		!strings.Contains(text.String(), "over up to 3 cells each, margin 2 %, Holm over a family of") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestASuiteOfOneCellIsRefused(t *testing.T) {
	cfg := configOf(6, 2)
	cfg.Gates[0].SuiteMargin = 0.02
	if _, diags := plan.Build(cfg, plan.Options{}); !diags.HasErrors() || !strings.Contains(diags.Error(), "gate has no suite") {
		t.Errorf("%v", diags)
	}
}

// The power of a suite is that of its test: simulated pairs of suites, whose spread is that
// of a cell over √3 or the whole of it, reach the stated change in 80 %.
func TestThePowerOfASuiteIsStated(t *testing.T) {
	cfg := configOf(6, 2, 4, 8)
	cfg.Gates[0].SuiteMargin = 0.02
	var text strings.Builder
	p := build(t, cfg, plan.Options{})
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	stated := regexp.MustCompile(
		`ratio of 3 cells, if pairs spread by (\d) %: a change of all by ([\d.]+) % is found with 80 % power if their noise is independent, by ([\d.]+) % if it is common`).FindAllStringSubmatch(text.String(), -1)
	if len(stated) != 2 {
		t.Fatalf("%d lines:\n%s", len(stated), text.String())
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for _, line := range stated {
		sd, apart, together := percentage(t, line[1]), percentage(t, line[2]), percentage(t, line[3])
		for change, spread := range map[float64]float64{apart: sd / math.Sqrt(3), together: sd} {
			found := 0
			const trials = 2000
			for range trials {
				d := make([]float64, 6)
				for i := range d {
					d[i] = math.Log1p(change) + spread*rng.NormFloat64()
				}
				r, err := gates.PairedT(d)
				if err != nil {
					t.Fatal(err)
				}
				if r.Greater <= gates.SuiteShare*p.Alpha/float64(len(p.Gates[0].Suites())) && r.Shift >= math.Log1p(0.02) {
					found++
				}
			}
			// The stated change is rounded, which moves the power of a test that is at its margin.
			if power := float64(found) / trials; power < 0.72 || power > 0.88 {
				t.Errorf("SD %g: a change of %g is found with a power of %.2f", sd, change, power)
			}
		}
	}
}

func percentage(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x / 100
}

// A gate without suites has no line for them.
func TestNoPowerOfNoSuite(t *testing.T) {
	p := build(t, configOf(6, 2, 4, 8), plan.Options{})
	var text strings.Builder
	if err := p.WriteText(&text); err != nil || strings.Contains(text.String(), "ratio of") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
