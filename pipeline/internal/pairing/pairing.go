// Package pairing matches the launches of two sides if their pairs were not planned. Results of other load
// generators come as files. Which base was measured beside which head determines how a drift of the machine
// affects a comparison.
//
//	m := pairing.Pair(base, head, false)
//	for _, p := range m.Pairs {
//		fmt.Println(base[p.Base].Name, "beside", head[p.Head].Name, "by", m.Rule)
//	}
//
// It is pure, and depends on neither files nor documents.
package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Launch is one start of a side's server.
type Launch struct {
	Name string    // file name, or value of the parameter that distinguishes launches
	At   time.Time // time of the measurement, zero if unknown
}

// Rule is the criterion by which launches were paired.
type Rule string

// The rules, in the order in which they are tried.
const (
	ByName   Rule = "name"   // equal values of the parameter that distinguishes launches
	ByTime   Rule = "time"   // nearest in time, in order
	ByNumber Rule = "number" // equal numbers in file names
	ByOrder  Rule = "order"  // first with first, ordered by name
)

// Text describes the rule.
func (r Rule) Text() string {
	switch r {
	case ByName:
		return "by their launch"
	case ByTime:
		return "by the time of their measurement"
	case ByNumber:
		return "by the number in their name"
	}
	return "in the order of their names"
}

// Couple is a pair, as indices of the two lists.
type Couple struct{ Base, Head int }

// Match is the result of Pair.
type Match struct {
	Rule Rule
	// Pairs in the order of the base's launches.
	Pairs []Couple
	// AloneBase and AloneHead are the indices of launches without a partner.
	AloneBase, AloneHead []int
	// Problem is why pairing failed, "" if it succeeded.
	Problem string
	// Timed means that the times of all launches are known. Alternated means in addition that the sides took
	// turns, which protects against a drift of the machine.
	Timed, Alternated bool
}

// Pair pairs the launches of two sides. keyed means that the names are values of a parameter that distinguishes
// launches, so equal names belong together.
func Pair(base, head []Launch, keyed bool) Match {
	m := Match{Timed: timed(base) && timed(head)}
	switch {
	case len(base) == 0 || len(head) == 0: // a whole side is missing
	case keyed && shared(names(base), names(head)):
		m.Rule, m.Pairs = ByName, byKey(names(base), names(head))
	case m.Timed:
		m.Rule, m.Pairs = ByTime, byTime(base, head)
	default:
		m.byNames(names(base), names(head))
	}
	slices.SortFunc(m.Pairs, func(a, b Couple) int { return cmp.Compare(a.Base, b.Base) })
	m.alone(len(base), len(head))
	m.Alternated = m.Timed && alternated(base, head, m.Pairs)
	return m
}

func timed(list []Launch) bool {
	return !slices.ContainsFunc(list, func(l Launch) bool { return l.At.IsZero() })
}

func names(list []Launch) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = l.Name
	}
	return out
}

func shared(base, head []string) bool {
	return slices.ContainsFunc(base, func(b string) bool { return slices.Contains(head, b) })
}

// byKey pairs equal keys.
func byKey(base, head []string) []Couple {
	var out []Couple
	for i, key := range base {
		if j := slices.Index(head, key); j >= 0 {
			out = append(out, Couple{i, j})
		}
	}
	return out
}

// byNames pairs by the number in the names, or else by order. It cannot pair lists of unequal length by order.
func (m *Match) byNames(base, head []string) {
	b, okBase := numbers(base)
	h, okHead := numbers(head)
	if okBase && okHead && shared(b, h) {
		m.Rule, m.Pairs = ByNumber, byKey(b, h)
		return
	}
	m.Rule = ByOrder
	if len(base) != len(head) {
		m.Problem = fmt.Sprintf("%d launches of the base and %d of the head cannot be paired: their results have neither times nor numbers "+
			"that both sides share; name what identifies a launch with --launch-by KEY", len(base), len(head))
		return
	}
	first, second := order(base), order(head)
	for i := range first {
		m.Pairs = append(m.Pairs, Couple{first[i], second[i]})
	}
}

// alone collects the launches without a partner.
func (m *Match) alone(base, head int) {
	for i := range base {
		if !slices.ContainsFunc(m.Pairs, func(c Couple) bool { return c.Base == i }) {
			m.AloneBase = append(m.AloneBase, i)
		}
	}
	for i := range head {
		if !slices.ContainsFunc(m.Pairs, func(c Couple) bool { return c.Head == i }) {
			m.AloneHead = append(m.AloneHead, i)
		}
	}
}

