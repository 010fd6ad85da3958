package target

import (
	"os"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/reports/result"
)

// caches returns the caches that the servers of a target keep, each once. A simulated run keeps none.
func (r Resolver) caches(parts []place.Part) []engine.Cache {
	var out []engine.Cache
	if r.simulated() {
		return nil
	}
	for _, p := range parts {
		here := r.here(p)
		for _, c := range p.Spec.Caches {
			if slices.ContainsFunc(out, func(o engine.Cache) bool { return o.Name == c.Name() }) {
				continue
			}
			kept := engine.Cache{Name: c.Name(), At: c.Use()}
			if folder := place.FromFolder(c.Folder, r.Plan.Config.Folder); c.Folder != "" && here {
				kept.Make = func() error { return os.MkdirAll(folder, 0o755) } //nolint:gosec // as mkdir makes it
				kept.State = func() (result.CacheState, error) { return cacheState(folder) }
			}
			out = append(out, kept)
		}
	}
	return out
}

// here reports whether a part of a server runs on this machine.
func (r Resolver) here(p place.Part) bool {
	return r.Places.Here([]place.Target{{Processes: []place.Process{{Name: p.Name, Spec: p.Spec, Contained: r.contained(p.Spec)}}}})
}
