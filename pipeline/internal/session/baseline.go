package session

import (
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
)

// unusable says which gates have a baseline that could not be judged against when the
// measurements are done: better now than after hours of them.
func unusable(opt Options) []error {
	var found []error
	for _, g := range opt.Plan.Gates {
		var err error
		if g.BaselineKind == result.BaselineFile {
			_, err = baselines(opt.Plan)(g.BaselinePath)
		}
		if err != nil {
			found = append(found, &engine.ConfigError{Addr: g.Addr, Range: g.Range, Err: err})
		}
	}
	return found
}
