package plan

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
)

// resident returns how the launches of a repeat stay loaded at the same time, after checking that they can.
func (b *builder) resident(p *Plan) string {
	how := b.cfg.Settings.Resident
	if how == "" {
		return ""
	}
	if !p.takesTurns() {
		b.fail(b.cfg.Settings.ResidentRange, "no server has a second turn",
			"Servers that stay loaded are measured in turns, a pass at a time, and no benchmark has more than one pass. Write passes = 2 or more "+
				"in its repeat block, or leave resident out.")
	}
	ports := map[int]string{}
	for _, t := range p.Targets {
		if how == steps.ResidentSleep && b.cfg.DeploymentAt(t.Addr) != nil {
			b.fail(b.cfg.DeploymentAt(t.Addr).Range, "a deployment cannot be put to sleep",
				"Its servers would give back memory that the others transfer KV cache to. Write resident = \"loaded\" where the machine has room for "+
					"all, or leave it out.")
		}
		for _, s := range b.cfg.ServersOf(t.Addr) {
			other, taken := ports[s.Spec.Port]
			switch {
			case s.Spec.URL != "" || s.Spec.Port == 0:
			case taken:
				b.fail(s.Range, "two servers at one port",
					fmt.Sprintf("resident keeps it loaded beside %s, which has the port %d as well. Leave port out, so that free ones are taken.",
						other, s.Spec.Port))
			default:
				ports[s.Spec.Port] = s.Addr
			}
		}
	}
	return how
}

// takesTurns reports whether a launch has more than one turn.
func (p *Plan) takesTurns() bool {
	for _, b := range p.Benchmarks {
		if b.Passes > 1 && len(b.Cells) > 0 {
			return true
		}
	}
	return false
}

// residentText describes launches that stay loaded.
func (p *Plan) residentText() string {
	if p.Resident == "" {
		return ""
	}
	text := "the servers of a repeat stay loaded and are measured in turns, a pass at a time"
	if p.Resident == steps.ResidentSleep {
		text += ", asleep in between"
	}
	turns := 0
	for _, r := range p.Repeats {
		for _, l := range r.Launches {
			turns += l.Turns()
		}
	}
	return text + fmt.Sprintf("; %d turns in %d launches; a pair is one of launches", turns, p.Estimate.Launches)
}

// Turns returns how many turns a launch takes if the launches of its repeat stay loaded together.
func (l Launch) Turns() int {
	if len(l.Runs) == 0 {
		return 0
	}
	return l.TurnOf(len(l.Runs) - 1)
}

// TurnOf returns the turn of a run of the launch, from 1. A turn begins where the pass number changes: with each
// pass, and with the evaluations after several passes.
func (l Launch) TurnOf(run int) int {
	turn := 1
	for i := 1; i <= run; i++ {
		if max(l.Runs[i].Pass, 1) != max(l.Runs[i-1].Pass, 1) {
			turn++
		}
	}
	return turn
}
