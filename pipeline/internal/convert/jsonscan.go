package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON as Python writes it, value by value and without holding more than
// one: NaN, Infinity and -Infinity are numbers, and one value may follow another. The
// caller walks the structure, so that arrays of a million requests need no tree.
type scanner struct {
	r      *bufio.Reader
	source string
	line   int
	lim    Limits
	depth  int
	values int // read since the last reset
	buf    [maxWord]byte
}

// maxWord bounds a number or a literal.
const maxWord = 64

func newScanner(r *bufio.Reader, source string, lim Limits) *scanner {
	return &scanner{r: r, source: source, line: 1, lim: lim}
}

func (s *scanner) errorf(format string, args ...any) error {
	return &Error{Source: s.source, Line: s.line, Err: fmt.Errorf(format, args...)}
}

// next returns the next byte, io.ErrUnexpectedEOF at the end.
func (s *scanner) next() (byte, error) {
	c, err := s.r.ReadByte()
	if errors.Is(err, io.EOF) {
		return 0, s.errorf("the file ends in the middle of a value: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return 0, s.errorf("%w", err)
	}
	if c == '\n' {
		s.line++
	}
	return c, nil
}

// peek skips white space and returns the next byte without taking it; io.EOF at the end.
func (s *scanner) peek() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case '\n':
			s.line++
		case ' ', '\t', '\r':
		default:
			return c, s.r.UnreadByte()
		}
	}
}

// must is peek inside a value.
func (s *scanner) must() (byte, error) {
	c, err := s.peek()
	if err != nil {
		return 0, s.errorf("the file ends in the middle of a value: %w", io.ErrUnexpectedEOF)
	}
	return c, nil
}

func (s *scanner) expect(want byte) error {
	c, err := s.must()
	if err != nil {
		return err
	}
	if c != want {
		return s.errorf("%q where %q should be", c, want)
	}
	_, err = s.next()
	return err
}

// list walks the members between two brackets; member reads one.
func (s *scanner) list(opening, closing byte, member func() error) error {
	if err := s.expect(opening); err != nil {
		return err
	}
	if s.depth++; s.depth > s.lim.Depth {
		return s.errorf("nesting deeper than %d: %w", s.lim.Depth, ErrLimit)
	}
	defer func() { s.depth-- }()
	for first := true; ; first = false {
		c, err := s.must()
		switch {
		case err != nil:
			return err
		case c == closing && first:
			_, err := s.next()
			return err
		}
		if err := member(); err != nil {
			return err
		}
		if c, err = s.must(); err != nil {
			return err
		}
		if _, err := s.next(); err != nil {
			return err
		}
		if c == closing {
			return nil
		}
		if c != ',' {
			return s.errorf("%q where a comma or %q should be", c, closing)
		}
	}
}

// object walks the members of an object.
func (s *scanner) object(member func(key string) error) error {
	return s.list('{', '}', func() error {
		key, err := s.text()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return member(key)
	})
}

// array walks the elements of an array.
func (s *scanner) array(element func() error) error { return s.list('[', ']', element) }

// text reads a string, of which at most Limits.String bytes are kept.
func (s *scanner) text() (string, error) {
	var b []byte
	err := s.eachRune(func(r rune) {
		if len(b) < s.lim.String {
			b = utf8.AppendRune(b, r)
		}
	})
	return string(b), err
}

// eachRune reads a string. Bytes that are no UTF-8 stand for themselves, replaced.
func (s *scanner) eachRune(keep func(rune)) error {
	if err := s.expect('"'); err != nil {
		return err
	}
	for {
		r, _, err := s.r.ReadRune()
		switch {
		case err != nil:
			return s.errorf("the file ends in the middle of a string: %w", io.ErrUnexpectedEOF)
		case r == '"':
			return nil
		case r == '\n':
			return s.errorf("a line ends in the middle of a string")
		case r == '\\':
			if r, err = s.escape(); err != nil {
				return err
			}
		}
		keep(r)
	}
}

func (s *scanner) escape() (rune, error) {
	c, err := s.next()
	if err != nil {
		return 0, err
	}
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return s.unicode()
	}
	return 0, s.errorf("\\%c is no escape sequence", c)
}

// unicode reads the digits after \u, and the second half of a surrogate pair.
func (s *scanner) unicode() (rune, error) {
	r, err := s.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if ahead, err := s.r.Peek(2); err != nil || string(ahead) != `\u` {
		return utf8.RuneError, nil
	}
	if _, err := s.r.Discard(2); err != nil {
		return 0, s.errorf("%w", err)
	}
	second, err := s.hex4()
	return utf16.DecodeRune(r, second), err
}

func (s *scanner) hex4() (rune, error) {
	var digits [4]byte
	for i := range digits {
		c, err := s.next()
		if err != nil {
			return 0, err
		}
		digits[i] = c
	}
	v, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, s.errorf("\\u%s is no escape sequence", clip(string(digits[:])))
	}
	return rune(v), nil
}

// word reads a number or a literal, valid until the next one.
func (s *scanner) word() ([]byte, error) {
	b := s.buf[:0]
	for {
		c, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, s.errorf("%w", err)
		}
		if !isWord(c) {
			if err := s.r.UnreadByte(); err != nil {
				return nil, s.errorf("%w", err)
			}
			break
		}
		if len(b) == maxWord {
			return nil, s.errorf("a number of more than %d digits", maxWord)
		}
		b = append(b, c)
	}
	if len(b) == 0 {
		c, _ := s.next()
		return nil, s.errorf("%q is not a value", c)
	}
	return b, nil
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '-' || c == '.'
}

// number reads a number; null and NaN are NaN.
func (s *scanner) number() (float64, error) {
	if _, err := s.must(); err != nil {
		return 0, err
	}
	word, err := s.word()
	if err != nil {
		return 0, err
	}
	return s.asNumber(word)
}

func (s *scanner) asNumber(word []byte) (float64, error) {
	switch string(word) {
	case "NaN", "null":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	if !isNumber(word) {
		return 0, s.errorf("%s is not a number", clip(string(word)))
	}
	v, err := strconv.ParseFloat(string(word), 64)
	if err != nil {
		return 0, s.errorf("%s is out of range", clip(string(word)))
	}
	return v, nil
}

// skip passes over a value, checking its structure.
func (s *scanner) skip() error {
	c, err := s.must()
	switch {
	case err != nil:
		return err
	case c == '{':
		return s.object(func(string) error { return s.skip() })
	case c == '[':
		return s.array(s.skip)
	case c == '"':
		return s.eachRune(func(rune) {})
	}
	_, err = s.word()
	return err
}
