package verdict

import (
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// CheckBaselines finds the gates whose baseline file could not be judged against when the
// measurements are done: better now than after hours of them.
func CheckBaselines(p *plan.Plan) []error {
	var found []error
	for _, g := range p.Gates {
		if g.BaselineKind != result.BaselineFile {
			continue
		}
		if _, err := baselines(p)(g.BaselinePath); err != nil {
			found = append(found, &engine.ConfigError{Addr: g.Addr, Range: g.Range, Err: err})
		}
	}
	return found
}
