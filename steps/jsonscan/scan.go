// Package jsonscan walks over JSON of which only some fields count: the events of a stream,
// the body that a router passes on.
//
//	s := jsonscan.Of(data)
//	for name := range s.Object() {
//		if string(name) == "usage" { … } else { s.Skip() }
//	}
//	ok := s.Done()
package jsonscan

import (
	"bytes"
	"math"
	"strconv"
)

// Scanner walks over one JSON value without allocating, where encoding/json would cost
// more than the read of it. It checks structure (brackets, quotes, commas) but not the
// spelling of numbers or escapes; what it hands out are the raw bytes of the value.
type Scanner struct {
	b   []byte
	i   int
	bad bool
}

// Of scans a value.
func Of(b []byte) Scanner { return Scanner{b: b} }

// Done reports whether the value was whole and nothing follows it.
func (s *Scanner) Done() bool { return !s.bad && s.Peek() == 0 && s.i == len(s.b) }

func (s *Scanner) fail() bool {
	s.bad = true
	return false
}

// Peek returns the next byte that is not space, 0 at the end.
func (s *Scanner) Peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
		default:
			return s.b[s.i]
		}
	}
	return 0
}

// take consumes c if it is the next byte that is not space.
func (s *Scanner) take(c byte) bool {
	if s.Peek() != c {
		return false
	}
	s.i++
	return true
}

// next reports whether another member follows in an object or array that end closes,
// and consumes the comma or the end. first is true before the first member.
func (s *Scanner) next(first *bool, end byte) bool {
	if s.bad || s.take(end) {
		return false
	}
	if !*first && !s.take(',') {
		return s.fail()
	}
	*first = false
	return true
}

// Object consumes an object and yields the raw names of its fields. The loop must consume
// their values. A value of another kind is passed over.
func (s *Scanner) Object(yield func(name []byte) bool) {
	if s.Peek() != '{' {
		s.Skip()
		return
	}
	s.i++
	for first := true; s.next(&first, '}'); {
		name := s.str()
		if !s.take(':') {
			s.fail()
		}
		if !yield(name) {
			return
		}
	}
}

// Array consumes an array and yields before each element, which the loop must consume. A
// value of another kind is passed over.
func (s *Scanner) Array(yield func() bool) {
	if s.Peek() != '[' {
		s.Skip()
		return
	}
	s.i++
	for first := true; s.next(&first, ']') && yield(); {
	}
}

// Text consumes a value and returns the raw bytes of a string, escapes and all; ok is false
// for anything else.
func (s *Scanner) Text() (text []byte, ok bool) {
	if s.Peek() != '"' {
		s.Skip()
		return nil, false
	}
	text = s.str()
	return text, !s.bad
}

// str consumes a string and returns its raw bytes, escapes and all, without quotes.
func (s *Scanner) str() []byte {
	if !s.take('"') {
		s.fail()
		return nil
	}
	start := s.i
	for {
		q := bytes.IndexByte(s.b[s.i:], '"')
		if q < 0 {
			s.i = len(s.b)
			s.fail()
			return nil
		}
		s.i += q + 1
		if !escaped(s.b[start : s.i-1]) {
			return s.b[start : s.i-1]
		}
	}
}

// escaped reports whether an odd number of backslashes stands at the end of b.
func escaped(b []byte) bool {
	n := len(b)
	for n > 0 && b[n-1] == '\\' {
		n--
	}
	return (len(b)-n)%2 == 1
}

// Skip consumes any value and returns its raw bytes.
func (s *Scanner) Skip() []byte {
	c := s.Peek()
	start := s.i
	switch c {
	case '"':
		s.str()
	case '{', '[':
		s.nested()
	default:
		for s.i < len(s.b) && !delimiter(s.b[s.i]) {
			s.i++
		}
		if s.i == start {
			s.fail()
		}
	}
	return s.b[start:s.i]
}

func delimiter(c byte) bool {
	switch c {
	case ',', '}', ']', '{', '[', '"', ':', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// nested consumes an object or array by counting brackets, without recursion.
func (s *Scanner) nested() {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			s.str()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.i++
		if depth == 0 {
			return
		}
	}
	s.fail()
}

// Number consumes a value and returns it as a non-negative whole number below 10¹⁵, also one that is written as 12.0 or 1.2e1;
// ok is false for anything else, null included.
func (s *Scanner) Number() (n int, ok bool) {
	const digits = 15
	v := s.Skip()
	for i, c := range v {
		if c < '0' || c > '9' || i == digits {
			return whole(v)
		}
		n = n*10 + int(c-'0')
	}
	return n, len(v) > 0
}

// whole reads a number with more than digits.
func whole(v []byte) (n int, ok bool) {
	const limit = 1e15
	if len(bytes.Trim(v, "0123456789.eE+-")) > 0 { // a name such as inf, or another kind of value
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < 0 || f >= limit || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}

// Filled consumes a value and reports whether it is something: not null, not false,
// and not an empty string, array or object.
func (s *Scanner) Filled() bool {
	v := s.Skip()
	switch {
	case s.bad, len(v) == 0, string(v) == "null", string(v) == "false", string(v) == `""`:
		return false
	case v[0] == '[' || v[0] == '{':
		return len(bytes.TrimSpace(v[1:len(v)-1])) > 0
	}
	return true
}
