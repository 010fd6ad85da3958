package gates

// correct forms the Holm groups and fills in the adjusted p values for both directions.
func (f Family) correct(l stage, entries []*entry) []Group {
	var names []string // groups in order of appearance; "" is the common one
	members := map[string][]*entry{}
	for _, e := range entries {
		if !e.inFamily {
			e.alone(f.Alpha, l)
			continue
		}
		name := e.group()
		if members[name] == nil && name != "" {
			names = append(names, name)
		}
		members[name] = append(members[name], e)
	}
	if members[""] != nil {
		names = append([]string{""}, names...)
	}

	groups := make([]Group, len(names))
	for i, name := range names {
		groups[i] = Group{Gate: name, Alpha: f.rest()}
		if name != "" {
			groups[i].Alpha = members[name][0].share
		}
		groups[i].Level = l.Level(groups[i].Alpha, len(members[name]))
		groups[i].IDs = adjust(members[name], groups[i], f.Seed)
	}
	return groups
}

// alone gives an entry outside the family its own level, without correction.
func (e *entry) alone(alpha float64, l stage) {
	e.PHolm, e.PBetterHolm = e.P, e.PBetter
	if e.share > 0 {
		alpha = e.share
	}
	e.Level, e.GroupSize = alpha, 1
	if !e.ofSessions() {
		e.Level = l.Level(alpha, 1)
	}
	e.step, e.first = e.Level, e.Level
}

// adjust corrects the p values of one group and returns the members' IDs.
//
// Holm's procedure needs no assumption on the dependence of the p values. Members that are tested
// jointly, as by max-T, are corrected among themselves instead. Each of the two sets then has the
// part of the level that corresponds to its size. In a group that compares launches, LaunchShare of
// the level is reserved for them.
func adjust(members []*entry, g Group, seed uint64) []string {
	ids := make([]string, len(members))
	var joint, rest []*entry
	share := testShare(members)
	for i, e := range members {
		ids[i] = e.ID
		e.Level, e.GroupSize = g.Level, len(members)
		if e.test != nil && e.test.Joint() {
			joint = append(joint, e)
		} else {
			rest = append(rest, e)
		}
	}
	holm(rest, g)
	if len(joint) > 0 {
		joint[0].test.joint(joint, seed)
	}
	for _, block := range [][]*entry{joint, rest} {
		whole := float64(len(members)) / float64(max(len(block), 1)) / share
		open := 0
		for _, e := range block {
			e.PHolm, e.PBetterHolm = min(1, whole*e.PHolm), min(1, whole*e.PBetterHolm)
			if !e.significantlyWorse() {
				open++
			}
		}
		for _, e := range block {
			e.step = g.Level / whole / float64(max(open, 1))
		}
	}
	for _, e := range members {
		e.first = g.Level * share / float64(len(members))
	}
	return ids
}

// testShare returns the part of a group's level for tests of values and requests: all, or what
// LaunchShare leaves. It depends on the plan only.
func testShare(members []*entry) float64 {
	for _, e := range members {
		if e.Requests != nil {
			return 1 - LaunchShare
		}
	}
	return 1
}

// holm fills in Holm's adjusted p values of a block. A rejection at an earlier look stands and
// passes its level on (Y. Ye, A. Li, L. Liu and B. Yao, Statist. Med. 32, 2013). A comparison that
// passed at an earlier look still counts.
func holm(block []*entry, g Group) {
	p, better := make([]float64, len(block)), make([]float64, len(block))
	for i, e := range block {
		p[i], better[i] = e.P, e.PBetter
		if e.ofSessions() { // tested once, so at the overall level
			p[i], better[i] = p[i]*g.Level/g.Alpha, better[i]*g.Level/g.Alpha
		}
		switch e.rejected {
		case Regression:
			p[i] = 0
		case Improvement:
			better[i] = 0
		}
	}
	p, better = holmAdjust(p), holmAdjust(better)
	for i, e := range block {
		e.PHolm, e.PBetterHolm = p[i], better[i]
	}
}
