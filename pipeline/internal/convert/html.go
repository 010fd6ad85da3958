package convert

import (
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

// maxPageTable bounds the text of a table.
const maxPageTable = 1 << 20

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
	below := map[int]spanned{} // cells of rows above, by column
	for i, row := range pageRow.Get().Split(page.text.String(), -1)[1:] {
		var cells []string
		above := func() {
			for below[len(cells)].rows > 0 {
				c := below[len(cells)]
				below[len(cells)] = spanned{c.text, c.rows - 1}
				cells = append(cells, c.text)
			}
		}
		for _, m := range pageCell.FindAllStringSubmatch(row, -1) {
			text := strings.Join(strings.Fields(strings.ReplaceAll(pageTag.ReplaceAllString(m[2], " "), "|", `\|`)), " ")
			n := 1
			if span := pageSpan.FindStringSubmatch(m[1]); span != nil {
				n, _ = strconv.Atoi(span[1])
			}
			above()
			for range max(1, n) {
				if rows := pageRows.FindStringSubmatch(m[1]); rows != nil {
					more, _ := strconv.Atoi(rows[1])
					below[len(cells)] = spanned{text, more - 1}
				}
				cells = append(cells, text)
			}
		}
		above()
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
