package judge

import (
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// untimed excludes a comparison of times between tokens if the tokens of a run came in one piece. Such a run is not
// void, since the server would do the same again.
func untimed(m metric.Metric, base, head *result.Cell) exclusion {
	if !m.BetweenTokens() {
		return exclusion{}
	}
	var first exclusion
	for _, side := range sides(base, head) {
		for r := range sound(side.cell) {
			if why := inOnePiece(m, r); why != "" {
				first = earliest(first, exclusion{fmt.Sprintf("%s of repeat %d of the %s %s, so no time between them can be compared. See "+
					"what gathers them: the server under load, its streaming interval, or a proxy. metric.e2el.%s is measured nevertheless", m.ID,
					r.Pair(), side.name, why, m.Stat), r.Pair()})
			}
		}
	}
	return first
}

// inOnePiece returns why a run has no valid time between tokens, "" if it has one. If another load generator reports a
// median of 0, the same requests also lower its mean and tail.
func inOnePiece(m metric.Metric, r result.Run) string {
	value, has := r.Metrics[m.ID]
	n, _ := r.Audit[result.OnePiece].(float64)
	median, hasMedian := r.Metrics[m.Group+".p50"]
	switch {
	case !has && n > 0:
		return fmt.Sprintf("is not there: the tokens of %.0f of %d requests came in one piece", n, r.Sent)
	case has && value == 0 && !m.Informational: // the value of a spread may be 0
		return "is 0: its tokens came in one piece"
	case has && hasMedian && median == 0:
		return "is of a run whose median is 0: its tokens came in one piece"
	}
	return ""
}

// leftOut warns of the number of requests that a time between tokens leaves out.
func leftOut(m metric.Metric, base, head *result.Cell) (warnings []string) {
	if !m.BetweenTokens() {
		return nil
	}
	for _, side := range sides(base, head) {
		n, sent := 0.0, 0
		for r := range sound(side.cell) {
			of, _ := r.Audit[result.OnePiece].(float64)
			n, sent = n+of, sent+r.Sent
		}
		if n > 0 {
			warnings = append(warnings, fmt.Sprintf("%.0f of %d requests of the %s are left out: their tokens came in one piece",
				n, sent, side.name))
		}
	}
	return warnings
}

// side is a cell with its name in a comparison.
type side struct {
	name string
	cell *result.Cell
}

func sides(base, head *result.Cell) []side { return []side{{"base", base}, {"head", head}} }
