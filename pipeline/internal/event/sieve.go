package event

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/escape"
)

// sieve finds the parts of a text in which a secret may begin, so that the slow views are made of
// these parts alone. Every view of a plain text has the letters and digits of the text in the same order. A secret in plain
// text therefore has its letters and digits in a row, with any other characters between them. Text that is not plain
// (escapes, control characters, other scripts) is always such a part.
type sieve struct {
	heads  map[uint32][][]byte // the letters and digits of a secret behind its first four, by these
	starts grams
	// blind is set if some secret has too few letters and digits to be found by them.
	blind bool
}

// headLength is how many letters and digits of a secret are compared.
const headLength = 12

func newSieve(all ...*texts) *sieve {
	s := &sieve{heads: map[uint32][][]byte{}}
	for _, t := range all {
		for text := range t.seen {
			s.add([]byte(text))
		}
	}
	return s
}

// add adds a text in small letters.
func (s *sieve) add(text []byte) {
	var head []byte
	foreign := false
	for _, c := range text {
		if alnum[c] && len(head) < headLength {
			head = append(head, c)
		}
		if c >= utf8.RuneSelf || c < ' ' && !spaceBytes[c] {
			foreign = true // it stands only where a text is not plain
			break
		}
	}
	if len(head) < indexed {
		s.blind = s.blind || !foreign
		return
	}
	key := binary.BigEndian.Uint32(head)
	same := func(h []byte) bool { return bytes.Equal(h, head[indexed:]) }
	if s.starts.add(key); !slices.ContainsFunc(s.heads[key], same) {
		s.heads[key] = append(s.heads[key], head[indexed:])
	}
}

// part is a part of a text in which a secret may begin.
type part struct{ from, to int }

