package load

import "bytes"

// unrepeated cuts from the events of SGLang's own endpoint the text that earlier events have had: each
// event repeats the whole text so far. A server that was started to send the new text alone gives itself
// away, because its second text does not begin with its first. Texts are raw JSON strings without quotes.
type unrepeated struct {
	form   form
	length int    // of the text so far
	end    []byte // the end of the text so far, at most maxEnd bytes
	again  int    // how often the first text came again while the form was not known
	broken bool   // an event takes back what an earlier one had
}

type form int

const (
	undecided form = iota
	wholeTexts
	newTexts
)

// maxEnd bounds what is kept of a text to recognize it in the next event. The text of a token is shorter.
const maxEnd = 256

// cut returns what text adds to the texts before it. It can share memory with text.
func (u *unrepeated) cut(text []byte) []byte {
	if len(text) == 0 || u.form == newTexts {
		return text
	}
	if u.length == 0 {
		u.take(text)
		return text
	}
	repeats := len(text) >= u.length && bytes.Equal(text[u.length-len(u.end):u.length], u.end)
	switch {
	case repeats && len(text) == u.length: // two equal tokens, or a token without text
		u.again++
		return nil
	case repeats:
		added := text[u.length:]
		u.form = wholeTexts
		u.take(text)
		return added
	case u.form == undecided && (u.again == 0 || u.length == len(u.end)):
		u.form = newTexts
		return append(bytes.Repeat(u.end, u.again), text...)
	}
	u.broken = true
	u.take(text)
	return text
}

// take notes the text so far.
func (u *unrepeated) take(text []byte) {
	u.length = len(text)
	u.end = append(u.end[:0], text[max(0, len(text)-maxEnd):]...)
}
