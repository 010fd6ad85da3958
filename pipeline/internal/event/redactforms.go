package event

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/servegate/pipeline/steps/secret"
)

// forms lists the texts that give a secret away: itself, each of its lines, what is a
// secret within it (the password of an address), and each of these in base64 and
// hexadecimal. How programs escape them is a matter of [view].
func forms(text string) []string {
	parts := append(strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' }), text)
	parts = append(parts, secret.Within(text)...)
	var out []string
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if len(part) < minSecret {
			continue
		}
		out = append(out, part)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, aligned(enc, part)...)
		}
		digits := hex.EncodeToString([]byte(part))
		out = append(out, digits, strings.ToUpper(digits))
	}
	return out
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
