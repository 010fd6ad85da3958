package convert

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// convertAiperfAggregate reads aiperf's profile_export_aiperf_aggregate.json: the mean of
// each figure over several profile runs, under TAG_STATISTIC. The runs are on one server,
// one after the other, so together they are one result, and their spread is not that
// between launches.
func convertAiperfAggregate(root *node, r Run) (Run, error) {
	r.Format, r.Tool = FormatAiperf, toolAiperf
	metrics := root.get("metrics")
	var e entryList
	for _, g := range aiperfTimes {
		for _, key := range slices.Sorted(maps.Keys(aiperfStats)) {
			v := metrics.get(g.tag + "_" + key)
			if v == nil {
				continue
			}
			unit := v.get("unit").str()
			if _, ok := timeShift[unit]; !ok {
				return r, &Error{r.Source, v.line, fmt.Errorf("%s_%s has the unit %s, which is not one of time", g.tag, key, clip(unit))}
			}
			e.add(aiperfStats[key]+" "+g.label+" ("+unit+")", v.get("mean"))
		}
	}
	runs, ok := root.get("metadata", "num_successful_runs").number()
	if !ok || runs < 1 || runs != math.Trunc(runs) {
		return r, &Error{r.Source, r.Line, errors.New("metadata.num_successful_runs does not say how many runs the figures are means of")}
	}
	for _, g := range aiperfSums {
		v := metrics.get(g.tag+"_avg", "mean")
		if x, ok := v.number(); ok && g.count { // a count of all runs, so that a failure in one of them is not rounded away
			e.text(g.label, fmt.Sprint(int64(math.Round(x*runs))), v.line)
			continue
		}
		e.add(g.label, v)
	}
	duration := metrics.get("benchmark_duration_avg")
	e.add("duration ("+duration.get("unit").str()+")", duration.get("mean"))
	r.warnf("figures are means over %g profile runs of aiperf on one server: together they are one result", runs)
	if asked, ok := root.get("metadata", "num_profile_runs").number(); ok && asked != runs {
		r.warnf("%g of %g profile runs succeeded", runs, asked)
	}
	r.audit("passes", runs)
	return r, r.fill(e.entries)
}
