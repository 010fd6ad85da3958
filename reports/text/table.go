package text

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/term"
)

// gap between columns.
const gap = "  "

// minWrapped is how narrow a column that wraps may become; where that makes no table fit, words of up to
// wholeWord columns are not broken for it.
const minWrapped, wholeWord = 12, 24

// table draws t in aligned columns. Columns that may wrap share the width that the others
// leave.
func (p *printer) table(t *model.Table) {
	if len(t.Title) > 0 {
		p.b.WriteString(Line(t.Title, model.MaxCell) + "\n")
	}
	cells := textCells(t)
	header := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		header[i] = Line(model.Plain(c.Title), model.MaxCell)
	}
	icons := iconWidth(t)
	total := width(p.o) - icons
	t, header, cells, left := withoutAsides(t, header, cells, total)
	widths := columnWidths(t, header, cells, total)
	p.row(t, icons > 0, "", "", header, widths)
	for i, r := range t.Rows {
		p.row(t, icons > 0, r.Icon.Symbol(), colors[r.Icon.Class()], cells[i], widths)
	}
	if len(left) > 0 {
		p.b.WriteString("+" + humanize.Count(len(left), "column") + " where there is room: " + strings.Join(left, ", ") + "\n")
	}
	if t.Omitted > 0 {
		p.b.WriteString("+" + humanize.Count(t.Omitted, "more row") + "\n")
	}
}

// withoutAsides leaves columns out that are aside, the last one first, as long as the others do not fit.
func withoutAsides(t *model.Table, header []string, cells [][]string, total int) (*model.Table, []string, [][]string, []string) {
	var left []string
	for i, c := range slices.Backward(t.Columns) {
		if !c.Aside {
			continue
		}
		sum := 0
		for _, w := range columnWidths(t, header, cells, total) {
			sum += w + len(gap)
		}
		if sum-len(gap) <= total {
			break
		}
		left = slices.Insert(left, 0, header[i])
		fewer := *t
		fewer.Columns = slices.Delete(slices.Clone(t.Columns), i, i+1)
		t, header = &fewer, slices.Delete(slices.Clone(header), i, i+1)
		for r := range cells {
			cells[r] = slices.Delete(cells[r], i, i+1)
		}
	}
	return t, header, cells, left
}

func textCells(t *model.Table) [][]string {
	cells := make([][]string, len(t.Rows))
	for i, r := range t.Rows {
		for _, c := range r.Cells {
			cells[i] = append(cells[i], Line(c, model.MaxCell))
		}
	}
	return cells
}

func iconWidth(t *model.Table) int {
	if t.HasIcons() {
		return 2
	}
	return 0
}

// columnWidths gives every column what it needs, if that fits. Otherwise titles give what
// only they need, then the columns that may wrap are narrowed, always the widest first,
// until it fits or none can give any more. Words are broken only where that makes it fit.
func columnWidths(t *model.Table, header []string, cells [][]string, total int) []int {
	n := len(t.Columns)
	widths, title, words, least := make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	narrowest := 0
	for i, c := range t.Columns {
		need, word := 0, longestWord(header[i])
		for _, row := range cells {
			need, word = max(need, term.Width(row[i])), max(word, longestWord(row[i]))
		}
		widths[i] = max(need, term.Width(header[i]))
		title[i] = max(need, longestWord(header[i]))
		words[i], least[i] = title[i], title[i]
		if c.Wrap {
			least[i] = min(title[i], minWrapped)
			words[i] = max(least[i], min(word, wholeWord))
		}
		narrowest += least[i]
	}
	total -= len(gap) * (n - 1)
	narrow(widths, title, total)
	narrow(widths, words, total)
	if narrowest <= total {
		narrow(widths, least, total)
	}
	return widths
}

// narrow takes from the widest that is above its least until the sum is at most total.
func narrow(widths, least []int, total int) {
	sum := 0
	for _, w := range widths {
		sum += w
	}
	for ; sum > total; sum-- {
		widest := -1
		for i := range widths {
			if widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func longestWord(s string) int {
	longest := 0
	for word := range strings.FieldsSeq(s) {
		longest = max(longest, term.Width(word))
	}
	return longest
}

// row draws one row, in several lines where a cell wraps.
func (p *printer) row(t *model.Table, icons bool, symbol, color string, cells []string, widths []int) {
	lines := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		lines[i] = []string{c}
		if term.Width(c) > widths[i] {
			lines[i] = term.Fold(c, widths[i])
		}
		height = max(height, len(lines[i]))
	}
	for h := range height {
		var b strings.Builder
		if icons {
			if h > 0 || symbol == "" {
				b.WriteString("  ")
			} else {
				b.WriteString(p.paint(color, symbol) + " ")
			}
		}
		for i := range cells {
			var text string
			if h < len(lines[i]) {
				text = lines[i][h]
			}
			if i > 0 {
				b.WriteString(gap)
			}
			b.WriteString(pad(text, widths[i], t.Columns[i].Align))
		}
		p.b.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}

func pad(s string, width int, align model.Align) string {
	space := max(0, width-term.Width(s))
	switch align {
	case model.Right:
		return strings.Repeat(" ", space) + s
	case model.Center:
		return strings.Repeat(" ", space/2) + s + strings.Repeat(" ", space-space/2)
	}
	return term.Pad(s, width)
}
