package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxText is how much of an answer's text is stored, in bytes.
const maxText = 64 << 10

// SetText stores the text, or the beginning of a long one with a hash of the whole. It cuts between words,
// because the rest of a secret that was cut could not be masked.
func (a *Answer) SetText(text string) {
	a.Sum = ""
	if len(text) > maxText {
		sum := sha256.Sum256([]byte(text))
		a.Sum = hex.EncodeToString(sum[:])
		text = text[:maxText]
		text = text[:max(0, strings.LastIndexAny(text, " \t\r\n"))] + "…"
	}
	a.Text = strings.ToValidUTF8(text, "")
}
