package event

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/steps/secret"
	"golang.org/x/text/unicode/norm"
)

// view is a text as a reader finally gets it: without escape sequences and invisible characters,
// with entities, percent signs and backslashes resolved. Whatever a later program strips or
// encodes, a secret is the same in the view of its output. Each byte records the part of the text
// that it represents.
type view struct {
	text     []byte
	from, to []int32
	// open is where an incomplete element at the end of the text begins, the text's length if there
	// is none.
	open int32
	// hold, if not nil, is the start of the text that must be kept to read a byte again.
	hold []int32
	// parts is set if the text between the parts of a match is not part of the secret and stays.
	parts bool
	// erased is set if a backspace erased a character.
	erased bool
}

// spans returns the spans that the bytes [i, j) represent.
func (v *view) spans(i, j int) []span {
	if v.from == nil {
		return []span{{i, j, i}}
	}
	if !v.parts {
		return []span{{int(v.from[i]), int(v.to[j-1]), int(v.from[i])}}
	}
	since := int(v.hold[i])
	out := []span{{int(v.from[i]), int(v.to[i]), since}}
	for i++; i < j; i++ {
		last := &out[len(out)-1]
		if from, to := int(v.from[i]), int(v.to[i]); from-last.to <= 2 {
			last.to = to
		} else {
			out = append(out, span{from, to, since})
		}
	}
	return out
}

// reading is a way to interpret control characters.
type reading struct {
	// bare drops only an escape character, not its sequence. short drops only sequences that begin
	// with a bracket, not strings with their content.
	bare, short bool
	// erase lets a backspace delete the character before it.
	erase bool
	// unquote drops quotes, which shells allow within a word.
	unquote bool
	// joined drops the separators of encoded text.
	joined bool
}

// rounds limits the number of nested encodings, such as JSON in HTML.
const rounds = 4

// plainBytes are the characters that are the same in every view.
var plainBytes = func() (set [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		set[c] = !bytes.ContainsRune([]byte(`&%\+`), c)
	}
	return set
}()

// newView reads a text. If it is not final, it may continue.
func newView(text []byte, how reading, final bool) view {
	v := view{text: text, from: make([]int32, len(text)), to: make([]int32, len(text)), open: int32(len(text))}
	for i := range text {
		v.from[i], v.to[i] = int32(i), int32(i+1)
	}
	v = v.strip(how, final)
	for range rounds {
		next, changed := v.decode(final)
		if !changed && next.open == v.open { // what is open may become a part of an escape before it
			v = next
			break
		}
		v = next.strip(how, final)
	}
	return v.tidy(how)
}

// canonical returns the text of a view.
func canonical(text string, how reading) []byte {
	return newView([]byte(text), how, true).text
}

// empty returns an empty view for the result of processing v.
func (v *view) empty() view {
	n := len(v.text)
	return view{text: make([]byte, 0, n), from: make([]int32, 0, n), to: make([]int32, 0, n), open: v.open, erased: v.erased}
}

// put appends bytes that represent the same as the bytes [i, j) of another view.
func (v *view) put(of *view, i, j int, text ...byte) {
	for _, c := range text {
		v.text = append(v.text, c)
		v.from = append(v.from, of.from[i])
		v.to = append(v.to, of.to[j-1])
	}
}

// strip drops invisible elements: escape sequences, control and format characters, combining marks.
// Letters lose their accents, so that their composition does not matter.
func (v *view) strip(how reading, final bool) view {
	out := v.empty()
	for i := 0; i < len(v.text); {
		n, open := v.stripOne(&out, i, how, final)
		if open {
			out.open = min(out.open, v.from[i])
			break
		}
		i += n
	}
	return out
}

func (v *view) stripOne(out *view, i int, how reading, final bool) (n int, open bool) {
	c := v.text[i]
	switch {
	case c == 0x1b && !how.bare && (!how.short || i+1 >= len(v.text) || v.text[i+1] == '['):
		n, open = escape.SequencePrefix(string(v.text[i:min(len(v.text), i+maxToken)]))
		return max(n, 1), open && !final
	case c == '\b' && how.erase:
		out.drop()
		return 1, false
	case c == '\n': // a sequence does not continue beyond it
		out.put(v, i, i+1, c)
		return 1, false
	case c == '\t':
		out.put(v, i, i+1, ' ')
		return 1, false
	case c < ' ' || c == 0x7f:
		return 1, false
	case c < utf8.RuneSelf:
		out.put(v, i, i+1, c)
		return 1, false
	case !final && !utf8.FullRune(v.text[i:]):
		return 0, true
	}
	r, n := utf8.DecodeRune(v.text[i:])
	switch {
	case unseen(r):
	case unicode.IsSpace(r):
		out.put(v, i, i+n, ' ')
	default:
		for _, r := range norm.NFKD.String(string(r)) {
			if !unseen(r) {
				out.put(v, i, i+n, utf8.AppendRune(nil, r)...)
			}
		}
	}
	return n, false
}

