package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// objective is one limit of an SLO in the searches of a cell, with its value at the highest load of each launch at
// which all limits held.
type objective struct {
	at     cellAt
	id     string
	metric metric.Metric
	over   result.LoadKind
	limit  float64
	op     result.Operator
	// loads and values are those of the launches; load and value are their means, nil if the limits held at no load.
	loads, values []float64
	load, value   *float64
	// launches counts the searched launches. held counts the launches in which all limits held at some load. broken
	// counts those in which the objective exceeded its limit at the next higher load tried.
	launches, held, broken int
}

// objectives returns the objectives of all searches, by cell and in the order of the SLO.
func (v *view) objectives() []objective {
	var out []objective
	for _, at := range allCells(v.doc) {
		out = append(out, objectivesOf(at)...)
	}
	return out
}

// objectivesOf returns the objectives of the searches of one cell.
func objectivesOf(at cellAt) []objective {
	var out []objective
	find := func(o result.Objective, over result.LoadKind) *objective {
		i := slices.IndexFunc(out, func(f objective) bool { return f.id == o.Metric && f.limit == o.Limit })
		if i < 0 {
			i = len(out)
			out = append(out, objective{at: at, id: o.Metric, metric: describe(nil, o.Metric), over: over, limit: o.Limit,
				op: curves.OperatorOf(o.Metric)})
		}
		return &out[i]
	}
	launches := 0
	for _, r := range at.cell.Current() {
		if r.Search == nil || r.Status != result.RunOK {
			continue
		}
		launches++
		held, next := endsOf(r.Search)
		for _, o := range limitsOf(held) {
			f := find(o, r.Search.Over)
			f.held++
			if o.Value != nil {
				f.loads, f.values = append(f.loads, held.Load), append(f.values, *o.Value)
			}
		}
		for _, o := range limitsOf(next) {
			if f := find(o, r.Search.Over); !o.Held {
				f.broken++
			}
		}
	}
	for i := range out {
		o := &out[i]
		if o.launches = launches; len(o.values) > 0 {
			o.load, o.value = new(center(metric.Metric{}, o.loads)), new(center(o.metric, o.values))
		}
	}
	return out
}

// limitsOf returns the objectives of a probe, none of a missing one.
func limitsOf(p *result.Probe) []result.Objective {
	if p == nil {
		return nil
	}
	return p.Objectives
}

// endsOf returns the highest load that held and the lowest failing load above it, nil for none.
func endsOf(s *result.Search) (held, next *result.Probe) {
	for i := range s.Probes {
		p := &s.Probes[i]
		if p.Void == "" && p.Kind == s.Over && p.Held && (held == nil || p.Load > held.Load) {
			held = p
		}
	}
	for i := range s.Probes {
		p := &s.Probes[i]
		if p.Void == "" && p.Kind == s.Over && !p.Held && (held == nil || p.Load > held.Load) && (next == nil || p.Load < next.Load) {
			next = p
		}
	}
	return held, next
}

// texts formats the load, the value, the limit and the headroom.
func (o objective) texts() (load, value, limit, headroom string) {
	s := humanize.ScaleFor(string(o.metric.Unit), o.limit)
	load, value, headroom = humanize.None, humanize.None, humanize.None
	limit = o.op.Sign() + " " + s.With(humanize.Exact(o.limit*s.Factor))
	if o.value != nil {
		load = humanize.Number(*o.load) + " " + loadUnit(o.over)
		value = s.Value(*o.value)
		headroom = headroomText(s, *o.value, o.limit, o.op)
	}
	return load, value, limit, headroom
}

func loadUnit(k result.LoadKind) string {
	if k == result.LoadConcurrency {
		return "at once"
	}
	return "req/s"
}

// objectiveSection returns the table of the limits of all searches.
func (v *view) objectiveSection() model.Section {
	rows := v.objectives()
	if len(rows) == 0 {
		return model.Section{}
	}
	t := model.Table{Columns: []model.Column{
		{Title: "cell", Wrap: true}, {Title: "limit on", Wrap: true}, {Title: "load", Align: model.Right, Aside: true},
		{Title: "value", Align: model.Right},
		{Title: "limit", Align: model.Right}, {Title: "headroom", Align: model.Right}, {Title: "broken next in", Align: model.Right, Aside: true},
	}}
	for _, o := range rows {
		load, value, limit, headroom := o.texts()
		name := cmp.Or(v.valuesName(o.at.cell.Values), model.ShortAddr(o.at.benchmark.Addr))
		t.Add(model.Code(name), model.Plain(o.metric.Label), model.Plain(load), model.Plain(value), model.Plain(limit), model.Plain(headroom),
			model.Plain(fmt.Sprintf("%d of %s", o.broken, humanize.Count(o.launches, "launch"))))
	}
	return model.Section{
		Title: model.Plain("Limits at the highest load that held (means over launches)"), Tables: []model.Table{t},
		Notes: append(
			[]model.Line{model.Plain(
				"Broken next: beyond the limit at the next higher load that was tried. What is broken most is what the capacity ends at.")},
			slices.Concat(v.heldBehind(), v.missedBelow(), v.untriedBelow())...),
	}
}

