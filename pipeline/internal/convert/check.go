package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

// Check returns notes for a comparison of two documents: figures that are not compared because
// their definitions differ, and cells whose sides did different work or ran on different hardware
// or software. The sides have the names of the comparison, and declared lists the intended
// differences.
func (t Tools) Check(a, b *result.Document, nameA, nameB string, declared comparability.Declared) []string {
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
	var cells differingCells
	for i := range a.Benchmarks {
		for j := range a.Benchmarks[i].Cells {
			x := &a.Benchmarks[i].Cells[j]
			y := other[cellHash(x.Values)]
			if y == nil {
				continue
			}
			cells.add(x.Values, comparability.CompareCells(a, b, x, y, declared), nameA, nameB)
			checkDefinitions(x, y, nameA, nameB, add)
			t.checkTools(x, y, add)
		}
	}
	return append(cells.notes(nameA, nameB), notes...)
}

// differingCells collects the differences between the cells of two documents.
type differingCells struct {
	all        int
	texts      []string
	places     map[string][]string // by text
	unreported []string
}

func (u *differingCells) add(values []result.AxisValue, found comparability.Differences, nameA, nameB string) {
	u.all++
	for _, d := range found.Invalid() {
		text := comparability.Differences{d}.Text(nameA, nameB)
		if u.places == nil {
			u.places = map[string][]string{}
		}
		if !slices.Contains(u.texts, text) {
			u.texts = append(u.texts, text)
		}
		u.places[text] = append(u.places[text], place(values))
	}
	for _, label := range found.Unreported().Labels() {
		if !slices.Contains(u.unreported, label) {
			u.unreported = append(u.unreported, label)
		}
	}
}

// notes returns one note for each difference, with its cells unless all have it, and one for facts
// that a side does not report.
func (u *differingCells) notes(nameA, nameB string) []string {
	const most = 8
	var out []string
	for _, text := range u.texts {
		where := ""
		if at := u.places[text]; len(at) < u.all {
			where = at[0]
			if n := len(at) - 1; n > 0 {
				where += fmt.Sprintf(" and %d more", n)
			}
		}
		out = append(out, fmt.Sprintf("not like for like%s: %s", where, text))
	}
	if n := len(u.unreported); n > 0 {
		out = append(out, fmt.Sprintf("not compared, since %s or %s does not report it: %s", nameA, nameB,
			strings.Join(u.unreported[:min(n, most)], ", ")))
	}
	return out
}

// checkDefinitions notes quantities that both cells have, but under different definitions.
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

// checkTools notes the differences between two tools with almost the same definition.
func (t Tools) checkTools(x, y *result.Cell, add func(string, ...any)) {
	a, b := toolOf(x), toolOf(y)
	if a == b {
		return
	}
	for _, name := range []string{a, b} {
		tool := t.named(name)
		if tool == nil {
			continue
		}
		for _, group := range slices.Sorted(maps.Keys(tool.Approximates)) {
			if hasGroup(x, group) && hasGroup(y, group) {
				add("%s is of two tools: %s", group, tool.Approximates[group])
			}
		}
	}
}

// toolOf returns the tool that measured a cell, "" if unknown.
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

// quantities returns the groups of a cell by common name, whatever their definition.
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

// place returns the position of a cell in a table, "" if it is the only one.
func place(values []result.AxisValue) string {
	if len(values) == 0 {
		return ""
	}
	return " at " + name(values)
}
