package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// shortage returns why a comparison has fewer pairs than it should, "" if it has all. Reasons are launches without a
// partner, runs without a value, or answers of which too little is compared.
func shortage(doc *result.Document, benchmark string, m metric.Metric, base, head *result.Cell) string {
	if why := withoutPartner(doc, benchmark, base, head); why != "" {
		return why
	}
	if why := withoutValue(m, base, head, filling(doc, m, base, head)); why != "" {
		return why
	}
	return partedAnswers(doc, benchmark, m, base, head)
}

// filling returns the repeats in which a launch of either side filled its caches. Their start-up times are left out by
// design, however long they took.
func filling(doc *result.Document, m metric.Metric, base, head *result.Cell) map[int]bool {
	out := map[int]bool{}
	if m.ID != startupTime {
		return out
	}
	for _, l := range doc.Launches {
		for _, cell := range []*result.Cell{base, head} {
			for r := range sound(cell) {
				if l.Filling && r.Launch == l.ID {
					out[r.Pair()] = true
				}
			}
		}
	}
	return out
}

// startupTime is the metric that depends on caches.
const startupTime = "startup.time"

// filled returns a note on the start-up times that were left out.
func filled(doc *result.Document, m metric.Metric, base, head *result.Cell) []string {
	repeats := slices.Sorted(maps.Keys(filling(doc, m, base, head)))
	if len(repeats) == 0 {
		return nil
	}
	names := make([]string, len(repeats))
	for i, n := range repeats {
		names[i] = fmt.Sprint(n)
	}
	return []string{fmt.Sprintf("start-up times of repeat %s are left out, in which caches were filled or brought up to date", firstOf(names))}
}

// applyShortage takes back a verdict in favour of the head that rests on too few pairs, since the missing ones may have
// been worse. A regression stands.
func applyShortage(d *result.Decision, why string) {
	switch {
	case why == "":
	case d.Verdict == result.Pass || d.Verdict == result.Improvement || d.Verdict == result.Inconclusive:
		d.Verdict, d.Reason = result.Missing, why
	default:
		d.Warnings = append(d.Warnings, why)
	}
}

// withoutPartner names the launches of imported results that have no partner.
func withoutPartner(doc *result.Document, benchmark string, base, head *result.Cell) string {
	if !slices.ContainsFunc(doc.Pairings, func(p result.Pairing) bool { return p.Benchmark == benchmark }) {
		return ""
	}
	onlyBase, all := unmatched(doc, base, head)
	onlyHead, other := unmatched(doc, head, base)
	if len(onlyBase)+len(onlyHead) == 0 || all == 0 || other == 0 {
		return "" // a side that is missing as a whole is reported elsewhere
	}
	var parts []string
	for _, s := range []struct {
		side  string
		names []string
		of    int
	}{{"base", onlyBase, all}, {"head", onlyHead, other}} {
		if len(s.names) > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d launches of the %s have no partner (%s)", len(s.names), s.of, s.side, firstOf(s.names)))
		}
	}
	return strings.Join(parts, ", and ") + ": leave them out, or hand over the others"
}

// unmatched returns the names of the cell's launches whose number the other cell lacks, and the number of all launches.
func unmatched(doc *result.Document, cell, other *result.Cell) (names []string, all int) {
	seen := map[int]bool{}
	for _, r := range cell.Current() {
		if seen[r.Pair()] {
			continue
		}
		seen[r.Pair()] = true
		if !slices.ContainsFunc(other.Current(), func(o result.Run) bool { return o.Pair() == r.Pair() }) {
			names = append(names, launchName(doc, r))
		}
	}
	return names, len(seen)
}

func launchName(doc *result.Document, r result.Run) string {
	for _, l := range doc.Launches {
		if l.ID == r.Launch && l.Name != "" {
			return l.Name
		}
	}
	return fmt.Sprintf("repeat %d", r.Pair())
}

// firstOf joins the first of some names.
func firstOf(names []string) string {
	const most = 6
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// withoutValue returns which sound repeats of both sides lack a value of a metric that other repeats have, "" if none
// does. Their pairs would drop out unnoticed. Repeats in meant are expected to have no value and do not count.
func withoutValue(m metric.Metric, base, head *result.Cell, meant map[int]bool) string {
	b, h := repeatsOf(base, m.ID), repeatsOf(head, m.ID)
	var without []string
	measured := false
	for _, repeat := range slices.Sorted(maps.Keys(h)) {
		inBase, both := b[repeat]
		if !both || meant[repeat] {
			continue
		}
		measured = measured || inBase && h[repeat]
		if !inBase {
			without = append(without, fmt.Sprintf("repeat %d of the base", repeat))
		}
		if !h[repeat] {
			without = append(without, fmt.Sprintf("repeat %d of the head", repeat))
		}
	}
	if len(without) == 0 || !measured {
		return ""
	}
	return fmt.Sprintf("%s has no value, or one of 0 that stands for none, in %s: the pairs that are left allow no pass",
		m.ID, firstOf(without))
}

// repeatsOf returns the repeats with a sound run of a cell, and whether one of these runs has a value of a metric.
func repeatsOf(cell *result.Cell, id string) map[int]bool {
	out := map[int]bool{}
	for r := range sound(cell) {
		_, has := r.Metrics[id]
		out[r.Pair()] = out[r.Pair()] || has
	}
	return out
}

// unpairable excludes a comparison if it is unknown which launches of imported results belong together.
func unpairable(doc *result.Document, benchmark, headValue string, base, head *result.Cell) exclusion {
	for _, p := range doc.Pairings {
		if p.Benchmark == benchmark && slices.Contains(axesOf(base, head), p.Axis) && p.Head == headValue && p.Problem != "" {
			return exclusion{reason: p.Problem}
		}
	}
	return exclusion{}
}
