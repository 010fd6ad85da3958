package interchange

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// Check says what a comparison of two documents must not hide: figures that are not
// compared because their definitions differ, and cells in which the two sides did not do
// the same work. The sides are called by the names that the comparison gives them. It is
// empty when there is nothing to say.
func Check(a, b *result.Document, nameA, nameB string) []string {
	other := map[string]*result.Cell{}
	for i := range b.Benchmarks {
		for j := range b.Benchmarks[i].Cells {
			c := &b.Benchmarks[i].Cells[j]
			other[cellHash(c.Values)] = c
		}
	}
	var notes []string
	add := func(format string, args ...any) {
		if n := fmt.Sprintf(format, args...); !slices.Contains(notes, n) {
			notes = append(notes, n)
		}
	}
	checkSettings(a, b, nameA, nameB, add)
	for i := range a.Benchmarks {
		for j := range a.Benchmarks[i].Cells {
			x := &a.Benchmarks[i].Cells[j]
			y := other[cellHash(x.Values)]
			if y == nil {
				continue
			}
			checkDefinitions(x, y, nameA, nameB, add)
			checkTools(x, y, add)
			checkWork(x, y, nameA, nameB, add)
		}
	}
	return notes
}

// likeKeys are the parameters that a comparison wants alike on both sides, or meant.
var likeKeys = []string{"model", "tokenizer", "dataset_name", "ignore_eos", "temperature", "burstiness", "endpoint_type", "seed"}

// checkSettings names what the sides were given differently, of what all results of a side
// share.
func checkSettings(a, b *result.Document, nameA, nameB string, add func(string, ...any)) {
	if len(a.Targets) != 1 || len(b.Targets) != 1 {
		return
	}
	for _, key := range likeKeys {
		x, y := a.Targets[0].Describe[key], b.Targets[0].Describe[key]
		if x != "" && y != "" && x != y {
			add("%s is %s in %s and %s in %s", key, clip(x), nameA, clip(y), nameB)
		}
	}
}

// checkDefinitions finds quantities that both cells have, under different definitions.
func checkDefinitions(x, y *result.Cell, nameA, nameB string, add func(string, ...any)) {
	ours, theirs := quantities(x), quantities(y)
	for _, quantity := range slices.Sorted(maps.Keys(ours)) {
		a, b := ours[quantity], theirs[quantity]
		if b == nil || slices.ContainsFunc(a, func(g string) bool { return slices.Contains(b, g) }) {
			continue
		}
		add("%s is not compared: %s has %s (%s), %s has %s (%s)", quantity, nameA, a[0], meaning(a[0]), nameB, b[0], meaning(b[0]))
	}
}

// checkTools tells what to keep in mind where two tools measured by nearly one definition.
func checkTools(x, y *result.Cell, add func(string, ...any)) {
	a, b := toolOf(x), toolOf(y)
	if a == b {
		return
	}
	for _, tool := range []string{a, b} {
		for _, group := range slices.Sorted(maps.Keys(nearly[tool])) {
			if hasGroup(x, group) && hasGroup(y, group) {
				add("%s is of two tools: %s", group, nearly[tool][group])
			}
		}
	}
}

// toolOf is the tool that measured a cell, "" if that is not known.
func toolOf(c *result.Cell) string {
	for _, r := range c.Runs {
		if tool, ok := r.Audit["tool"].(string); ok {
			return tool
		}
	}
	return ""
}

func hasGroup(c *result.Cell, group string) bool {
	for id := range c.Summary {
		if g, _, _ := strings.Cut(id, "."); g == group {
			return true
		}
	}
	return false
}

// quantities are the groups of a cell by what people call them, whatever the definition.
func quantities(c *result.Cell) map[string][]string {
	out := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(c.Summary)) {
		group, _, _ := strings.Cut(id, ".")
		quantity := quantityOf(group)
		if !slices.Contains(out[quantity], group) {
			out[quantity] = append(out[quantity], group)
		}
	}
	return out
}

func quantityOf(group string) string {
	if group == "itl_token" {
		return "itl"
	}
	for _, groups := range unlike {
		for quantity, u := range groups {
			if u.group == group {
				return quantity
			}
		}
	}
	return group
}

