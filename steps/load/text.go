package load

import (
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/servegate/pipeline/steps/jsonscan"
	"github.com/servegate/pipeline/steps/record"
)

// textSum counts and hashes the text of an answer as it arrives, without storing it. The sum depends neither
// on the split into events nor on the escapes.
type textSum struct {
	hash    uint32                // FNV-1a of all bytes
	begin   uint32                // of the first record.BeginBytes
	first   uint32                // of the first record.FirstBytes
	bytes   int                   // of the text
	last    [record.EndBytes]byte // its last bytes, in a ring
	chars   int                   // that are visible
	visible bool                  // a visible character has occurred
	// reasoning is the number of visible characters that are reasoning.
	reasoning int
}

// The constants of FNV-1a with 32 bits.
const (
	fnvOffset = 2166136261
	fnvPrime  = 16777619
)

func newTextSum() textSum { return textSum{hash: fnvOffset, begin: fnvOffset, first: fnvOffset} }

// record returns the sum for the request's record. blank is the number of events before the first
// one with text.
func (t *textSum) record(blank int) *record.Text {
	return &record.Text{Chars: t.chars, Reasoning: t.reasoning, Sum: t.hash, Begin: t.begin, First: t.first, End: t.end(), Blank: blank}
}

// end returns the hash of the last bytes.
func (t *textSum) end() uint32 {
	hash := uint32(fnvOffset)
	for i := max(t.bytes-record.EndBytes, 0); i < t.bytes; i++ {
		hash = (hash ^ uint32(t.last[i%record.EndBytes])) * fnvPrime
	}
	return hash
}

// addChunk adds the text of one event.
func (t *textSum) addChunk(c *chunk) {
	before := t.chars
	t.add(c.reasoning)
	t.reasoning += t.chars - before
	t.add(c.content)
	if c.calls != nil {
		t.addCalls(c.calls)
	}
	t.visible = t.chars > 0
}

// addCalls adds the names and arguments of tool calls. Their IDs are random and left out.
func (t *textSum) addCalls(raw []byte) {
	s := jsonscan.Of(raw)
	if s.Peek() == '{' {
		t.addCall(&s)
		return
	}
	for range s.Array {
		t.addCall(&s)
	}
}

func (t *textSum) addCall(s *jsonscan.Scanner) {
	for name := range s.Object {
		switch string(name) {
		case "function":
			t.addCall(s)
		case "name", "arguments":
			text, _ := s.Text()
			t.add(text)
		default:
			s.Skip()
		}
	}
}

// add adds a raw JSON string without quotes.
func (t *textSum) add(raw []byte) {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\':
			r, n := unescape(raw[i:])
			i += n
			var buf [utf8.UTFMax]byte
			t.rune(r, buf[:utf8.EncodeRune(buf[:], r)])
		case c < utf8.RuneSelf:
			i++
			t.byte(c)
			if c > ' ' {
				t.chars++
			}
		default:
			r, n := utf8.DecodeRune(raw[i:])
			t.rune(r, raw[i:i+n])
			i += n
		}
	}
}

func (t *textSum) byte(c byte) {
	t.hash = (t.hash ^ uint32(c)) * fnvPrime
	t.last[t.bytes%record.EndBytes] = c
	t.bytes++
	if t.bytes <= record.BeginBytes {
		t.begin = t.hash
	}
	if t.bytes <= record.FirstBytes {
		t.first = t.hash
	}
}

func (t *textSum) rune(r rune, b []byte) {
	for _, c := range b {
		t.byte(c)
	}
	if !invisible(r) {
		t.chars++
	}
}

// invisible reports whether a character is not visible: spaces, controls, and what a font draws as nothing.
func invisible(r rune) bool {
	switch {
	case r <= ' ', r >= 0x7f && r <= 0xa0, r == 0xad:
		return true
	case r < 0x34f, r > 0x3164 && r < 0xfe00: // nearly all text
		return false
	case r == 0x2800: // a braille cell without dots
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// escapes maps JSON's short escapes to their characters.
var escapes = map[byte]rune{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// unescape reads the JSON escape at the beginning of b, and returns its length.
func unescape(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return utf8.RuneError, 1
	}
	if b[1] != 'u' {
		if r, short := escapes[b[1]]; short {
			return r, 2
		}
		r, n = utf8.DecodeRune(b[1:]) // a quote, a slash or a backslash
		return r, 1 + n
	}
	r, ok := unit(b)
	if !ok {
		return utf8.RuneError, 2
	}
	if utf16.IsSurrogate(r) {
		low, ok := unit(b[6:])
		if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
			return pair, 12
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// unit reads one \uXXXX.
func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(v), err == nil
}
