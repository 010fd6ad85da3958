package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps/enum"
)

// manyNames are too many to list, or to look for a misspelt one among.
const manyNames = 1000

// listedNames is how many names a message lists before it gives up.
const listedNames = 12

// didYouMean ends a message about an unknown name: "Did you mean X?", else what there is.
func didYouMean(given string, names []string, what string) string {
	if name := enum.Nearest(given, names); name != "" {
		return fmt.Sprintf("Did you mean %s?", name)
	}
	return listNames(names, what)
}

// listNames says which names there are: "The arguments are a, b and c."
func listNames(names []string, what string) string {
	if len(names) > manyNames {
		return fmt.Sprintf("There are %d %s.", len(names), what)
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	switch {
	case len(names) == 0:
		return fmt.Sprintf("There are no %s.", what)
	case len(names) == 1:
		return fmt.Sprintf("There is only %s.", names[0])
	case len(names) > listedNames:
		return fmt.Sprintf("The %s are %s, … (%d in all).", what, strings.Join(names[:listedNames], ", "), len(names))
	}
	return fmt.Sprintf("The %s are %s.", what, humanize.List(names))
}
