package convert

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// pageTable is a table of HTML while its lines are read.
type pageTable struct {
	text  strings.Builder
	lines []int // of the rows
}

var (
	pageRow  = lazyregexp.New(`(?i)<tr[\s>]`)
	pageCell = lazyregexp.New(`(?is)<t[hd](\s[^<>]*)?>(.*?)(?:</t[hd]>|$)`)
	pageSpan = lazyregexp.New(`(?i)colspan\s*=\s*["']?(\d{1,2})`)
	pageRows = lazyregexp.New(`(?i)rowspan\s*=\s*["']?(\d{1,3})`)
	pageTag  = lazyregexp.New(`</?[A-Za-z][^<>]*>`)
)

// spanned is a cell that goes on in further rows.
type spanned struct {
	text string
	rows int
}

// maxPageTable bounds the text of a table, and maxPageColumns its columns, which a few spans multiply.
const maxPageTable, maxPageColumns = 1 << 20, 500

// inPage takes the line if it belongs to a table of HTML.
func (t *textReader) inPage(line string) bool {
	if t.page == nil && strings.IndexByte(line, '<') < 0 {
		return false
	}
	lower := strings.ToLower(line)
	if t.page == nil {
		if !strings.Contains(lower, "<table") {
			return false
		}
		t.closeTable()
		t.page = &pageTable{}
	}
	line += " " // the end of a line separates, too: "<tr" may stand before it
	for range pageRow.FindAllString(line, -1) {
		t.page.lines = append(t.page.lines, t.line)
	}
	t.page.text.WriteString(line)
	if strings.Contains(lower, "</table") || t.page.text.Len() > maxPageTable {
		t.closePage()
	}
	return true
}

// closePage reads the table of HTML as markdown.
func (t *textReader) closePage() {
	page, line, before := t.page, t.line, t.before
	t.page = nil
	if page == nil {
		return
	}
	below := goingOn{}
	for i, row := range pageRow.Get().Split(page.text.String(), -1)[1:] {
		cells := below.cells(row)
		if len(cells) > maxPageColumns {
			t.failAt(page.lines[i], fmt.Sprintf("a row of more than %d cells", maxPageColumns))
			break
		}
		if len(cells) == 0 {
			continue
		}
		t.line = page.lines[i]
		t.part("| "+strings.Join(cells, " | ")+" |", true)
		if t.table == nil {
			t.part("|"+strings.Repeat("---|", len(cells)), true)
		}
	}
	t.closeTable()
	t.line, t.before = line, before
}

// goingOn holds the cells of rows above that go on in further rows, by column.
type goingOn map[int]spanned

// cells returns the cells of a row, with those of rows above that go on in it. It stops beyond maxPageColumns.
func (g goingOn) cells(row string) (cells []string) {
	above := func() {
		for g[len(cells)].rows > 0 && len(cells) <= maxPageColumns {
			c := g[len(cells)]
			g[len(cells)] = spanned{c.text, c.rows - 1}
			cells = append(cells, c.text)
		}
	}
	for _, m := range pageCell.FindAllStringSubmatch(row, -1) {
		text := strings.Join(strings.Fields(strings.ReplaceAll(pageTag.ReplaceAllString(m[2], " "), "|", `\|`)), " ")
		columns, _ := spanOf(pageSpan, m[1])
		rows, goesOn := spanOf(pageRows, m[1])
		above()
		for range max(1, columns) {
			if len(cells) > maxPageColumns {
				return cells
			}
			if goesOn {
				g[len(cells)] = spanned{text, rows - 1}
			}
			cells = append(cells, text)
		}
	}
	above()
	return cells
}

// spanOf returns over how many rows or columns a cell goes, false if its attributes do not say.
func spanOf(span *lazyregexp.Regexp, attributes string) (n int, ok bool) {
	m := span.FindStringSubmatch(attributes)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}
