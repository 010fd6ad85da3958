package plan

import (
	"cmp"
	"slices"

	"github.com/servegate/pipeline/gates"
)

// Bases returns the targets with which paired gates compare a target.
func (p *Plan) Bases(target string) []string {
	var bases []string
	for _, g := range p.Gates {
		for _, s := range p.sides(g) {
			if s.head == target && !slices.Contains(bases, s.base) {
				bases = append(bases, s.base)
			}
		}
	}
	return bases
}

// sides are the targets of a paired comparison.
type sides struct{ base, head string }

// sides returns the pairs of targets of a gate, each once.
func (p *Plan) sides(g Gate) []sides {
	var out []sides
	if !g.paired() {
		return nil
	}
	for _, c := range g.Comparisons {
		_, base, ok := p.Cell(c.Base)
		_, head, ok2 := p.Cell(c.Head)
		if s := (sides{base.Target, head.Target}); ok && ok2 && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// LaunchLevel returns the strictest level at which launches of two targets are compared: the share of launches
// in a group's level, divided by the number of pairs of targets in the group.
func (p *Plan) LaunchLevel() float64 {
	groups := map[string][]sides{}
	level := map[string]float64{}
	for _, g := range p.Gates {
		name, alpha := g.group(), p.share(g)
		if !g.CanFail() {
			name, alpha = "alone "+g.Addr, cmp.Or(g.Alpha, p.Alpha)
		}
		for _, s := range p.sides(g) {
			if !slices.Contains(groups[name], s) {
				groups[name] = append(groups[name], s)
			}
			level[name] = gates.LaunchShare * alpha / float64(len(groups[name]))
		}
	}
	strictest := gates.LaunchShare * p.Alpha
	for _, l := range level {
		strictest = min(strictest, l)
	}
	return strictest
}
