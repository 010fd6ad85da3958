package plan

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/humanize"
)

// Compared names one comparison of a gate: a metric of its head's cell.
type Compared struct{ Gate, Head, Metric string }

// ConfirmPrefix is what the names of launches on the second machine begin with.
const ConfirmPrefix = "confirm-"

// confirmLane is that of the machine which confirms what regresses on the first.
const confirmLane = 1

// confirms reports whether a second machine can confirm what the gates of a plan find, and says why not.
func (b *builder) confirms(p *Plan) bool {
	at := b.cfg.Settings.MachinesRange
	if !slices.ContainsFunc(p.Gates, func(g Gate) bool { return g.paired() && g.CanFail() }) {
		b.fail(at, "confirm needs a gate that compares two sides", "Only what regresses against a base of the same session can be run again, and no gate of the file fails then. Leave confirm out.")
		return false
	}
	for _, g := range b.cfg.Gates {
		if g.SuiteMargin > 0 {
			b.fail(g.Range, "confirm is for comparisons of single cells", fmt.Sprintf("%s has suite_margin, and all its cells would have to be run again. Leave suite_margin out, or confirm.", g.Addr))
			return false
		}
	}
	for _, bm := range b.cfg.Benchmarks {
		if slices.ContainsFunc(bm.Cells, func(c lang.Cell) bool { return handedOver(c.Workload) }) {
			b.fail(bm.Range, "confirm needs benchmarks that are run", fmt.Sprintf("The results of %s come from elsewhere and cannot be run again. Leave confirm out.", bm.Addr))
			return false
		}
	}
	return true
}

// Confirming is the plan that runs both sides of comparisons again on the second machine, with as many repeats
// and looks as on the first and other content, and judges these comparisons alone.
func (p *Plan) Confirming(red []Compared) *Plan {
	out := *p
	out.Gates, out.Benchmarks, out.Repeats, out.Targets = nil, nil, nil, nil
	cells := map[string]bool{}
	for _, g := range p.Gates {
		if g = g.only(red); len(g.Comparisons) > 0 {
			out.Gates = append(out.Gates, g)
		}
		for _, c := range g.Comparisons {
			cells[c.Base], cells[c.Head] = true, true
		}
	}
	for _, bm := range p.Benchmarks {
		bm.Cells = slices.DeleteFunc(slices.Clone(bm.Cells), func(c Cell) bool { return !cells[c.Hash] })
		if len(bm.Cells) > 0 {
			out.Benchmarks = append(out.Benchmarks, bm)
		}
	}
	for _, rep := range p.Repeats {
		if again := p.again(rep, cells); len(again.Launches) > 0 {
			out.Repeats = append(out.Repeats, again)
		}
	}
	for _, t := range p.Targets {
		if slices.ContainsFunc(out.Repeats, func(r Repeat) bool {
			return slices.ContainsFunc(r.Launches, func(l Launch) bool { return l.Target == t.Addr })
		}) {
			out.Targets = append(out.Targets, t)
		}
	}
	out.Steps, out.NotSelected, out.Notes, out.Warnings, out.Sides = nil, nil, nil, nil, nil
	out.Profile, out.Budget, out.Before, out.Red, out.Confirm = nil, nil, nil, nil, nil
	if len(p.Looks) > 1 {
		out.Looks = looks(out.Benchmarks)
	}
	out.FamilySize, out.Estimate = out.familySize(), estimate(&out)
	out.Seal()
	return &out
}

// only is a gate with those of its comparisons alone that regressed.
func (g Gate) only(red []Compared) Gate {
	var kept []Comparison
	for _, c := range g.Comparisons {
		c.Only = nil
		for _, r := range red {
			if r.Gate == g.Addr && r.Head == c.Head {
				c.Only = append(c.Only, r.Metric)
			}
		}
		if len(c.Only) > 0 && c.Base != "" {
			kept = append(kept, c)
		}
	}
	g.Comparisons, g.Power, g.Losses = kept, nil, nil
	return g
}

// again are the launches of a repeat that measure some cells, on the second machine. Their content is that of
// repeats which the first machine has not seen.
func (p *Plan) again(rep Repeat, cells map[string]bool) Repeat {
	out := Repeat{Index: rep.Index, Lane: confirmLane, Beside: rep.Beside}
	for _, l := range rep.Launches {
		again := Launch{ID: ConfirmPrefix + l.ID, Target: l.Target}
		for _, run := range l.Runs {
			if !cells[run.Cell] {
				continue
			}
			bm, cell, _ := p.Cell(run.Cell)
			if of := content(cell, rep.Index); of > 0 {
				run.Seed = runSeed(bm.Seed, len(p.Repeats)+of, passKey(cell.WorkKey, run.Pass))
			}
			again.Runs = append(again.Runs, run)
		}
		if len(again.Runs) > 0 {
			out.Launches = append(out.Launches, again)
		}
	}
	return out
}

// confirmation is what confirming takes at most: where all that gates compare regresses, and no look ends it
// early. nil where nothing is confirmed.
func (p *Plan) confirmation() *Extra {
	if p.Machines == nil || !p.Machines.Confirm {
		return nil
	}
	var all []Compared
	for _, g := range p.Gates {
		for _, c := range g.Comparisons {
			if g.paired() {
				for _, id := range g.Of(c) {
					all = append(all, Compared{g.Addr, c.Head, id})
				}
			}
		}
	}
	e := p.Confirming(all).Estimate
	return &Extra{Launches: e.Launches, Seconds: e.Seconds, MachineHours: e.MachineHours, GPUHours: e.GPUHours}
}

// confirmText is "24 more launches at most on the second machine where a gate regresses, about 30 min; 2.5 GPU-hours".
func (p *Plan) confirmText() string {
	if p.Confirm == nil {
		return ""
	}
	return humanize.Count(p.Confirm.Launches, "more launch") + " at most on the second machine where a gate regresses, " + p.extraText(p.Confirm)
}

// Left is what is left of a budget after a spending, and never nothing, which would bound nothing.
func (b Budget) Left(spent Spending, amount float64) *Budget {
	const least = 1e-9
	left := func(most, of float64) float64 {
		if most == 0 {
			return 0
		}
		return max(most-of, least)
	}
	return &Budget{GPUHours: left(b.GPUHours, spent.GPUHours), Seconds: left(b.Seconds, spent.Seconds), Amount: left(b.Amount, amount)}
}
