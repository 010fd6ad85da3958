package convert

import (
	"bufio"
	"fmt"
)

// pythonJSON makes JSON of what Python writes as such: NaN and the infinities become strings.
// It also bounds what a parser behind it has to hold, because a file may come from anywhere:
// strings are cut, white space is folded, and deep nesting and endless numbers are errors.
type pythonJSON struct {
	r   *bufio.Reader
	lim Limits

	buf []byte // translated
	out []byte // the part of buf that is not read yet
	err error  // after out

	part   jsonPart
	word   []byte // a number or a literal, as far as it is read
	length int    // of the string or of the white space, as far as it is read
	escape int    // bytes of an escape sequence that are to come
	depth  int

	written int64   // bytes translated so far
	ends    []int64 // where lines ended, after the last line that was asked for
	line    int     // that was asked for last
}

// jsonPart is what a byte of JSON belongs to.
type jsonPart int

const (
	structure jsonPart = iota
	inString
	inWord
)

// maxWord bounds a number or a literal.
const maxWord = 64

// Read implements io.Reader.
func (p *pythonJSON) Read(b []byte) (int, error) {
	for len(p.out) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		p.fill()
	}
	n := copy(b, p.out)
	p.out = p.out[n:]
	return n, nil
}

// fill translates what the reader holds.
func (p *pythonJSON) fill() {
	p.buf = p.buf[:0]
	if _, p.err = p.r.Peek(1); p.err == nil {
		chunk, _ := p.r.Peek(p.r.Buffered()) // which it holds
		for i := 0; i < len(chunk) && p.err == nil; i++ {
			p.next(chunk[i])
		}
		_, _ = p.r.Discard(len(chunk))
	} else if p.part == inWord {
		p.endWord()
	}
	p.written += int64(len(p.buf))
	p.out = p.buf
}

// next translates a byte.
func (p *pythonJSON) next(c byte) {
	switch p.part {
	case inString:
		p.inString(c)
	case inWord:
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '-' || c == '.' {
			if p.word = append(p.word, c); len(p.word) > maxWord {
				p.err = fmt.Errorf("a number of more than %d digits", maxWord)
			}
			return
		}
		p.endWord()
		p.structure(c)
	default:
		p.structure(c)
	}
}

// structure translates what stands between values.
func (p *pythonJSON) structure(c byte) {
	switch c {
	case '\n', ' ', '\t', '\r':
		if c == '\n' {
			p.ends = append(p.ends, p.written+int64(len(p.buf)))
		}
		if p.length++; p.length > 1 {
			return
		}
	case '"':
		p.part, p.length, p.escape = inString, 0, 0
	case '{', '[':
		if p.depth++; p.depth > p.lim.Depth {
			p.err = fmt.Errorf("nesting deeper than %d: %w", p.lim.Depth, ErrLimit)
		}
		p.length = 0
	case '}', ']', ',', ':':
		if p.length = 0; c == '}' || c == ']' {
			p.depth--
		}
	default:
		p.part, p.word = inWord, append(p.word[:0], c)
		return
	}
	p.buf = append(p.buf, c)
}

// inString translates a string. Of a long one the beginning is kept, without a part of an
// escape sequence at its end.
func (p *pythonJSON) inString(c byte) {
	switch {
	case p.escape > 0:
		if p.escape--; p.escape == 4 && c != 'u' {
			p.escape = 0
		}
	case c == '"':
		p.part, p.length = structure, 0
		p.buf = append(p.buf, c)
		return
	case c == '\\':
		p.escape = 5 // at most, as of \u00e9
		fallthrough
	default:
		p.length++
	}
	if p.length <= p.lim.String {
		p.buf = append(p.buf, c)
	}
}

// endWord writes a number or a literal.
func (p *pythonJSON) endWord() {
	switch string(p.word) {
	case "NaN", "Infinity", "-Infinity":
		p.buf = append(append(append(p.buf, '"'), p.word...), '"')
	default:
		p.buf = append(p.buf, p.word...)
	}
	p.part, p.length = structure, 0
}

// lineAt is the line of an offset in what was translated. Offsets must not decrease.
func (p *pythonJSON) lineAt(offset int64) int {
	passed := 0
	for passed < len(p.ends) && p.ends[passed] < offset {
		passed++
	}
	p.ends, p.line = append(p.ends[:0], p.ends[passed:]...), p.line+passed
	return p.line
}
