package event

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
)

// forms lists how a secret may appear in text: as it is, and as programs write it into
// addresses, JSON, HTML, headers and dumps. Of a secret of several lines each line is one.
func forms(secret string) []string {
	parts := append(strings.FieldsFunc(secret, func(c rune) bool { return c == '\n' || c == '\r' }), secret)
	var out []string
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if len(part) < minSecret {
			continue
		}
		out = append(out, part, html.EscapeString(part), template.HTMLEscapeString(part), template.JSEscapeString(part))
		out = append(out, inAddress(part)...)
		out = append(out, inJSON(part)...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, aligned(enc, part)...)
		}
		digits := hex.EncodeToString([]byte(part))
		out = append(out, digits, strings.ToUpper(digits))
	}
	return out
}

// inAddress lists the forms in a URL: programs differ in what they escape and in the case
// of the digits.
func inAddress(s string) []string {
	var every, reserved strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&every, "%%%02X", s[i])
		if strings.IndexByte(unreserved, s[i]) >= 0 {
			reserved.WriteByte(s[i])
		} else {
			fmt.Fprintf(&reserved, "%%%02X", s[i])
		}
	}
	out := []string{every.String(), reserved.String(), strings.ReplaceAll(reserved.String(), "%2F", "/"), url.QueryEscape(s), url.PathEscape(s)}
	for _, form := range out {
		out = append(out, lowerDigits(form))
	}
	return out
}

// unreserved are the characters that RFC 3986 never escapes.
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// lowerDigits writes the digits of %2F small.
func lowerDigits(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// inJSON lists the forms in a string of JSON or of Go: with HTML's characters escaped or
// not, everything beyond ASCII escaped as Python does it, and slashes escaped as PHP does.
func inJSON(s string) []string {
	var out []string
	for _, quoted := range []string{jsonText(s, true), jsonText(s, false), strconv.Quote(s), strconv.QuoteToASCII(s)} {
		inner := quoted[1 : len(quoted)-1]
		out = append(out, inner, strings.ReplaceAll(inner, "/", `\/`))
	}
	plain := jsonText(s, false)
	var ascii, every strings.Builder
	for _, r := range plain[1 : len(plain)-1] {
		if r < 0x80 {
			ascii.WriteRune(r)
		} else {
			ascii.WriteString(escaped(r))
		}
	}
	for _, r := range s {
		every.WriteString(escaped(r))
	}
	return append(out, ascii.String(), every.String(), upperDigits(ascii.String()), upperDigits(every.String()))
}

// escaped is \u00e4, or two of them for what is beyond 16 bits.
func escaped(r rune) string {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// upperDigits writes the digits of \u00e4 large.
func upperDigits(s string) string {
	b := []byte(s)
	for i := 0; i+5 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if b[i+1] == 'u' {
			copy(b[i+2:i+6], strings.ToUpper(s[i+2:i+6]))
		}
		i++
	}
	return string(b)
}

func jsonText(s string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(s); err != nil {
		return `""` // unreachable: a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// aligned returns the characters of s in base64 that do not depend on what stands before
// or behind it, for each of the three positions that it can have in a group of 3 bytes.
func aligned(enc *base64.Encoding, s string) []string {
	var out []string
	for before := range 3 {
		text := enc.EncodeToString(append(make([]byte, before), s...))
		from := (before*8 + 5) / 6
		to := (before + len(s)) * 8 / 6
		out = append(out, text[from:to])
	}
	return out
}