// heldBehind names the cells in which most launches fell behind at the highest load that held. No limit covers the
// requests that wait there.
func (v *view) heldBehind() []model.Line {
	var notes []model.Line
	for _, at := range allCells(v.doc) {
		launches, behind := 0, 0
		for _, r := range at.cell.Current() {
			if r.Search == nil || r.Status != result.RunOK {
				continue
			}
			launches++
			if held, _ := endsOf(r.Search); held != nil && held.Overloaded {
				behind++
			}
		}
		if 2*behind > launches {
			name := cmp.Or(v.valuesName(at.cell.Values), model.ShortAddr(at.benchmark.Addr))
			notes = append(notes, model.Join(" ", model.Code(name), model.Plain(fmt.Sprintf(
				"fell behind at the highest load that held in %d of %s: more was asked than it could answer, and the limits do not see it. Limit "+
					"TTFT or E2EL, or send more requests", behind, humanize.Count(launches, "launch")))))
		}
	}
	return notes
}

// missedBelow names the cells whose limits did not hold at a load below their capacity. A search assumes that more load
// is never better, and tries few loads far below the capacity.
func (v *view) missedBelow() []model.Line {
	var notes []model.Line
	for _, at := range allCells(v.doc) {
		launches, missed := 0, 0
		var contrary []result.Probe
		for _, r := range at.cell.Current() {
			if r.Search == nil || r.Status != result.RunOK {
				continue
			}
			launches++
			if found := r.Search.Contrary(); len(found) > 0 {
				missed++
				contrary = append(contrary, found...)
			}
		}
		if missed == 0 {
			continue
		}
		slices.SortFunc(contrary, func(a, b result.Probe) int { return cmp.Compare(a.Load, b.Load) })
		loads := humanize.Number(contrary[0].Load)
		if most := humanize.Number(contrary[len(contrary)-1].Load); most != loads {
			loads += " to " + most
		}
		name := cmp.Or(v.valuesName(at.cell.Values), model.ShortAddr(at.benchmark.Addr))
		notes = append(notes, model.Join(" ", model.Code(name), model.Plain(fmt.Sprintf(
			"missed a limit at %s %s in %d of %s, below loads that held: a search finds one crossing, and there are others. Measure a matrix "+
				"of rates", loads, loadUnit(contrary[0].Kind), missed, humanize.Count(launches, "launch")))))
	}
	return notes
}

// untriedBelow names the widest range of loads below a capacity in which no launch of its cell tried one. It returns nil
// without a search that found a capacity.
func (v *view) untriedBelow() []model.Line {
	var widest untried
	for _, at := range allCells(v.doc) {
		if u := untriedOf(at.cell); u.width() > widest.width() {
			u.name = cmp.Or(v.valuesName(at.cell.Values), model.ShortAddr(at.benchmark.Addr))
			widest = u
		}
	}
	if widest.name == "" {
		return nil
	}
	return []model.Line{model.Join(" ", model.Code(widest.name), model.Plain(fmt.Sprintf(
		"tried no load between %s and %s %s, the widest such range below a capacity. A limit that is missed there alone goes unseen: "+
			"measure a matrix of rates", humanize.Number(widest.from), humanize.Number(widest.to), loadUnit(widest.over))))}
}

// untried is a range of loads of a cell between two that were tried.
type untried struct {
	name     string
	over     result.LoadKind
	from, to float64
}

// width returns the ratio of the ends, 0 without a range.
func (u untried) width() float64 {
	if u.from <= 0 {
		return 0
	}
	return u.to / u.from
}

// untriedOf returns the widest range between neighbouring loads that launches of a cell tried, up to the least capacity of them.
func untriedOf(cell *result.Cell) (widest untried) {
	var loads []float64
	least := math.Inf(1)
	for _, r := range cell.Current() {
		if r.Search == nil || r.Search.Capacity == nil || r.Status != result.RunOK {
			continue
		}
		widest.over, least = r.Search.Over, min(least, *r.Search.Capacity)
		loads = append(loads, r.Search.Min)
		for _, p := range r.Search.Probes {
			if p.Void == "" && p.Kind == r.Search.Over {
				loads = append(loads, p.Load)
			}
		}
	}
	loads = slices.DeleteFunc(loads, func(x float64) bool { return x >= least })
	if len(loads) == 0 {
		return untried{}
	}
	loads = append(loads, least)
	slices.Sort(loads)
	for i, to := range loads[1:] {
		if next := (untried{over: widest.over, from: loads[i], to: to}); next.width() > widest.width() {
			widest = next
		}
	}
	return widest
}
