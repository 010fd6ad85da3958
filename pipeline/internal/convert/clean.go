package convert

import (
	"bufio"
	"html"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"golang.org/x/text/encoding/unicode"
)

// Terminals, pages and mail add these to the text of a line.
var (
	terminal = lazyregexp.New(`\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78])`)
	htmlTag  = lazyregexp.New(`(?i)</?(?:br|pre|code|samp|tt|p|div|span|li|b|strong|em|i|font)(?:\s[^<>]*)?/?>`)
	spaces   = strings.NewReplacer("\u00a0", " ", "\u2007", " ", "\u202f", " ", "\u200b", "", "\u2060", "", "\ufeff", "")
)

// cleanLine removes colours, tags, entities and unusual spaces from a line. Figures stay the same.
func cleanLine(line string) string {
	if strings.IndexByte(line, '\x1b') >= 0 {
		line = terminal.ReplaceAllString(line, "")
	}
	if strings.IndexByte(line, '<') >= 0 {
		line = htmlTag.ReplaceAllString(line, "")
	}
	if strings.IndexByte(line, '&') >= 0 {
		line = html.UnescapeString(line)
	}
	for i := range len(line) {
		if line[i] >= 0x80 {
			return spaces.Replace(line)
		}
	}
	return line
}

// decoded converts UTF-16 with a byte order mark, as Windows shells write it, to UTF-8. Other text
// stays the same.
func decoded(r *bufio.Reader) *bufio.Reader {
	mark, err := r.Peek(2)
	if err != nil || string(mark) != "\xff\xfe" && string(mark) != "\xfe\xff" {
		return r
	}
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	return bufio.NewReaderSize(utf16.NewDecoder().Reader(r), detectBytes)
}
