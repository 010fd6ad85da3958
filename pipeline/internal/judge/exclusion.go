package judge

// exclusion is the reason why a comparison must not be decided, from a repeat on. Decisions of an earlier look on
// earlier repeats stand. from is 0 for all repeats.
type exclusion struct {
	reason string
	from   int
}

// earliest returns the exclusion that leaves the fewest repeats, the first of several such.
func earliest(all ...exclusion) exclusion {
	var first exclusion
	for _, d := range all {
		if d.reason != "" && (first.reason == "" || d.from < first.from) {
			first = d
		}
	}
	return first
}
