package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// watchMeasures reads the data of the file's measures from servers, routers and exporters. Servers that are watched
// already pass on their metrics.
func (r *runner) watchMeasures(_ context.Context, s *server, w *watch) Watcher {
	programs := r.programs(s, w)
	return Watcher{
		Before: func(ctx context.Context) {
			each(programs, func(p *counted.Program) { p.Look(ctx, w.now, counted.BeforeRun) })
		},
		During: func(ctx context.Context, every time.Duration) {
			each(programs, func(p *counted.Program) { p.Sample(ctx, w.now, every) })
		},
		After: func(ctx context.Context, _ time.Duration) {
			if w.begun() {
				each(programs, func(p *counted.Program) { p.Look(ctx, w.now, counted.AfterRun) })
			}
		},
		Count: func(t *counted.Tally) { t.Read(programs) },
	}
}

// programs returns the programs of a launch, and the exporters, that the file's measures read.
func (r *runner) programs(s *server, w *watch) []*counted.Program {
	ownTime := slices.ContainsFunc(w.views, (*view).keepsHistory)
	var out []*counted.Program
	add := func(m *member, fetch counted.Fetch, source steps.MeasureSource) *counted.Program {
		p := counted.NewProgram(m.label(s.Target), fetch, r.plan.Measures, source)
		if p != nil {
			out = append(out, p)
		}
		return p
	}
	for _, m := range s.members {
		fetch := counted.FetchMetrics(m.endpoint)
		switch {
		case m.isServer():
			i := slices.IndexFunc(w.views, func(v *view) bool { return v.member == m })
			if i < 0 {
				add(m, fetch, steps.MeasureServers)
				continue
			}
			w.views[i].program = add(m, nil, steps.MeasureServers)
		case m.Role == result.RoleRouter:
			if ownTime {
				fetch = func(context.Context) ([]byte, error) { return nil, counted.ErrOwnTime }
			}
			add(m, fetch, steps.MeasureRouter)
		}
	}
	return append(out, counted.Exporters(r.plan.Measures, r.plan.Simulated != "")...)
}

// labels holds the label names of a measure's series at a target.
type labels struct{ target, names string }

// warnLabels warns once if a measure sums series whose labels differ from those of an earlier target, since the
// programs may not count the same.
func (r *runner) warnLabels(target string, programs []*counted.Program) {
	for _, p := range programs {
		for _, of := range p.Labels() {
			id, names := of.Measure.ID(), strings.Join(of.Names, ", ")
			if other, differ := r.labelled(id, target, names); differ && r.first(r.warned, "labels of "+id+target) {
				r.warn(fmt.Sprintf(
					"metric.%s: %s has the labels %s at %s, and %s at %s: all of its series are added up, which is the same only if they divide the same",
					id, of.Measure.Series, cmp.Or(names, "(none)"), p.Label, cmp.Or(other.names, "(none)"), other.target))
			}
		}
	}
}

// labelled records the labels of a measure at a target. It returns the labels of the first target, and whether they
// differ.
func (r *runner) labelled(id, target, names string) (labels, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, seen := r.labels[id]
	if !seen {
		r.labels[id] = labels{target, names}
		return labels{}, false
	}
	return first, first.names != names
}
