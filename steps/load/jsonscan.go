package load

import "bytes"

// jsonScan walks over one JSON value without allocating. It is used for every stream
// event, where encoding/json would cost more than the read itself. It checks structure
// (brackets, quotes, commas) but not the spelling of numbers or escapes; the fields
// that it hands out are the raw bytes of the value.
type jsonScan struct {
	b   []byte
	i   int
	bad bool
}

func (s *jsonScan) fail() bool {
	s.bad = true
	return false
}

func (s *jsonScan) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// peek returns the next byte that is not space, 0 at the end.
func (s *jsonScan) peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// take consumes c if it is the next byte that is not space.
func (s *jsonScan) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.i++
	return true
}

// next reports whether another member follows in an object or array that end closes,
// and consumes the comma or the end. first is true before the first member.
func (s *jsonScan) next(first *bool, end byte) bool {
	if s.bad {
		return false
	}
	if s.take(end) {
		return false
	}
	if !*first && !s.take(',') {
		return s.fail()
	}
	*first = false
	return true
}

// key consumes an object's key and its colon and returns the key's raw bytes.
func (s *jsonScan) key() []byte {
	k := s.str()
	if !s.take(':') {
		s.fail()
	}
	return k
}

// str consumes a string and returns its raw bytes, escapes and all, without quotes.
func (s *jsonScan) str() []byte {
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

// skip consumes any value and returns its raw bytes.
func (s *jsonScan) skip() []byte {
	c := s.peek()
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
func (s *jsonScan) nested() {
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

// number consumes a value and returns it as a non-negative whole number; ok is false
// for anything else, null included.
func (s *jsonScan) number() (n int, ok bool) {
	v := s.skip()
	if len(v) == 0 || len(v) > 15 {
		return 0, false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// filled consumes a value and reports whether it is something: not null, not false,
// and not an empty string, array or object.
func (s *jsonScan) filled() bool {
	v := s.skip()
	switch {
	case s.bad, len(v) == 0, string(v) == "null", string(v) == "false", string(v) == `""`:
		return false
	case v[0] == '[' || v[0] == '{':
		return len(bytes.TrimSpace(v[1:len(v)-1])) > 0
	}
	return true
}
