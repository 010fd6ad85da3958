package convert

import (
	"fmt"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// TestNotesDefineBothGroups expects both definitions in a note, whether or not the results name the statistic.
func TestNotesDefineBothGroups(t *testing.T) {
	registry := map[string]string{}
	for _, g := range metric.Groups() {
		registry[g.Name] = g.Definition
	}
	for _, g := range metric.Foreign() {
		plain, ok := registry[g.Quantity]
		if !ok {
			plain = "as the tool prints it"
		}
		want := []string{fmt.Sprintf("%[1]s is not compared: A has %[1]s (%[2]s), B has %[3]s (%[4]s)", g.Quantity, plain, g.Name, g.Definition)}
		for _, stat := range []string{"mean", unstated} {
			var notes []string
			checkDefinitions(cellOf(g.Quantity, stat), cellOf(g.Name, stat), "A", "B", func(format string, args ...any) {
				notes = append(notes, fmt.Sprintf(format, args...))
			})
			if !slices.Equal(notes, want) {
				t.Errorf("%s: notes %q, want %q", stat, notes, want)
			}
		}
	}
}

// cellOf returns a cell with one figure.
func cellOf(group, stat string) *result.Cell {
	return &result.Cell{Summary: map[string]float64{group + "." + stat: 1}}
}