// unseen reports non-ASCII characters that are invisible or represent a control character, and
// combining marks.
func unseen(r rune) bool {
	return r == utf8.RuneError || r >= 0x2400 && r <= 0x2426 || unicode.In(r, unicode.Cc, unicode.Mn, unicode.Me) || escape.Invisible(r)
}

// drop removes the last character.
func (v *view) drop() {
	_, n := utf8.DecodeLastRune(v.text)
	end := len(v.text) - n
	v.text, v.from, v.to, v.erased = v.text[:end], v.from[:end], v.to[:end], true
}

// decode resolves one layer of entities, percent signs and backslashes.
func (v *view) decode(final bool) (out view, changed bool) {
	out = v.empty()
	for i := 0; i < len(v.text); {
		var text []byte
		n, open := 0, false
		switch v.text[i] {
		case '&':
			text, n, open = entity(v.text[i:], final)
		case '%':
			text, n, open = hexByte(v.text[i:], 1)
		case '\\':
			text, n, open = backslash(v.text[i:])
		}
		if open && !final {
			out.open = min(out.open, v.from[i])
			break
		}
		if n == 0 {
			out.put(v, i, i+1, v.text[i])
			i++
			continue
		}
		out.put(v, i, i+n, text...)
		changed = true
		i += n
	}
	return out, changed
}

// maxEntity is above the length of the longest entity name.
const maxEntity = 34

// entity reads &lt;, &#60; and &#x3C;, also without the semicolon, as browsers do. It reports
// whether s ends within one.
func entity(s []byte, final bool) (text []byte, n int, open bool) {
	n = 1
	for n < min(len(s), maxEntity) && (alnum[s[n]] || s[n] == '#' && n == 1) {
		n++
	}
	if n == len(s) && n < maxEntity && !final {
		return nil, 0, true
	}
	if n < len(s) && s[n] == ';' {
		n++
	}
	if got := html.UnescapeString(string(s[:n])); got != string(s[:n]) {
		return []byte(got), n, false
	}
	return nil, 0, false
}

// hexByte reads two digits at a position: %3C, \x3c.
func hexByte(s []byte, at int) (text []byte, n int, open bool) {
	code, open := digits(s, at, 2, 16)
	if code < 0 {
		return nil, 0, open
	}
	return []byte{byte(code)}, at + 2, false
}

// digits reads a number with count digits, -1 if there is none. It reports whether s ends within
// one.
func digits(s []byte, at, count, base int) (code int, open bool) {
	end := min(len(s), at+count)
	for i := at; i < end; i++ {
		if _, err := strconv.ParseUint(string(s[i:i+1]), base, 8); err != nil {
			return -1, false
		}
	}
	if end < at+count {
		return -1, true
	}
	value, err := strconv.ParseUint(string(s[at:end]), base, 32)
	if err != nil {
		return -1, false
	}
	return int(value), false
}

// controls maps letters to their meaning after a backslash.
var controls = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'a': '\a', 'b': '\b', 'e': 0x1b}

// backslash reads the escapes of JSON, JavaScript, Go, Python and shells.
func backslash(s []byte) (text []byte, n int, open bool) {
	if len(s) < 2 {
		return nil, 0, true
	}
	c := s[1]
	switch {
	case c == 'u':
		return unicodeEscape(s)
	case c == 'U':
		code, open := digits(s, 2, 8, 16)
		if code < 0 {
			return nil, 0, open
		}
		return utf8.AppendRune(nil, rune(code)), 10, false
	case c == 'x':
		return hexByte(s, 2)
	case c >= '0' && c <= '7':
		code, open := digits(s, 1, 3, 8)
		if code < 0 || code > 0xff {
			return nil, 0, open
		}
		return []byte{byte(code)}, 4, false
	case controls[c] != 0:
		return []byte{controls[c]}, 2, false
	case c < utf8.RuneSelf && !alnum[c]:
		return []byte{c}, 2, false
	}
	return nil, 0, false
}

