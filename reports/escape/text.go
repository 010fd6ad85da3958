package escape

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ellipsis marks text that was cut.
const Ellipsis = "…"

// Text reduces s to one line that a terminal shows unchanged: it removes ANSI escape sequences,
// turns runs of white space into one space, and removes or replaces by U+FFFD control characters,
// invalid bytes and characters that reorder or hide text (bidirectional and other format
// characters). It keeps at most limit runes, the last one an ellipsis if it was cut; limit <= 0
// means no limit.
func Text(s string, limit int) string {
	return cut(oneLine(s, limit), limit)
}

// Line is Text for a line of a log: it keeps white space within it as spaces.
func Line(s string, limit int) string {
	var b strings.Builder
	for n := 0; s != "" && (limit <= 0 || n <= limit); {
		r, size := next(s)
		s = s[size:]
		shown := string(r)
		switch {
		case r == dropped:
			continue
		case r == '\t':
			shown = "    "
		case unicode.IsSpace(r):
			shown = " "
		}
		b.WriteString(shown)
		n += utf8.RuneCountInString(shown)
	}
	return cut(strings.TrimRight(b.String(), " "), limit)
}

// dropped represents a sequence that is left out.
const dropped rune = -1

// oneLine cleans s and stops a little after limit runes, so that a huge text costs little.
func oneLine(s string, limit int) string {
	var b strings.Builder
	n, space := 0, false
	for s != "" && (limit <= 0 || n <= limit) {
		r, size := next(s)
		s = s[size:]
		switch {
		case r == dropped:
			continue
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// next returns the first character of s as it may be shown, and the number of bytes that it
// represents.
func next(s string) (r rune, size int) {
	if s != "" && s[0] >= ' ' && s[0] <= '~' { // most are
		return rune(s[0]), 1
	}
	if n := Sequence(s); n > 0 {
		return dropped, n
	}
	r, size = utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size <= 1:
		return utf8.RuneError, size
	case unicode.IsSpace(r): // includes \n, \r, \t, U+0085, U+2028 and U+2029
		return r, size
	case unicode.Is(unicode.Cc, r):
		return utf8.RuneError, size
	case Invisible(r):
		return dropped, size
	}
	return r, size
}

// Invisible reports characters that change what is seen around them without being seen: format
// characters (bidirectional controls, zero-width joiners, tags), variation selectors, fillers,
// private use and noncharacters.
func Invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Noncharacter_Code_Point)
}

// maxSequence limits the length of an escape sequence, so that a reader of a stream knows how much
// may still belong to one.
const maxSequence = 4096

// Sequence returns the length of the ANSI escape sequence at the beginning of s, 0 if there is
// none. Sequences that introduce a string (OSC, DCS, …) reach to their terminator. If it is missing
// on the line or within 4,096 bytes, only the first two bytes count, so that the sequence cannot
// hide the rest.
func Sequence(s string) int {
	n, _ := SequencePrefix(s)
	return n
}

// SequencePrefix is Sequence for a text that continues beyond s. open reports whether the sequence
// may be longer than n, because s ends within it.
func SequencePrefix(s string) (n int, open bool) {
	if s == "" || s[0] != 0x1b {
		return 0, false
	}
	if len(s) < 2 {
		return 0, true
	}
	cut := len(s) < maxSequence
	s = s[:min(len(s), maxSequence)]
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1, false
			}
			if s[i] < 0x20 || s[i] > 0x3f {
				return 2, false
			}
		}
		return 2, cut
	case ']', 'P', 'X', '^', '_':
		return stringSequence(s, cut)
	}
	return 2, false
}

// stringSequence returns the length of a sequence that contains a string.
func stringSequence(s string, cut bool) (n int, open bool) {
	line, _, ended := strings.Cut(s, "\n")
	if end := strings.IndexByte(line, '\a'); end > 0 {
		return end + 1, false
	}
	if end := strings.Index(line, "\x1b\\"); end > 0 {
		return end + 2, false
	}
	return 2, cut && !ended
}

// cut keeps at most limit runes of s.
func cut(s string, limit int) string {
	if limit <= 0 || utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)[:limit-1]
	return strings.TrimRight(string(runes), " ") + Ellipsis
}
