package load

import "bytes"

// unrepeated removes text that earlier events of SGLang's endpoint have had: each event repeats the whole
// text so far. If the second text does not begin with the first, the server was started to send only the new
// text. Texts are raw JSON strings without quotes.
type unrepeated struct {
	form   form
	length int    // of the text so far
	end    []byte // the end of the text so far, at most maxEnd bytes
	again  int    // how often the first text repeated while the form was unknown
	broken bool   // an event contradicts an earlier one
}

type form int

const (
	undecided form = iota
	wholeTexts
	newTexts
)

// maxEnd limits the part of a text that is stored to recognize it in the next event, in bytes. The text of a
// token is shorter.
const maxEnd = 256

// cut returns the text that an event adds to the texts before it. It can share memory with text.
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

// take stores the text so far.
func (u *unrepeated) take(text []byte) {
	u.length = len(text)
	u.end = append(u.end[:0], text[max(0, len(text)-maxEnd):]...)
}
