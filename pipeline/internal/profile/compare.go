package profile

import (
	"cmp"
	"math"
	"slices"

	"github.com/servegate/pipeline/reports/result"
)

// Top is the number of operations in a report.
const Top = 10

// Compare lists the operations whose time per unit of work changed most, the largest change first. baseWork and
// headWork are the work of each side in the profiled time, in tokens or seconds; both are positive.
func Compare(base, head *Summary, baseWork, headWork float64) (rows []result.ProfileRow, operations int) {
	all := map[key]*result.ProfileRow{}
	row := func(o operation) *result.ProfileRow {
		k := key{o.Kind, o.Name}
		if all[k] == nil {
			all[k] = &result.ProfileRow{Kind: o.Kind, Full: o.Name}
		}
		return all[k]
	}
	for _, o := range base.ops {
		r := row(o)
		r.BasePer, r.BaseCalls = o.Time/baseWork, o.Calls/baseWork
	}
	for _, o := range head.ops {
		r := row(o)
		r.HeadPer, r.HeadCalls = o.Time/headWork, o.Calls/headWork
	}
	names := map[string][]string{}
	for k := range all {
		names[k.kind] = append(names[k.kind], k.name)
	}
	short := map[string]map[string]string{}
	for kind, list := range names {
		slices.Sort(list)
		short[kind] = shorten(kind, list)
	}
	for k, r := range all {
		r.Name, r.Change = short[k.kind][k.name], r.HeadPer-r.BasePer
		if r.Full == r.Name {
			r.Full = ""
		}
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b result.ProfileRow) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	operations = len(rows)
	return rows[:min(len(rows), Top)], operations
}
