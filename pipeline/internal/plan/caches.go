package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
)

// startupID is the metric that depends on what a cache holds.
const startupID = "startup.time"

// sharedCaches warns of start-up times compared between sides that share a cache: the second to start finds
// what the first compiled or fetched.
func (b *builder) sharedCaches(p *Plan) []string {
	var out []string
	for _, g := range p.Gates {
		if !g.paired() || !slices.Contains(g.Metrics, startupID) {
			continue
		}
		for _, c := range g.Comparisons {
			_, base, okBase := p.Cell(c.Base)
			_, head, okHead := p.Cell(c.Head)
			if !okBase || !okHead || base.Target == head.Target {
				continue
			}
			shared := filledForBoth(b.lasting(base.Target), b.lasting(head.Target))
			if len(shared) == 0 {
				continue
			}
			text := fmt.Sprintf("%s: %s and %s share %s: the side that starts first fills it for the other, which starts sooner for that; give "+
				"each side its own, or fill it before and append :ro on both sides",
				g.Addr, base.Target, head.Target, strings.Join(shared, ", "))
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// filledFirst warns that start-up times of launches that fill caches do not count, which reduces the number of
// pairs.
func (b *builder) filledFirst(p *Plan) []string {
	var out []string
	for _, g := range p.Gates {
		if b.filling(p, g) > 0 {
			out = append(out, g.Addr+": the first launch of each side fills the caches that it keeps, and its start-up time does not count: "+
				"startup.time has a pair less on each machine")
		}
	}
	return out
}

// filling returns how many repeats of a gate have no start-up times to compare, because a side fills its caches
// in them: the first on each machine.
func (b *builder) filling(p *Plan, g Gate) int {
	keeps := func(hash string) bool {
		_, cell, ok := p.Cell(hash)
		return ok && slices.ContainsFunc(launched(b.cfg, cell.Target), func(s steps.ServerSpec) bool { return len(s.Caches) > 0 })
	}
	kept := slices.ContainsFunc(g.Comparisons, func(c Comparison) bool { return keeps(c.Base) || keeps(c.Head) })
	if p.Simulated != "" || !g.paired() || !slices.Contains(g.Metrics, startupID) || !kept {
		return 0
	}
	return min(p.places(), p.repeatsOf(g.Benchmark))
}

// filledForBoth returns the places that both targets use and at least one may write to.
func filledForBoth(base, head map[string]bool) []string {
	var out []string
	for place, written := range base {
		if byHead, ok := head[place]; ok && (written || byHead) {
			out = append(out, place)
		}
	}
	slices.Sort(out)
	return out
}

// lasting returns the caches, volumes and folders that outlive the containers of a target, and whether the
// target may write to them.
func (b *builder) lasting(addr string) map[string]bool {
	out := map[string]bool{}
	for _, spec := range launched(b.cfg, addr) {
		for _, c := range spec.Caches {
			out[c.Name()] = true
		}
		if spec.Container == nil {
			continue
		}
		for _, v := range spec.Container.Volumes {
			out["volume "+v.Name] = out["volume "+v.Name] || !v.ReadOnly
		}
		for _, m := range spec.Container.Mounts {
			out[m.Source] = out[m.Source] || !m.ReadOnly
		}
	}
	return out
}

// launched returns the servers of a target.
func launched(cfg *config.Config, addr string) []steps.ServerSpec {
	if s := cfg.ServerAt(addr); s != nil {
		return []steps.ServerSpec{s.Spec}
	}
	var out []steps.ServerSpec
	if d := cfg.DeploymentAt(addr); d != nil {
		for _, m := range d.Spec.Members {
			out = append(out, m.Spec)
		}
	}
	return out
}
