package target

import (
	"context"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/weights"
	"github.com/servegate/pipeline/reports/result"
)

// readAhead reads the weights of servers before they start; nil where the file does not ask for it, or
// nothing real is loaded.
func (r Resolver) readAhead(parts []place.Part) func(context.Context) result.ReadAhead {
	if !r.Plan.ReadAhead || r.simulated() {
		return nil
	}
	return func(ctx context.Context) result.ReadAhead {
		files, err := r.weights(parts)
		if err != nil {
			return result.ReadAhead{Skipped: err.Error()}
		}
		read, err := weights.Ahead(ctx, files)
		if err != nil {
			read.Skipped = err.Error()
		}
		return read
	}
}

// weights are the files that servers load, each once.
func (r Resolver) weights(parts []place.Part) ([]string, error) {
	var all []string
	seen := map[string]bool{}
	for _, p := range parts {
		if p.Spec.URL != "" {
			continue
		}
		if !r.here(p) {
			return nil, fmt.Errorf("%s runs on another machine", p.Spec.Addr)
		}
		files, err := weights.Find(p.Spec, r.Dir, r.Getenv)
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
	}
	return all, nil
}
