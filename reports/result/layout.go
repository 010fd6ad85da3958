package result

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// layout breaks JSON without white space into lines, for people and for diff. Members and elements
// have a line each; a whole run has one, and so has a short, flat object. A fully indented document
// would be twice as large.
type layout struct {
	w    *bufio.Writer
	open []container
	// inLine counts the open containers of a run.
	inLine int
	// held is the start of the innermost container while it may still fit on a line. cuts are the
	// places where it is broken if it does not.
	held []byte
	cuts []int
	// word is the last string, as far as it can be a name. name is the name of the member whose
	// value follows.
	word            []byte
	name            string
	quoted, escaped bool
}

// container is an object or array, with the name of the member that holds it.
type container struct {
	array bool
	name  string
}

// flatWidth is the largest length of a container on one line that contains no other.
const flatWidth = 100

func newLayout(w io.Writer) *layout { return &layout{w: bufio.NewWriterSize(w, 64<<10)} }

// Write implements io.Writer.
func (l *layout) Write(text []byte) (int, error) {
	for _, c := range text {
		if err := l.add(c); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// close writes the rest and the end of the last line.
func (l *layout) close() error {
	if err := l.w.WriteByte('\n'); err != nil {
		return err
	}
	return l.w.Flush()
}

func (l *layout) add(c byte) error {
	switch {
	case l.quoted:
		l.inString(c)
		return l.put(c)
	case c == '"':
		l.quoted, l.word = true, l.word[:0]
		return l.put(c)
	case c == '{' || c == '[':
		return l.begin(c)
	case c == '}' || c == ']':
		return l.end(c)
	case c == ':':
		l.name = string(l.word)
		return errors.Join(l.put(c), l.put(' '))
	case c == ',':
		return l.separate()
	}
	return l.put(c)
}

func (l *layout) inString(c byte) {
	switch {
	case l.escaped:
		l.escaped = false
	case c == '\\':
		l.escaped = true
	case c == '"':
		l.quoted = false
		return
	}
	if len(l.word) < len("runs")+1 {
		l.word = append(l.word, c)
	}
}

// begin opens a container. The enclosing one is broken into lines, unless it is a run.
func (l *layout) begin(c byte) error {
	if err := l.breakHeld(); err != nil {
		return err
	}
	if top := len(l.open) - 1; l.inLine > 0 || top >= 0 && l.open[top].array && l.open[top].name == "runs" {
		l.inLine++
		return l.put(c)
	}
	l.open, l.name = append(l.open, container{c == '[', l.name}), ""
	l.held, l.cuts = append(l.held, c), append(l.cuts, 1)
	return nil
}

func (l *layout) end(c byte) error {
	if l.inLine > 0 {
		l.inLine--
		return l.put(c)
	}
	flat := len(l.held) > 0
	l.open = l.open[:len(l.open)-1]
	if flat {
		l.held = append(l.held, c)
		_, err := l.w.Write(l.held)
		l.held, l.cuts = l.held[:0], l.cuts[:0]
		return err
	}
	if err := l.newLine(); err != nil {
		return err
	}
	return l.w.WriteByte(c)
}

func (l *layout) separate() error {
	l.name = ""
	switch {
	case l.inLine > 0:
		return errors.Join(l.put(','), l.put(' '))
	case len(l.held) > 0:
		l.held = append(l.held, ',', ' ')
		l.cuts = append(l.cuts, len(l.held))
		return nil
	}
	if err := l.w.WriteByte(','); err != nil {
		return err
	}
	return l.newLine()
}

// put writes a byte, or holds it back.
func (l *layout) put(c byte) error {
	if len(l.held) == 0 {
		return l.w.WriteByte(c)
	}
	if l.held = append(l.held, c); len(l.held) > flatWidth {
		return l.breakHeld()
	}
	return nil
}

// breakHeld writes the held text, in lines.
func (l *layout) breakHeld() error {
	from := 0
	for _, cut := range l.cuts {
		if _, err := l.w.Write(bytes.TrimSuffix(l.held[from:cut], []byte(" "))); err != nil {
			return err
		}
		if err := l.newLine(); err != nil {
			return err
		}
		from = cut
	}
	_, err := l.w.Write(l.held[from:])
	l.held, l.cuts = l.held[:0], l.cuts[:0]
	return err
}

// newLine starts a line inside the open containers.
func (l *layout) newLine() error {
	if err := l.w.WriteByte('\n'); err != nil {
		return err
	}
	for range l.open {
		if _, err := l.w.WriteString("  "); err != nil {
			return err
		}
	}
	return nil
}
