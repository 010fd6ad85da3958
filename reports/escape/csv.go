package escape

import (
	"strings"
	"unicode/utf8"
)

// CSV returns s as a text field that a spreadsheet does not interpret as a formula: it puts an
// apostrophe before a leading =, +, - or @ (also their full-width forms). Write numbers without it.
// The csv writer does the quoting.
func CSV(s string) string {
	s = Text(s, 0)
	if r, _ := utf8.DecodeRuneInString(s); s != "" && strings.ContainsRune("=+-@＝＋－＠", r) {
		return "'" + s
	}
	return s
}
