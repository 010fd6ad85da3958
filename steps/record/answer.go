package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxText bounds what is kept of an answer's text, in bytes.
const maxText = 64 << 10

// SetText keeps the beginning of what was answered, and a hash of the whole where that is not all.
// It is cut between words: the rest of a secret that the cut went through could not be masked.
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
