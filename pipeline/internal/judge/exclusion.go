package judge

// exclusion is why a comparison must not be decided, from a repeat on: what an earlier look has
// decided on other repeats stands. From 0 on is all of them.
type exclusion struct {
	reason string
	from   int
}

// earliest is the exclusion that leaves the fewest repeats, the first of several such.
func earliest(all ...exclusion) exclusion {
	var first exclusion
	for _, d := range all {
		if d.reason != "" && (first.reason == "" || d.from < first.from) {
			first = d
		}
	}
	return first
}
