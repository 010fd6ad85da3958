package session

import (
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/steps"
)

// unusable says which gates have a baseline that could not be judged against when the
// measurements are done: better now than after hours of them.
func unusable(opt Options) []error {
	var found []error
	for _, g := range opt.Plan.Gates {
		var err error
		switch g.BaselineKind {
		case "file":
			_, err = ReadDocument(g.BaselinePath)
		case "stored":
			err = steps.Unsupported("", fmt.Sprintf("%s is a stored baseline, which cannot be judged against yet; use a paired one or a file", g.Baseline))
		}
		if err != nil {
			found = append(found, &engine.ConfigError{Addr: g.Addr, Range: g.Range, Err: err})
		}
	}
	return found
}
