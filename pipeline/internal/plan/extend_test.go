package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// storedPlan is a plan as a run directory gives it back.
func storedPlan(t *testing.T, p *plan.Plan) *plan.Plan {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestContinue(t *testing.T) {
	before := storedPlan(t, build(t, looking(4, 6, 2, 4), plan.Options{Attempt: 2}))
	longer := build(t, looking(4, 12, 2, 4), plan.Options{})
	if ok, err := longer.Continue(before); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if !slices.Equal(longer.Looks, []int{4, 6, 8, 10, 12}) || len(longer.Before) != 1 || !slices.Equal(longer.Before[0], []int{4, 6}) ||
		longer.Attempt != 2 {
		t.Errorf("looks %v, before %v, attempt %d", longer.Looks, longer.Before, longer.Attempt)
	}
	if !slices.ContainsFunc(longer.Warnings, func(w string) bool { return strings.Contains(w, "extended from at most 6 repeats to 12") }) {
		t.Errorf("warnings %q", longer.Warnings)
	}

	// The same file again goes on with the longer plan, and a longer one extends it again.
	again := build(t, looking(4, 12, 2, 4), plan.Options{})
	if ok, err := again.Continue(storedPlan(t, longer)); !ok || err != nil || len(again.Before) != 1 ||
		again.Fingerprint != longer.Fingerprint {
		t.Errorf("again: %v, %v, before %v", ok, err, again.Before)
	}
	third := build(t, looking(4, 15, 2, 4), plan.Options{})
	if ok, err := third.Continue(storedPlan(t, longer)); !ok || err != nil || len(third.Before) != 2 ||
		!slices.Equal(third.Looks, []int{4, 6, 8, 10, 12, 14, 15}) {
		t.Errorf("third: %v, %v, looks %v, before %v", ok, err, third.Looks, third.Before)
	}
	fourth := build(t, looking(4, 20, 2, 4), plan.Options{}) // 15 was planned, so it stays a look
	if ok, err := fourth.Continue(storedPlan(t, third)); !ok || err != nil ||
		!slices.Equal(fourth.Looks, []int{4, 6, 8, 10, 12, 14, 15, 16, 18, 20}) {
		t.Errorf("fourth: %v, %v, looks %v", ok, err, fourth.Looks)
	}
	same := build(t, looking(4, 20, 2, 4), plan.Options{})
	if ok, err := same.Continue(storedPlan(t, fourth)); !ok || err != nil || !slices.Equal(same.Looks, fourth.Looks) {
		t.Errorf("the fourth again: %v, %v, looks %v", ok, err, same.Looks)
	}
}

func TestContinueRefuses(t *testing.T) {
	before := storedPlan(t, build(t, looking(4, 8, 2, 4), plan.Options{}))
	strict := looking(4, 12, 2, 4)
	strict.Gates[0].Strict = true
	for name, cfg := range map[string]*config.Config{"fewer": looking(4, 6, 2, 4), "another first look": looking(6, 12, 2, 4),
		"another gate": strict} {
		if ok, err := build(t, cfg, plan.Options{}).Continue(before); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	once := storedPlan(t, build(t, looking(5, 5, 2, 4), plan.Options{}))
	if ok, err := build(t, looking(5, 9, 2, 4), plan.Options{}).Continue(once); ok || err == nil ||
		!strings.Contains(err.Error(), "has spent all of alpha") {
		t.Errorf("after one judgement: %v, %v", ok, err)
	}
}

// TestContinueKeepsTheSpread: a calibration that is chosen after data were seen has no part in their
// judgement.
func TestContinueKeepsTheSpread(t *testing.T) {
	planned := func(v *plan.Variance) *plan.Plan {
		p := build(t, looking(4, 6, 2, 4), plan.Options{})
		p.Variance = v
		return p
	}
	old, recent := &plan.Variance{Calibration: "old", Within: 1.5}, &plan.Variance{Calibration: "new", Within: 1.1}
	for name, tt := range map[string]struct {
		before, now *plan.Variance
		note        string
	}{
		"none then":   {nil, recent, "the calibration new has no part in the verdict"},
		"none now":    {old, nil, "the spread stays that of the calibration old"},
		"another":     {old, recent, "the spread stays that of the calibration old"},
		"the same":    {old, old, ""},
		"none at all": {nil, nil, ""},
	} {
		before, p := storedPlan(t, planned(tt.before)), planned(tt.now)
		if ok, err := p.Continue(before); !ok || err != nil {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
		if p.Variance != before.Variance {
			t.Errorf("%s: %+v", name, p.Variance)
		}
		if text := strings.Join(p.Warnings, "\n"); tt.note != "" && !strings.Contains(text, tt.note) || tt.note == "" &&
			strings.Contains(text, "calibration") {
			t.Errorf("%s: warnings %q", name, p.Warnings)
		}
	}
}
