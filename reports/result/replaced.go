package result

import "slices"

// Pair returns the repeat that a run counts for. Runs of two cells with equal repeats are compared.
func (r Run) Pair() int {
	if r.Replaces > 0 {
		return r.Replaces
	}
	return r.Repeat
}

// Planned returns the planned repeat that a repeat counts for, and whether it measured void runs of
// it again. Such repeats have numbers above those of all planned repeats.
func (d *Document) Planned(repeat int) (planned int, again bool) {
	for i := range d.Benchmarks {
		for _, c := range d.Benchmarks[i].Cells {
			for _, r := range c.Runs {
				if r.Repeat == repeat && r.Replaces > 0 {
					return r.Replaces, true
				}
			}
		}
	}
	return repeat, false
}

// Current returns the runs of a cell without those that were measured again: of all runs that count
// for one repeat, those of the latest repeat, and those that failed, which remain outcomes. So
// there can be several runs for one repeat; at most one of each pass is ok.
//
// The caller must not change the runs: a cell of which nothing was measured again returns its own.
func (c Cell) Current() []Run {
	if !slices.ContainsFunc(c.Runs, func(r Run) bool { return r.Replaces > 0 }) {
		return slices.Clip(c.Runs)
	}
	latest := map[int]int{}
	for _, r := range c.Runs {
		latest[r.Pair()] = max(latest[r.Pair()], r.Repeat)
	}
	var out []Run
	for _, r := range c.Runs {
		if r.Repeat == latest[r.Pair()] || r.Status == RunFailed {
			out = append(out, r)
		}
	}
	return out
}
