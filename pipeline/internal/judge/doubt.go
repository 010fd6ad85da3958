package judge

// doubt is why a comparison must not be decided, and the first repeat from which on: what
// an earlier look has decided on other repeats stands. 0 is all of them.
type doubt struct {
	reason string
	from   int
}

// earliest is the doubt that leaves the fewest repeats, the first of several such.
func earliest(doubts ...doubt) doubt {
	var first doubt
	for _, d := range doubts {
		if d.reason != "" && (first.reason == "" || d.from < first.from) {
			first = d
		}
	}
	return first
}
