package result

// Pair is the repeat that a run counts for: runs of two cells are compared where theirs
// are equal.
func (r Run) Pair() int {
	if r.Replaces > 0 {
		return r.Replaces
	}
	return r.Repeat
}

// Current returns the runs of a cell without those that were measured again: of all runs
// that count for one repeat, those of the latest repeat, and those that failed, which
// remain outcomes whatever came later. So there can be several for one repeat; at most
// one of each pass is ok.
func (c Cell) Current() []Run {
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
