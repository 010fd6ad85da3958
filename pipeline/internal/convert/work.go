package convert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// unsaid is the axis value of a result that does not report its own. It is not a repeat of those
// that do.
const unsaid = "not said"

// measuredWork is work that a result shows, whatever its label.
type measuredWork struct {
	key       string
	of        func(*Run) (float64, bool)
	tolerance float64 // a share in which repeats of one cell may differ
	// sameLaunch compares only the results of one launch: between launches the fate of requests may
	// differ, and is an outcome.
	sameLaunch bool
}

var measuredWorks = []measuredWork{
	{key: "requests", of: (*Run).requestsAsked},
	{key: "input_tokens_per_request", of: func(r *Run) (float64, bool) { return r.perRequest("input", r.Counts.InputTokens) }, tolerance: 0.1},
	{key: "output_tokens_per_request", of: func(r *Run) (float64, bool) { return r.perRequest("output", r.Counts.OutputTokens) },
		tolerance: 0.5},
	{key: "completed_requests", of: func(r *Run) (float64, bool) {
		return float64(r.Counts.Succeeded), r.Counts.FailedKnown
	}, tolerance: 0.1, sameLaunch: true},
}

// requestsAsked returns the requests of a result whose tool takes their number. The others measure
// for a time.
func (r *Run) requestsAsked() (float64, bool) {
	if t := r.tool(); r.Tool != "" && (t == nil || !t.Counted) {
		return 0, false
	}
	n := max(r.Counts.Sent, r.Counts.Succeeded)
	return float64(n), n > 0
}

// perRequest returns tokens per successful request.
func (r *Run) perRequest(name string, tokens int64) (float64, bool) {
	if v, ok := r.meanTokens[name]; ok && v > 0 {
		return v, true
	}
	if r.Counts.Succeeded == 0 || tokens == 0 {
		return 0, false
	}
	return float64(tokens) / float64(r.Counts.Succeeded), true
}

// separateByWork finds results with equal parameters whose measured work differs, and makes the
// difference a parameter of all: a result without a label, or with a wrong one, is never averaged
// with others. It returns the names. It looks at each side separately, because the comparison
// reports differences between sides.
func separateByWork(keys []string, launch func(*Run) string, sides [][]*Run) []string {
	var out []string
	for _, w := range measuredWorks {
		if !slices.ContainsFunc(sides, func(runs []*Run) bool { return w.differs(append(slices.Clone(keys), out...), launch, runs) }) {
			continue
		}
		w.assign(slices.Concat(sides...))
		out = append(out, w.key)
	}
	return out
}

// differs reports whether some results of one cell did different work.
func (w measuredWork) differs(keys []string, launch func(*Run) string, runs []*Run) bool {
	first := map[string]float64{}
	for _, r := range runs {
		v, ok := w.of(r)
		if !ok {
			continue
		}
		at := cellHash(valuesOf(r, keys))
		if w.sameLaunch {
			at += " " + launch(r)
		}
		if was, seen := first[at]; seen && apart(was, v, w.tolerance) {
			return true
		} else if !seen {
			first[at] = v
		}
	}
	return false
}

func apart(a, b, tolerance float64) bool {
	return math.Abs(a-b) > tolerance*max(a, b)
}

// assign sets the value of every result, one value for all that are near each other.
func (w measuredWork) assign(runs []*Run) {
	type item struct {
		run *Run
		v   float64
	}
	var items []item
	for _, r := range runs {
		if v, ok := w.of(r); ok {
			items = append(items, item{r, v})
		} else {
			put(&r.work, w.key, unsaid)
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.v, b.v) })
	for i := 0; i < len(items); {
		j := i
		for j < len(items) && !apart(items[i].v, items[j].v, w.tolerance) {
			j++
		}
		value := strconv.FormatFloat(math.Round(items[i+(j-i)/2].v), 'f', -1, 64)
		for ; i < j; i++ {
			put(&items[i].run.work, w.key, value)
		}
	}
}

// differentWork returns the undeclared difference between results of one unit, "" for none: then
// their mean is valid.
func differentWork(runs []*Run) string {
	for _, w := range measuredWorks {
		for _, r := range runs[1:] {
			a, okA := w.of(runs[0])
			b, okB := w.of(r)
			if okA && okB && !w.sameLaunch && apart(a, b, w.tolerance) {
				return fmt.Sprintf("%s: %.6g at %s, %.6g at %s", w.key, a, runs[0].At(), b, r.At())
			}
		}
	}
	return ""
}

// assignAsked sets the measured work that a person named among the keys.
func assignAsked(keys []string, runs []*Run) {
	for _, w := range measuredWorks {
		if slices.Contains(keys, w.key) {
			w.assign(runs)
		}
	}
}
