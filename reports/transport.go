package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// transports states how the KV cache of each deployment was transferred, as observed during its runs.
func (v *view) transports() model.Section {
	byTarget := map[string]*transported{}
	var all transported
	v.eachRun(allRuns, func(c cellAt, r *result.Run) {
		if r.Transport == nil {
			return
		}
		t := byTarget[c.cell.Target]
		if t == nil {
			t = &transported{reasons: map[string]int{}}
			byTarget[c.cell.Target] = t
		}
		t.add(r.Transport)
		all.runs++
		if r.Transport.Status == result.TransportProved {
			all.proved++
		}
	})
	s := model.Section{Title: model.Plain(fmt.Sprintf("KV transfer: proved in %d of %s", all.proved,
		humanize.Count(all.runs, "run")))}
	s.Folded = all.proved == all.runs
	table := model.Table{Columns: []model.Column{
		{Title: "target", Wrap: true}, {Title: "declared"}, {Title: "runs", Align: model.Right}, {Title: "proved", Align: model.Right},
		{Title: "contradicted", Align: model.Right}, {Title: "unproven", Align: model.Right}, {Title: "what was seen", Wrap: true},
	}}
	for _, target := range v.doc.Targets {
		if t := byTarget[target.Addr]; t != nil {
			table.Rows = append(table.Rows, t.row(target.Addr))
		}
	}
	s.Tables = []model.Table{table}
	return s
}

// transported sums the proofs of one target's runs.
type transported struct {
	intent                               string
	runs, proved, contradicted, unproven int
	reasons                              map[string]int
	worst                                string // reason of a run without proof
}

func (t *transported) add(p *result.Transport) {
	t.intent = p.Intent
	t.runs++
	t.reasons[p.Reason]++
	switch p.Status {
	case result.TransportProved:
		t.proved++
	case result.TransportContradicted:
		t.contradicted++
		t.worst = p.Reason
	default:
		t.unproven++
		t.worst = cmp.Or(t.worst, p.Reason)
	}
}

func (t *transported) row(addr string) model.Row {
	return model.Row{Cells: []model.Line{
		model.Code(addr), model.Plain(cmp.Or(t.intent, humanize.None)), model.Plain(fmt.Sprint(t.runs)), model.Plain(fmt.Sprint(t.proved)),
		model.Plain(fmt.Sprint(t.contradicted)), model.Plain(fmt.Sprint(t.unproven)), model.Plain(cmp.Or(t.worst, t.usual())),
	}}
}

// usual returns the reason of most runs.
func (t *transported) usual() string {
	return slices.SortedFunc(maps.Keys(t.reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.reasons[b], t.reasons[a]), cmp.Compare(a, b))
	})[0]
}
