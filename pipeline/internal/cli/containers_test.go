package cli

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/steps"
)

// TestContainersByPlace: every place states what it does with every argument of a container, and the table has the
// arguments of the language.
func TestContainersByPlace(t *testing.T) {
	a := newApp(System())
	for _, kind := range a.places {
		if len(kind.Containers) == 0 {
			t.Errorf("%s does not state what it does with containers", kind.Name)
		}
		for _, s := range kind.Containers {
			if unstated := s.Unstated(); len(unstated) > 0 || s.Place == "" {
				t.Errorf("%s (%s): %q", s.Place, kind.Name, unstated)
			}
		}
	}
	registry, err := a.kinds()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, arg := range steps.ContainerArgs()[1:] { // without the image
		rows = append(rows, arg.Name)
	}
	seen := 0
	for _, b := range lang.Schema(registry, a.formats.Names(), a.tests, a.arrivals).Blocks {
		for _, inner := range b.Blocks {
			if b.Type != "server" || inner.Type != "container" {
				continue
			}
			seen++
			var args []string
			for _, arg := range inner.Arguments {
				args = append(args, arg.Name)
			}
			if !slices.Equal(args, rows) {
				t.Errorf("%s has %q, the table has %q", b.Kind, args, rows)
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d kinds of servers have a container block", seen)
	}
}
