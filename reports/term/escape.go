package term

import (
	"strings"
	"unicode/utf8"
)

// Escape returns s with every rune that could move a cursor, change a colour, hide text or reorder
// it replaced by a visible one of the same number of columns: the picture of the control character
// (U+2400…) if there is one, else U+FFFD. Tabs and line ends are replaced too; use EscapeLines to
// keep them.
//
// Bytes that are not UTF-8 become U+FFFD, one for each byte.
func Escape(s string) string {
	return escape(s, false)
}

// EscapeLines is Escape that keeps line feeds and tabs.
func EscapeLines(s string) string {
	return escape(s, true)
}

func escape(s string, layout bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for _, r := range s { // ranging yields U+FFFD for each bad byte
		if layout && (r == '\n' || r == '\t') {
			b.WriteRune(r)
			continue
		}
		b.WriteRune(visible(r))
	}
	return b.String()
}

// plain handles the common case without allocating.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == 0x7f {
			return false
		}
	}
	return true
}

func visible(r rune) rune {
	switch {
	case r < ' ':
		return 0x2400 + r // ␀ to ␟
	case r == 0x7f:
		return '␡'
	case Hidden(r):
		return utf8.RuneError
	}
	return r
}

// Hidden reports the runes above ASCII that a terminal or reader interprets instead of showing: C1
// controls, bidirectional controls ("Trojan Source", CVE-2021-42574), invisible characters, line
// separators and tags.
func Hidden(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f,
		r == 0x00ad, r == 0x061c, r == 0x180e,
		r >= 0x200b && r <= 0x200f,
		r >= 0x2028 && r <= 0x202e,
		r >= 0x2060 && r <= 0x206f,
		r == 0xfeff, r >= 0xfff9 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}
