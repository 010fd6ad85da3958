package escape

import (
	"strings"
	"unicode/utf8"
)

// CSV is s as a text field that no spreadsheet takes for a formula: an apostrophe stands
// before a leading =, +, - or @ (also their full-width forms). Numbers are not for CSV:
// write them as they are. Quoting is the csv writer's.
func CSV(s string) string {
	s = Text(s, 0)
	if r, _ := utf8.DecodeRuneInString(s); s != "" && strings.ContainsRune("=+-@＝＋－＠", r) {
		return "'" + s
	}
	return s
}