// unicodeEscape reads \u00e4, or two of them for characters beyond 16 bits.
func unicodeEscape(s []byte) (text []byte, n int, open bool) {
	code, open := digits(s, 2, 4, 16)
	if code < 0 {
		return nil, 0, open
	}
	if !utf16.IsSurrogate(rune(code)) {
		return utf8.AppendRune(nil, rune(code)), 6, false
	}
	rest := s[6:]
	if len(rest) == 0 || len(rest) == 1 && rest[0] == '\\' {
		return nil, 0, true
	}
	if !bytes.HasPrefix(rest, []byte(`\u`)) {
		return utf8.AppendRune(nil, utf8.RuneError), 6, false
	}
	low, open := digits(rest, 2, 4, 16)
	if open {
		return nil, 0, true
	}
	r := utf16.DecodeRune(rune(code), rune(low))
	if r == utf8.RuneError {
		return utf8.AppendRune(nil, r), 6, false
	}
	return utf8.AppendRune(nil, r), 12, false
}

// tidy reduces each run of spaces to one. A plus sign counts as a space, as in a query.
func (v *view) tidy(how reading) view {
	out := v.empty()
	for i, c := range v.text {
		switch {
		case how.joined:
			if !v.separates(i) {
				out.put(v, i, i+1, c)
			}
			continue
		case how.unquote && bytes.IndexByte([]byte("'\"`\\"), c) >= 0:
			continue
		case c == '+', c == '\n':
			c = ' '
		}
		if c == ' ' && len(out.text) > 0 && out.text[len(out.text)-1] == ' ' {
			out.to[len(out.to)-1] = v.to[i]
			continue
		}
		out.put(v, i, i+1, c)
	}
	return out
}

// forms returns the texts that reveal a secret: itself, each of its lines, secrets within it (the
// password of an address), each also with a space after every character; and each of these encoded.
// Parts that are ordinary are left out. [view] handles escaping.
func forms(text string, ordinary func(string) bool) (plain, encoded []string) {
	parts := append(strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' }), text)
	parts = append(parts, secret.Within(text)...)
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if len(part) < minSecret || ordinary != nil && ordinary(part) {
			continue
		}
		plain = append(plain, part, strings.Join(strings.Split(part, ""), " "))
		plain = append(plain, numbers(part)...)
		encoded = append(encoded, hex.EncodeToString([]byte(part)), swapped(part), swapped(part[1:]))
		for _, enc := range []encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			once := aligned(enc, part, 3, 4)
			encoded = append(encoded, once...)
			for _, text := range once { // a login within a Secret of Kubernetes
				encoded = append(encoded, aligned(base64.RawStdEncoding, text, 3, 4)...)
			}
		}
		for _, enc := range []*base32.Encoding{base32.StdEncoding, base32.HexEncoding} {
			encoded = append(encoded, aligned(enc.WithPadding(base32.NoPadding), part, 5, 8)...)
		}
	}
	return plain, encoded
}

// numbers returns the bytes of a text as programs print a list of them: Go, Python and Rust, and others without spaces.
func numbers(s string) []string {
	list := fmt.Sprintf("%d", []byte(s))
	list = list[1 : len(list)-1]
	return []string{list, strings.ReplaceAll(list, " ", ", "), strings.ReplaceAll(list, " ", ",")}
}

// swapped returns hexadecimal in two-byte words with the second byte first, as hexdump prints by
// default.
func swapped(s string) string {
	var out []byte
	for i := 0; i+1 < len(s); i += 2 {
		out = hex.AppendEncode(out, []byte{s[i+1], s[i]})
	}
	return string(out)
}

type encoding interface{ EncodeToString([]byte) string }

// aligned returns the characters of an encoded s that do not depend on its neighbours, for each
// position in a group of bytes. A group has chars characters.
func aligned(enc encoding, s string, group, chars int) []string {
	var out []string
	for before := range group {
		text := enc.EncodeToString(append(make([]byte, before), s...))
		from := (before*chars + group - 1) / group
		to := (before + len(s)) * chars / group
		out = append(out, text[from:to])
	}
	return out
}