// parts returns the parts of a text in which a secret may begin. Each begins where every view
// can begin. A text that is not final may go on.
func (s *sieve) parts(text []byte, final bool) []part {
	if s.blind {
		return []part{{0, len(text)}}
	}
	w := sifting{sieve: s, text: text, final: final}
	w.run()
	if !w.coloured {
		return w.found
	}
	// Colours stand in some views and not in others.
	bare := sifting{sieve: s, text: text, final: final, skip: true}
	bare.run()
	found := slices.Concat(w.found, bare.found)
	slices.SortFunc(found, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	return found
}

// end returns where to cut a text behind a part and so many bytes more.
func (p part) end(text []byte, more int) int {
	for i := p.to + more; i < len(text); i++ {
		if cut(text, i) {
			return i
		}
	}
	return len(text)
}

// sifting is one pass over a text.
type sifting struct {
	*sieve
	text  []byte
	final bool
	// skip passes over colours. coloured is set if there are any.
	skip, coloured bool

	found []part
	// at is where the last letters and digits stand; n is how many there have been.
	at [indexed]int
	n  uint
	// unsure is up to where the character before a letter may be another one in some view.
	unsure int
}

// What a character is to a sieve.
const (
	between    = iota // plain text between letters and digits
	letter            // a letter or digit
	tokenStart        // a letter that tokens start with
	odd               // not plain
)

var roles = func() (set [256]byte) {
	for c := range set {
		switch {
		case tokenBegins[c]:
			set[c] = tokenStart
		case alnum[c]:
			set[c] = letter
		case !plainBytes[c] && !spaceBytes[c] && c != '+':
			set[c] = odd
		}
	}
	return set
}()

// spaceBytes are the control characters that are spaces in every view.
var spaceBytes = [256]bool{'\n': true, '\t': true}

// unsureFor is more than what an escape takes, however often it is escaped itself.
const unsureFor = 256

func (w *sifting) run() {
	var key uint32
	for i := 0; i < len(w.text); i++ {
		c := w.text[i]
		switch roles[c] {
		case between:
			continue
		case odd:
			i += w.odd(i)
			continue
		case tokenStart:
			if (i == 0 || i < w.unsure || !word[w.text[i-1]]) && w.token(i) {
				w.suspect(i + 1)
			}
		}
		if c == '0' && w.prefix(i) {
			w.suspect(i + 1)
		}
		key = key<<8 | uint32(small[c])
		w.at[w.n%indexed] = i
		if w.n++; w.starts.has(key) && w.n >= indexed && w.head(key, i+1) {
			w.suspect(i + 1)
		}
	}
	if !w.final {
		w.suspect(len(w.text))
	}
}

// head reports whether the letters and digits of a secret, of which the first are key, may go on at i.
func (w *sifting) head(key uint32, i int) bool {
	return slices.ContainsFunc(w.heads[key], func(rest []byte) bool { return w.goesOn(rest, i) })
}

func (w *sifting) goesOn(rest []byte, i int) bool {
	for ; len(rest) > 0; i++ {
		if i == len(w.text) {
			return !w.final
		}
		switch c := w.text[i]; {
		case roles[c] == between:
		case roles[c] == odd, c == '0' && w.prefix(i), small[c] == 'x' && w.prefix(i-1):
			return true
		case small[c] != rest[0]:
			return false
		default:
			rest = rest[1:]
		}
	}
	return true
}

// prefix reports whether 0x may stand at i before two digits, which some views leave out.
func (w *sifting) prefix(i int) bool {
	if w.text[i] != '0' || i == 0 || i >= w.unsure && !separates[w.text[i-1]] {
		return false
	}
	if i+1 == len(w.text) {
		return !w.final
	}
	next := w.text[i+1]
	return small[next] == 'x' || next == 0x1b
}

// token reports whether a token may start at i.
func (w *sifting) token(i int) bool {
	if i+1 < len(w.text) && alnum[w.text[i+1]] && !pairs[w.text[i]][w.text[i+1]] {
		return false
	}
	return slices.ContainsFunc(shapesOf[w.text[i]], func(s *shape) bool { return w.prefixed(w.text[i:], s.prefix) })
}

// pairs are the first two letters of tokens.
var pairs = func() (set [256][256]bool) {
	for i := range shapes {
		set[shapes[i].prefix[0]][shapes[i].prefix[1]] = true
	}
	return set
}()

// prefixed reports whether a text may start with the prefix of a token. Some views leave out quotes.
func (w *sifting) prefixed(text []byte, prefix string) bool {
	for len(prefix) > 0 {
		if len(text) == 0 {
			return !w.final
		}
		c, p := text[0], prefix[0]
		text = text[1:]
		switch {
		case c == p, p == ' ' && (c == '+' || spaceBytes[c]):
			prefix = prefix[1:]
		case roles[c] == odd:
			return true
		case c != '"' && c != '\'' && c != '`':
			return false
		}
	}
	return true
}

// odd deals with a character that is not plain, and returns how many bytes behind it to pass over.
func (w *sifting) odd(i int) (more int) {
	end := i + 1
	switch rest := w.text[i+1:]; w.text[i] {
	case '%':
		if len(rest) > 0 && plainPercent(rest[0]) || len(rest) > 1 && hexDigits[rest[0]] && plainPercent(rest[1]) {
			return 0
		}
	case '&':
		if len(rest) > 0 && roles[rest[0]] == between && rest[0] != '#' {
			return 0
		}
	case 0x1b:
		if n := colour(rest); n > 0 {
			w.coloured, w.unsure = true, i+n+unsureFor
			if w.skip {
				return n
			}
			return 0
		}
		n, _ := escape.SequencePrefix(string(w.text[i:min(len(w.text), i+maxToken)]))
		end = i + max(n, 1)
	}
	w.unsure = end + unsureFor
	w.suspect(end)
	return 0
}

// plainPercent reports whether a percent sign before c stands for itself.
func plainPercent(c byte) bool { return roles[c] != odd && !hexDigits[c] }

// colour returns how long the sequence of a colour is behind its escape character, 0 if it is another.
func colour(rest []byte) int {
	if len(rest) == 0 || rest[0] != '[' {
		return 0
	}
	for i, c := range rest[1:] {
		switch {
		case c == 'm':
			return i + len("[m")
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// suspect adds the part that begins with the last letters and digits and ends at to.
func (w *sifting) suspect(to int) {
	from, floor, last := 0, 0, len(w.found)-1
	if w.n >= indexed {
		from = w.at[w.n%indexed]
	}
	if last >= 0 {
		floor = w.found[last].to
	}
	for from > floor && !cut(w.text, from) {
		from--
	}
	if last >= 0 && from <= floor {
		w.found[last].to = max(floor, to)
		return
	}
	w.found = append(w.found, part{from, to})
}

// cut reports whether a text can be divided at i without changing its views: no escape runs from a letter or digit into
// one of these characters.
func cut(text []byte, i int) bool {
	return alnum[text[i-1]] && cuts[text[i]]
}

var cuts = [256]bool{' ': true, '\n': true, ',': true, ':': true, '"': true}
