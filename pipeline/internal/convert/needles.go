package convert

import (
	"regexp/syntax"
	"strings"
)

// needles are texts of which every match of a regular expression contains one. Searching for them
// first is much faster than the expression, because almost no line of a log matches. All are searched
// for in one pass over the line.
type needles struct {
	texts []string
	// pairs has a bit for the first two bytes of each text.
	pairs [1 << 16 / 64]uint64
}

// newNeedles returns needles of texts of at least two bytes, nil if one is shorter or there is none.
func newNeedles(texts ...string) *needles {
	if len(texts) == 0 {
		return nil
	}
	n := &needles{texts: texts}
	for _, text := range texts {
		if len(text) < 2 {
			return nil
		}
		pair := uint16(text[0])<<8 | uint16(text[1])
		n.pairs[pair/64] |= 1 << (pair % 64)
	}
	return n
}

// needlesOf returns the needles of expressions, nil if one of them has none.
func needlesOf(patterns ...string) *needles {
	var all []string
	for _, pattern := range patterns {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return nil
		}
		own := textsIn(re.Simplify())
		if own == nil {
			return nil
		}
		all = append(all, own...)
	}
	return newNeedles(all...)
}

// textsIn returns texts of which every match of an expression contains one, nil if there are none.
func textsIn(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return textsIn(re.Sub[0])
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			own := textsIn(sub)
			if own == nil {
				return nil
			}
			all = append(all, own...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if own := textsIn(sub); shortest(own) > shortest(best) {
				best = own
			}
		}
		return best
	}
	return nil
}

// shortest returns the length of the shortest text, 0 for none.
func shortest(texts []string) int {
	least := 0
	for i, text := range texts {
		if i == 0 || len(text) < least {
			least = len(text)
		}
	}
	return least
}

// in reports whether a line can match. Without needles every line can.
func (n *needles) in(line string) bool {
	if n == nil {
		return true
	}
	for i := range len(line) - 1 {
		pair := uint16(line[i])<<8 | uint16(line[i+1])
		if n.pairs[pair/64]>>(pair%64)&1 == 0 {
			continue
		}
		for _, text := range n.texts {
			if strings.HasPrefix(line[i:], text) {
				return true
			}
		}
	}
	return false
}
