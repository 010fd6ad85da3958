package forest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/term"
)

// Limits of a drawing as text, in columns.
const (
	leastPlot = 21
	mostPlot  = 61
	mostLabel = 30
)

// Text draws the plot in at most width columns and about rows rows; 0 rows draw all. The rows that it leaves out are
// the last of each group, and counted. Labels and texts are escaped for a terminal.
func (p Plot) Text(width, rows int) []string {
	label, text := 0, 0
	for _, g := range p.Groups {
		for _, r := range g.Rows {
			label, text = max(label, term.Width(clean(r.Label))), max(text, term.Width(clean(r.Text)))
		}
	}
	label, text = min(label, mostLabel), min(text, 14)
	plot := max(leastPlot, min(mostPlot, width-label-text-6))
	plot -= (plot + 1) % 2 // odd, so that zero can be in the middle
	s := p.Scale()
	pad := strings.Repeat(" ", label+4)
	lines := []string{strings.TrimRight(pad+axis(s, plot), " ")}
	each := p.share(rows)
	for i, g := range p.Groups {
		lines = append(lines, clean(g.Name))
		for _, r := range g.Rows[:each[i]] {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %s  %s  %s", sign(r), term.Pad(cut(r.Label, label), label), line(s, r, plot),
				cut(r.Text, text)), " "))
		}
		if more := len(g.Rows) - each[i]; more > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more: %s", more, verdicts(g.Rows[each[i]:])))
		}
	}
	return lines
}

func sign(r Row) string {
	if r.Sign == "" {
		return " "
	}
	return r.Sign
}

func clean(s string) string { return escape.Text(s, 200) }

// cut shortens a text to columns.
func cut(s string, columns int) string { return term.Cut(clean(s), columns) }

// share distributes a number of rows over the groups.
func (p Plot) share(rows int) []int {
	each := make([]int, len(p.Groups))
	for left := rows; left > 0 || rows <= 0; {
		gave := false
		for i, g := range p.Groups {
			if each[i] < len(g.Rows) && (left > 0 || rows <= 0) {
				each[i]++
				left--
				gave = true
			}
		}
		if !gave {
			break
		}
	}
	return each
}

// verdicts counts rows by verdict: "12 passes, 1 improvement".
func verdicts(rows []Row) string {
	var words []string
	count := map[string]int{}
	for _, r := range rows {
		if count[r.Verdict] == 0 {
			words = append(words, r.Verdict)
		}
		count[r.Verdict]++
	}
	for i, w := range words {
		switch w {
		case "pass", "regression", "improvement":
			words[i] = humanize.Count(count[w], w)
		default: // an adjective
			words[i] = fmt.Sprintf("%d %s", count[w], w)
		}
	}
	return strings.Join(words, ", ")
}

// columnOf returns the column of a place.
func columnOf(at float64, width int) int { return int(math.Round(at * float64(width-1))) }

// axis names zero and both ends of the band over their columns.
func axis(s Scale, width int) string {
	row := []rune(strings.Repeat(" ", width+8))
	put := func(at float64, name string) {
		from := max(0, columnOf(at, width)-len([]rune(name))/2)
		if !slices.ContainsFunc(row[max(0, from-1):min(len(row), from+len([]rune(name))+1)], func(r rune) bool { return r != ' ' }) {
			copy(row[from:], []rune(name))
		}
	}
	put(s.At(0), "0")
	put(s.At(1), "margin")
	put(1, "worse →")
	return string(row)
}

// line draws one row: "┊   │ ├─●──┤".
func line(s Scale, r Row, width int) string {
	row := []rune(strings.Repeat(" ", width))
	for _, edge := range []float64{-1, 1} {
		row[columnOf(s.At(edge), width)] = '┊'
	}
	row[columnOf(s.At(0), width)] = '│'
	m, ok := s.Mark(r)
	if !ok {
		return string(row)
	}
	if m.Interval {
		from, to := columnOf(m.From, width), columnOf(m.To, width)
		for i := from; i <= to; i++ {
			row[i] = '─'
		}
		if from < to {
			row[from], row[to] = '├', '┤'
		}
		if m.OpenLower {
			row[from] = '◄'
		}
		if m.OpenUpper {
			row[to] = '►'
		}
	}
	at := columnOf(m.At, width)
	row[at] = map[int]rune{-1: '◄', 0: '●', 1: '►'}[m.Beyond]
	return string(row)
}
