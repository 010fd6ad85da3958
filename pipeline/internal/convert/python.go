package convert

import (
	"bufio"
	"fmt"
)

// pythonJSON makes valid JSON of Python's: NaN and the infinities become strings. It also limits
// the memory of the parser behind it, because files are untrusted: it cuts strings, collapses white
// space, and rejects deep nesting and long numbers.
type pythonJSON struct {
	r   *bufio.Reader
	lim Limits

	buf []byte // translated
	out []byte // the unread part of buf
	err error  // after out

	part   jsonPart
	word   []byte // a number or literal so far
	length int    // of the string or white space so far
	escape int    // remaining bytes of an escape sequence
	depth  int

	written int64   // bytes translated so far
	ends    []int64 // offsets of line ends after the last requested line
	line    int     // last requested
}

// jsonPart is the part of JSON that a byte belongs to.
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

// fill translates the bytes in the buffer of the reader.
func (p *pythonJSON) fill() {
	p.buf = p.buf[:0]
	if _, p.err = p.r.Peek(1); p.err == nil {
		chunk, _ := p.r.Peek(p.r.Buffered()) // already in the buffer
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

// structure translates a byte between values.
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

// inString translates a byte of a string. It keeps the start of a long string, without a partial
// escape sequence at the end.
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
		p.escape = 5 // at most, for \u00e9
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

// lineAt returns the line of an offset in the translated text. Offsets must not decrease.
func (p *pythonJSON) lineAt(offset int64) int {
	passed := 0
	for passed < len(p.ends) && p.ends[passed] < offset {
		passed++
	}
	p.ends, p.line = append(p.ends[:0], p.ends[passed:]...), p.line+passed
	return p.line
}