// byTime pairs every launch of the shorter side. It minimises the sum of time differences, and no pair crosses
// another.
func byTime(base, head []Launch) []Couple {
	b, h := byClock(base), byClock(head)
	if len(b) > len(h) {
		out := byTime(head, base)
		for i, c := range out {
			out[i] = Couple{c.Head, c.Base}
		}
		return out
	}
	// cost[i][j]: the first i of the shorter side are paired within the first j of the other.
	cost := make([][]float64, len(b)+1)
	for i := range cost {
		cost[i] = make([]float64, len(h)+1)
		for j := range cost[i] {
			switch {
			case i == 0:
			case j < i:
				cost[i][j] = math.Inf(1)
			default:
				cost[i][j] = min(cost[i][j-1], cost[i-1][j-1]+apart(base[b[i-1]], head[h[j-1]]))
			}
		}
	}
	var out []Couple
	for i, j := len(b), len(h); i > 0; j-- {
		if cost[i][j] < cost[i][j-1] || j == i {
			out = append(out, Couple{b[i-1], h[j-1]})
			i--
		}
	}
	return out
}

func apart(a, b Launch) float64 { return math.Abs(a.At.Sub(b.At).Seconds()) }

// byClock returns the indices of launches ordered by time.
func byClock(list []Launch) []int {
	return sorted(len(list), func(a, b int) int { return list[a].At.Compare(list[b].At) })
}

// sorted returns n sorted indices.
func sorted(n int, compare func(a, b int) int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, compare)
	return out
}

// alternated reports whether the paired launches of the sides took turns, such as base, head, base, head or
// base, head, head, base: neither side is ever more than one launch ahead.
func alternated(base, head []Launch, pairs []Couple) bool {
	type start struct {
		at   time.Time
		side int
	}
	var all []start
	for _, c := range pairs {
		all = append(all, start{base[c.Base].At, 1}, start{head[c.Head].At, -1})
	}
	slices.SortStableFunc(all, func(a, b start) int { return a.at.Compare(b.at) })
	ahead := 0
	for _, s := range all {
		if ahead += s.side; ahead > 1 || ahead < -1 {
			return false
		}
	}
	return true
}

// numbers returns, for every name, the only number in which the names differ, without leading zeros. It returns
// false if they differ in more or in nothing.
func numbers(list []string) ([]string, bool) {
	var split [][]string
	for _, name := range list {
		split = append(split, pieces(name))
	}
	varying := -1
	for _, p := range split {
		if len(p) != len(split[0]) {
			return nil, false
		}
		for i := range p {
			if p[i] == split[0][i] {
				continue
			}
			if varying >= 0 && varying != i || !unicode.IsDigit(rune(p[i][0])) || !unicode.IsDigit(rune(split[0][i][0])) {
				return nil, false
			}
			varying = i
		}
	}
	if len(split) == 1 { // for one name, its last number
		for i, p := range split[0] {
			if unicode.IsDigit(rune(p[0])) {
				varying = i
			}
		}
	}
	if varying < 0 {
		return nil, false
	}
	out := make([]string, len(split))
	for i, p := range split {
		if out[i] = cmp.Or(strings.TrimLeft(p[varying], "0"), "0"); slices.Contains(out[:i], out[i]) {
			return nil, false
		}
	}
	return out, true
}

// piece matches a number in a name, or the text between numbers.
var piece = lazyregexp.New(`[0-9]+|[^0-9]+`)

// pieces splits a name into numbers and the text between them.
func pieces(name string) []string { return piece.FindAllString(name, -1) }

// order returns the order of names, with numbers by value: 2 before 10.
func order(list []string) []int {
	return sorted(len(list), func(a, b int) int { return Natural(list[a], list[b]) })
}

// Natural compares names, with numbers by value.
func Natural(a, b string) int {
	x, y := pieces(a), pieces(b)
	for i := range min(len(x), len(y)) {
		p, q := strings.TrimLeft(x[i], "0"), strings.TrimLeft(y[i], "0")
		if unicode.IsDigit(rune(x[i][0])) && unicode.IsDigit(rune(y[i][0])) {
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			continue
		}
		if c := cmp.Compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}
