package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// manyNames are too many to compare a misspelt one with, once for each misspelt one.
const manyNames = 1000

// nearest finds the name that a misspelt one most likely meant, "" if none is near. Two
// letters may be wrong (two swapped ones count so), one of a short name, and a third of a
// long one.
func nearest(given string, names []string) string {
	if len(names) > manyNames {
		return ""
	}
	best, least := "", max(3, len(given)/3+1)
	if len(given) < 4 {
		least = 2
	}
	for _, name := range names {
		d := levenshtein.Distance(strings.ToLower(given), strings.ToLower(name), nil)
		if d < least || d == least && best != "" && name < best { // whatever their order
			best, least = name, d
		}
	}
	return best
}

// listedNames is how many names a message lists before it gives up.
const listedNames = 12

// choose ends a message about an unknown name: "Did you mean X?", else what there is.
func choose(given string, names []string, what string) string {
	if name := nearest(given, names); name != "" {
		return fmt.Sprintf("Did you mean %s?", name)
	}
	return offer(names, what)
}

// offer lists the names that there are: "Its arguments are a, b and c."
func offer(names []string, what string) string {
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
	return fmt.Sprintf("The %s are %s.", what, enumerate(names))
}

// enumerate joins words: "a, b and c".
func enumerate(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// counted is a number with its noun: "1 cell", "2 cells".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