func meaning(group string) string {
	for _, groups := range unlike {
		for _, u := range groups {
			if u.group == group {
				return u.why
			}
		}
	}
	return strings.TrimPrefix(describeForeign("", group, "value"), "value of the ")
}

// checkWork compares what both sides were given to do, and what came of it.
func checkWork(x, y *result.Cell, nameA, nameB string, add func(string, ...any)) {
	a, b := workOf(x), workOf(y)
	for _, w := range []struct {
		what string
		a, b float64
	}{
		{"requests", a.sent, b.sent}, {"input tokens", a.input, b.input}, {"output tokens", a.output, b.output},
	} {
		if w.a > 0 && w.b > 0 && w.a != w.b {
			add("the work differs%s: %s had %.6g %s per run, %s %.6g (%+.2f %%)", place(x.Values), nameA, w.a, w.what, nameB, w.b, 100*(w.b/w.a-1))
		}
	}
}

// place says where in a table a cell is, nothing where it is the only one.
func place(values []result.AxisValue) string {
	if len(values) == 0 {
		return ""
	}
	return " at " + name(values)
}

type amount struct{ sent, input, output float64 }

// workOf is the mean work of a run of a cell; a unit of several passes counts as many.
func workOf(c *result.Cell) amount {
	var w amount
	n := 0.0
	for _, r := range c.Runs {
		w.sent += float64(r.Sent)
		in, _ := r.Audit["input_tokens"].(float64)
		out, _ := r.Audit["output_tokens"].(float64)
		w.input += in
		w.output += out
		passes, ok := r.Audit["passes"].(float64)
		if !ok || passes < 1 {
			passes = 1
		}
		n += passes
	}
	if n == 0 {
		return amount{}
	}
	return amount{w.sent / n, w.input / n, w.output / n}
}

// Selector names results of a file: "night.log?h3=RDMA&qps=2" are those of night.log with
// both parameters, and in "night.log?h3=*RDMA*" stars stand for any text. So two sides can
// be in one file.
type Selector struct {
	Path  string
	Where map[string]string
}

// ParseSelector reads a selector; without a question mark it is the whole file. Values are
// as in the query of a URL, where + and %20 are spaces.
func ParseSelector(s string) (Selector, error) {
	path, query, ok := strings.Cut(s, "?")
	sel := Selector{Path: path}
	if !ok {
		return sel, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return sel, fmt.Errorf("%s: what follows the question mark is not key=value: %w", clip(s), err)
	}
	sel.Where = map[string]string{}
	for key, v := range values {
		if len(v) != 1 || v[0] == "" {
			return sel, fmt.Errorf("%s: %s needs one value", clip(s), clip(key))
		}
		sel.Where[key] = v[0]
	}
	return sel, nil
}

// Names says whether the selector chooses by a parameter.
func (s Selector) Names(key string) bool {
	for name := range s.Where {
		if canonicalKey(name) == canonicalKey(key) {
			return true
		}
	}
	return false
}

// Select keeps the runs that have the parameters of the selector. It is an error when none
// has.
func (s Selector) Select(runs []Run) ([]Run, error) {
	var out []Run
	for i := range runs {
		matches := true
		for key, want := range s.Where {
			got, ok := runs[i].Param(key)
			matches = matches && ok && (got == canonicalValue(want) || like(got, want))
		}
		if matches {
			out = append(out, runs[i])
		}
	}
	if len(out) > 0 || len(runs) == 0 {
		return out, nil
	}
	return nil, fmt.Errorf("%s: %w with %s: look at the parameters with import", s.Path, ErrNoResult, conditions(s.Where))
}

// like reports that a value has the parts between the stars of a pattern, in their order.
func like(value, pattern string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 || !strings.HasPrefix(value, parts[0]) || !strings.HasSuffix(value, parts[last]) || len(value) < len(parts[0])+len(parts[last]) {
		return false
	}
	value = value[len(parts[0]) : len(value)-len(parts[last])]
	for _, part := range parts[1:last] {
		_, rest, ok := strings.Cut(value, part)
		if !ok {
			return false
		}
		value = rest
	}
	return true
}

func conditions(where map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(where)) {
		parts = append(parts, clip(key)+" = "+clip(where[key]))
	}
	return strings.Join(parts, " and ")
}
