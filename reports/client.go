package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// client returns the load generator's audit of itself, and the runs that do not count.
func (v *view) client() model.Section {
	s := model.Section{Folded: true}
	s.Notes = slices.Concat(v.runsByReason(result.RunVoid, "voided and not counted"),
		v.runsByReason(result.RunCancelled, "cancelled and not counted"), v.overloaded())
	s.Tables = []model.Table{v.audit()}
	title := "Load generator"
	voids := 0
	v.eachRun(allRuns, func(_ cellAt, r *result.Run) {
		if r.Status == result.RunVoid {
			voids++
		}
	})
	if voids > 0 {
		title += ": " + humanize.Count(voids, "voided run")
	}
	s.Title = model.Plain(title)
	return s
}

// overloaded names the cells whose backlog grew.
func (v *view) overloaded() []model.Line {
	var notes []model.Line
	for _, at := range allCells(v.doc) {
		runs := at.cell.Current()
		n := len(slices.DeleteFunc(slices.Clone(runs), func(r result.Run) bool { return !r.Overloaded }))
		if n > 0 {
			name := cmp.Or(v.valuesName(at.cell.Values), model.ShortAddr(at.benchmark.Addr))
			notes = append(notes, model.Join(" ", model.Code(name), model.Plain(fmt.Sprintf(
				"was overloaded in %d of %s: the backlog grew, so its percentiles depend on how long the run took", n,
				humanize.Count(len(runs), "run")))))
		}
	}
	return notes
}

// audit returns the numbers of the client's audit, each with its median and largest value over all counted runs, and
// the values of each text.
func (v *view) audit() model.Table {
	numbers := map[string][]float64{}
	texts := map[string]map[string]bool{}
	v.eachRun(result.Cell.Current, func(_ cellAt, r *result.Run) {
		if r.Status != result.RunOK {
			return
		}
		for k, x := range r.Audit {
			switch x := x.(type) {
			case float64:
				numbers[k] = append(numbers[k], x)
			case string:
				if texts[k] == nil {
					texts[k] = map[string]bool{}
				}
				texts[k][x] = true
			}
		}
	})
	t := model.Table{Columns: []model.Column{{Title: "audit", Wrap: true}, {Title: "median", Align: model.Right},
		{Title: "largest", Align: model.Right}}}
	for _, k := range slices.Sorted(maps.Keys(numbers)) {
		values := numbers[k]
		slices.Sort(values)
		largest := values[len(values)-1]
		format := humanize.Exact
		if isTime(k) {
			format = humanize.ScaleFor("s", largest).Value
		}
		t.Add(model.Plain(k), model.Plain(format(median(values))), model.Plain(format(largest)))
	}
	for _, k := range slices.Sorted(maps.Keys(texts)) {
		if len(texts[k]) > 3 { // hashes and the like: nothing to read
			continue
		}
		values := strings.Join(slices.Sorted(maps.Keys(texts[k])), ", ")
		t.Add(model.Plain(k), model.Plain(values), model.Plain(""))
	}
	return t
}

// isTime reports whether a number of the audit is in seconds.
func isTime(key string) bool {
	return strings.HasPrefix(key, "lag_") || strings.HasPrefix(key, "gc_pause") ||
		strings.HasPrefix(key, "clock_") || strings.HasSuffix(key, "_s") || strings.HasSuffix(key, "_seconds")
}

// median returns the median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2
}
