package plan_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// TestSpreadsOfServersThatStayedLoaded: they lack what comes with the time between launches, so that they are
// no spread of launches that come one after the other.
func TestSpreadsOfServersThatStayedLoaded(t *testing.T) {
	for resident, used := range map[string]bool{"": true, steps.ResidentSleep: false} {
		cfg := configOf(4, 2)
		cfg.Settings.Variance = &config.Variance{Within: 1.5}
		p := build(t, cfg, plan.Options{Calibration: func(*config.Variance, []string) (*plan.Calibration, string, error) {
			return &plan.Calibration{ID: "c", Resident: resident, Spread: func(string, string, string, int) (sd, df float64, ok bool) {
				return 0.01,
					10, true
			}}, "", nil
		}})
		if noted := strings.Contains(strings.Join(p.Warnings, "\n"),
			"the calibration c is of servers that stayed loaded"); (p.Variance != nil) != used || noted == used {
			t.Errorf("resident = %q: %+v, %q", resident, p.Variance, p.Warnings)
		}
	}
}
