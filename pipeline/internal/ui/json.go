package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/term"
)

// jsonView writes the events themselves.
type jsonView struct{ out sink }

// NewJSON returns a view that writes every event as one line of JSON.
func NewJSON(w io.Writer) View { return &jsonView{out: sink{w: w}} }

func (v *jsonView) Handle(e event.Event) {
	line, err := json.Marshal(e)
	if err != nil {
		if v.out.err == nil {
			v.out.err = fmt.Errorf("encode event %d (%s): %w", e.Seq, e.Type, err)
		}
		return
	}
	v.out.write(ascii(string(line)) + "\n")
}

func (v *jsonView) Close() error {
	if v.out.err != nil {
		return fmt.Errorf("write events: %w", v.out.err)
	}
	return nil
}

// obeyed characters are those that encoding/json leaves as they are.
func obeyed(r rune) bool { return r == 0x7f || term.Hidden(r) }

// ascii writes the characters that a terminal obeys as \u escapes: the JSON stays the
// same, and is harmless to look at. encoding/json does so for those below U+0020.
func ascii(line string) string {
	if !strings.ContainsFunc(line, obeyed) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		switch {
		case !obeyed(r):
			b.WriteRune(r)
		case r > 0xffff: // a surrogate pair
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
