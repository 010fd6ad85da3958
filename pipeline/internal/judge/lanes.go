package judge

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// LaneRun is a run of a cell in a lane before the first repeat.
type LaneRun struct {
	Lane, Pass int // a pass has one run alone and one beside the others
	Alone      bool
	Cell       string // hash
	Run        result.Run
}

// Lanes judges how much lanes slow each other. In each pass one lane of a target alone is the base, and
// the same beside the others the head; its lanes take turns, and all passes are judged together. A metric passes as
// in a gate whose margin is the limit, so that lanes that slow it by that or more are used in at most alpha of the
// runs. over reports whether further passes would change nothing.
func Lanes(p *plan.Plan, runs []LaneRun) (out *result.Lanes, over bool, err error) {
	out = &result.Lanes{Slowed: []result.Slowed{}}
	for _, l := range p.Lanes.List {
		out.List = append(out.List, result.Lane{Cores: l.Cores, Memory: l.Memory, GPUs: l.GPUs, NICs: l.NICs})
	}
	for _, r := range runs {
		out.Passes = max(out.Passes, r.Pass)
	}
	family := gates.Family{Alpha: p.Alpha}
	var unseen []result.Slowed
	for _, hash := range laneCells(p) {
		_, cell, _ := p.Cell(hash)
		for _, m := range p.LaneMetrics(hash) {
			pairs, lanes := lanePairs(runs, hash, m.ID)
			slowed := result.Slowed{Cell: hash, Label: plan.Label(cell.Values), Metric: m.ID, Limit: m.Limit, Pairs: len(pairs)}
			if len(pairs) == 0 {
				if why, ok := unpaired(runs, hash, m.ID); ok {
					slowed.Verdict, slowed.Reason = result.Missing, "no pass has a run that counts both alone and beside the others"+why
					unseen = append(unseen, slowed)
				}
				continue
			}
			out.Slowed = append(out.Slowed, slowed)
			family.Comparisons = append(family.Comparisons, gates.Comparison{
				ID: hash + " " + m.ID, Gate: "lanes", Metric: m.Metric, Margin: m.Limit, CanFail: true, Pairs: pairs, Planned: p.Lanes.Passes, Blocks: lanes,
			})
		}
	}
	last := out.Passes >= p.Lanes.Passes
	if len(family.Comparisons) == 0 {
		out.Slowed = append(out.Slowed, unseen...)
		return out, last, nil
	}
	progress, err := gates.Sequence{Family: family, Looks: p.Lanes.Looks(), Ended: last}.Judge()
	if err != nil {
		return nil, false, fmt.Errorf("judging lanes: %w", err)
	}
	out.Shown = len(progress.Judgement.Comparisons) > 0 && len(unseen) == 0
	for i, d := range progress.Judgement.Comparisons {
		s := &out.Slowed[i]
		s.Verdict, s.Reason, s.Warnings = result.Verdict(d.Verdict), d.Reason, d.Warnings
		if d.Outcome != nil && d.Outcome.Interval != nil {
			worse, most := d.Difference.Change, d.Outcome.Interval.Upper
			if d.Metric.Direction == metric.HigherIsBetter {
				worse, most = -worse, -d.Outcome.Interval.Lower
			}
			s.Worse, s.Most = &worse, &most
		}
		if d.Verdict != gates.Pass && d.Verdict != gates.Improvement {
			out.Shown = false
		}
		over = over || d.Verdict == gates.Regression
	}
	out.Slowed = append(out.Slowed, unseen...)
	return out, over || progress.Stop && (last || len(unseen) == 0), nil
}

// unpaired reports whether a cell was measured, and has no pair for want of runs that count rather than because it has
// no such metric; and why the last of them does not count.
func unpaired(runs []LaneRun, cell, id string) (why string, is bool) {
	measured, counts, known := false, false, false
	for _, r := range runs {
		if r.Cell != cell {
			continue
		}
		ok := r.Run.Status == result.RunOK
		measured, counts, known = true, counts || ok, known || ok && r.Run.Metrics[id] > 0
		if !ok {
			why = ": " + r.Run.Reason
		}
	}
	return why, measured && (known || !counts)
}

// laneCells are the cells of a check of lanes.
func laneCells(p *plan.Plan) []string {
	var out []string
	for _, launch := range slices.Concat(p.LaneCheck()...) {
		for _, run := range launch.Runs {
			if !slices.Contains(out, run.Cell) {
				out = append(out, run.Cell)
			}
		}
	}
	return out
}

// lanePairs are the passes in which both runs of a cell count, and the lane of each.
func lanePairs(runs []LaneRun, cell, id string) (pairs []gates.Pair, lanes map[int]string) {
	value := func(r LaneRun) (float64, bool) {
		v := r.Run.Metrics[id]
		return v, v > 0 && r.Cell == cell && r.Run.Status == result.RunOK
	}
	lanes = map[int]string{}
	for _, alone := range runs {
		base, ok := value(alone)
		if !ok || !alone.Alone {
			continue
		}
		for _, beside := range runs {
			if head, ok := value(beside); ok && !beside.Alone && beside.Pass == alone.Pass && beside.Lane == alone.Lane {
				pairs = append(pairs, gates.Pair{Repeat: alone.Pass, Base: base, Head: head})
				lanes[alone.Pass] = fmt.Sprintf("lane %d", alone.Lane)
			}
		}
	}
	return pairs, lanes
}
