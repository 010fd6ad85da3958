package convert

import (
	"regexp/syntax"
	"strings"
)

// needles are texts of which every match of a regular expression contains one. Searching for them
// first is much faster than the expression, because almost no line of a log matches.
type needles []string

// needlesOf returns the needles of an expression, nil if it has none.
func needlesOf(pattern string) needles {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return needlesIn(re.Simplify())
}

func needlesIn(re *syntax.Regexp) needles {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return needles{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needlesIn(re.Sub[0])
	case syntax.OpAlternate:
		var all needles
		for _, sub := range re.Sub {
			own := needlesIn(sub)
			if own == nil {
				return nil
			}
			all = append(all, own...)
		}
		return all
	case syntax.OpConcat:
		var best needles
		for _, sub := range re.Sub {
			if own := needlesIn(sub); own.shortest() > best.shortest() {
				best = own
			}
		}
		return best
	}
	return nil
}

// shortest returns the length of the shortest needle, 0 for none.
func (n needles) shortest() int {
	least := 0
	for i, text := range n {
		if i == 0 || len(text) < least {
			least = len(text)
		}
	}
	return least
}

// in reports whether a line can match.
func (n needles) in(line string) bool {
	for _, text := range n {
		if strings.Contains(line, text) {
			return true
		}
	}
	return n == nil
}
