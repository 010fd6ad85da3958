package event

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask replaces a secret.
const Mask = "(redacted)"

// minSecret is the least length in bytes of a masked secret. Masking shorter ones would hide
// ordinary words, and reveal more than it hides.
const minSecret = 6

// Redactor masks secrets in all output of the program: the journal, logs, reports, the terminal. It
// finds each secret in these forms: as it is; with invisible characters in it (escape sequences,
// control, format and zero-width characters, combining marks); as programs escape it (entities,
// addresses, JSON, Go, shells, also nested); in headers (base64, also twice, and base32 at any alignment,
// wrapped or not); as a list of its bytes; in dumps (hexadecimal, with separators, and as hexdump, od and xxd print it); in
// upper or lower case; and with a space after each character. It finds each line of a multi-line
// secret. It also masks text that looks like a token of a well-known service. A nil Redactor masks
// nothing. It is safe for concurrent use.
//
// It does not find a secret that was cut, reversed, hashed, compressed, encrypted or written in
// another encoding.
type Redactor struct {
	mu      sync.Mutex
	secrets map[string]bool
	words   func() map[string]bool
	set     atomic.Pointer[patterns]
}

// NewRedactor returns a redactor of tokens and of the secrets with at least 6 bytes.
func NewRedactor(secrets []string) *Redactor {
	r := &Redactor{secrets: map[string]bool{}}
	r.set.Store(newPatterns(nil, true, nil))
	r.Learn(secrets...)
	return r
}

// Learn adds secrets, such as those of a file or of a registry login. Text that was already written
// stays.
func (r *Redactor) Learn(secrets ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.secrets)
	for _, s := range secrets {
		if len(s) >= minSecret {
			r.secrets[s] = true
		}
	}
	if len(r.secrets) > before {
		r.set.Store(newPatterns(r.secrets, true, r.ordinary))
	}
}

// Spare leaves the words of our own documents as they are, in lower case: a password "improvement" must not make a
// result unreadable. It must be called before the first Learn. words is called when the first secret is a single word.
func (r *Redactor) Spare(words func() map[string]bool) { r.words = words }

// ordinary reports whether a secret, or a line of one, is a single word that our documents use.
func (r *Redactor) ordinary(text string) bool {
	word := strings.Trim(text, "\"':,[]{} ")
	for _, c := range []byte(word) {
		if c != '_' && c != '-' && (small[c] < 'a' || small[c] > 'z') {
			return false
		}
	}
	return r.words != nil && word != "" && r.words()[strings.ToLower(word)]
}

// Bytes returns p with its secrets masked, p itself if it has none.
func (r *Redactor) Bytes(p []byte) []byte {
	out, _ := r.masked(p)
	return out
}

// masked returns p itself, and false, if it has no secrets.
func (r *Redactor) masked(p []byte) (out []byte, changed bool) {
	if r == nil || len(p) == 0 {
		return p, false
	}
	var s masker
	if out = s.all(r.set.Load(), p); bytes.Equal(out, p) {
		return p, false
	}
	return out, true
}

// Known returns the number of secrets that it knows.
func (r *Redactor) Known() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.secrets)
}

// String returns s with its secrets masked.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	out, changed := r.masked([]byte(s))
	if !changed {
		return s
	}
	return string(out)
}

// patterns are the texts to find. They are immutable.
type patterns struct {
	all     texts
	encoded texts // forms in which spaces and line breaks have no meaning
	sieve   *sieve
	tokens  bool
	unquote bool // some secret has quotes, at which shells split words
}

// texts are found by their first bytes, ignoring case.
type texts struct {
	seen   map[string]bool
	index  map[[indexed]byte][][]byte
	first  [256][][]byte
	begins [256]bool // bytes that some text starts with
	starts grams
}

// grams has a bit for each hash of four bytes.
type grams [1 << 10]uint64

func (g *grams) add(four uint32) {
	at := hash(four)
	g[at/64] |= 1 << (at % 64)
}

// has reports whether these bytes may be among them.
func (g *grams) has(four uint32) bool {
	at := hash(four)
	return g[at/64]&(1<<(at%64)) != 0
}

// hash returns 16 bits.
func hash(key uint32) uint32 { return key * 2654435761 >> 16 }

// indexed is the number of bytes of the index; no text is shorter.
const indexed = 4

func newTexts() texts {
	return texts{seen: map[string]bool{}, index: map[[indexed]byte][][]byte{}}
}

// newPatterns returns the patterns of secrets, without those that are ordinary.
func newPatterns(secrets map[string]bool, tokens bool, ordinary func(string) bool) *patterns {
	ps := &patterns{tokens: tokens, all: newTexts(), encoded: newTexts()}
	for secret := range secrets {
		plain, encoded := forms(secret, ordinary)
		for _, form := range plain {
			ps.add(form)
		}
		for _, form := range encoded {
			ps.add(form)
			ps.encoded.add(string(canonical(form, reading{joined: true})))
		}
	}
	ps.sieve = newSieve(&ps.all, &ps.encoded)
	return ps
}

// add adds a text in all forms that the views can show.
func (ps *patterns) add(form string) {
	quoted := strings.ContainsAny(form, "'\"`\\")
	ps.unquote = ps.unquote || quoted
	ps.all.add(form)
	for _, how := range []reading{{}, {bare: true}, {short: true}, {unquote: true}} {
		if text := strings.TrimSpace(string(canonical(form, how))); !how.unquote || quoted {
			ps.all.add(text)
		}
	}
}

func (t *texts) add(text string) {
	p := []byte(text)
	for i := range p {
		p[i] = small[p[i]]
	}
	if len(p) < minSecret-1 || t.seen[string(p)] {
		return
	}
	t.seen[string(p)] = true
	t.begins[p[0]], t.begins[capital[p[0]]] = true, true
	t.first[p[0]] = append(t.first[p[0]], p)
	key := [indexed]byte(p)
	t.index[key] = append(t.index[key], p)
	t.starts.add(binary.BigEndian.Uint32(p))
}

// match returns the length of the longest text that rest starts with. wait is set if rest is only
// the beginning of one.
func (t *texts) match(rest []byte, final bool) (n int, wait bool) {
	candidates := t.first[small[rest[0]]]
	if len(rest) >= indexed {
		key := uint32(small[rest[0]])<<24 | uint32(small[rest[1]])<<16 | uint32(small[rest[2]])<<8 | uint32(small[rest[3]])
		if !t.starts.has(key) {
			return 0, false
		}
		candidates = t.index[[indexed]byte{small[rest[0]], small[rest[1]], small[rest[2]], small[rest[3]]}]
	}
	for _, p := range candidates {
		switch {
		case len(p) <= len(rest):
			if len(p) > n && same(rest[:len(p)], p) {
				n = len(p)
			}
		case !final && same(rest, p[:len(rest)]):
			return 0, true
		}
	}
	return n, false
}

// same reports whether text equals p, which is in lower case, ignoring case.
func same(text, p []byte) bool {
	for i, c := range text {
		if small[c] != p[i] {
			return false
		}
	}
	return true
}

// small and capital are the letters of ASCII in one case; other bytes stay.
var small, capital = func() (small, capital [256]byte) {
	for c := range 256 {
		small[c], capital[c] = byte(c), byte(c)
		if c >= 'A' && c <= 'Z' {
			small[c] += 'a' - 'A'
		}
		if c >= 'a' && c <= 'z' {
			capital[c] -= 'a' - 'A'
		}
	}
	return small, capital
}()

// span is a part of a text to mask.
type span struct {
	from, to int
	// since is the start of the text to keep if the span is incomplete.
	since int
}

// find returns the secrets of a text, and the position of an incomplete one at its end: the length
// of the text if it is final. before is the byte before the text, seen that before its view.
func (ps *patterns) find(before, seen byte, text []byte, final bool) (spans []span, keep int) {
	keep = len(text)
	known := 0 // up to here it is known what begins
	for _, p := range ps.sieve.parts(text, final) {
		if p.to <= known {
			continue
		}
		found, open, ok := ps.within(before, seen, text, p, final)
		if !ok {
			spans, keep, _ = ps.read(before, seen, text, final)
			break
		}
		spans = append(spans, found...)
		if known = open.from; open.to == len(text) {
			keep = min(keep, known)
		}
	}
	if len(ps.encoded.index) == 0 {
		return spans, keep
	}
	if digits, column, ok := dumped(before, text, final); ok {
		var open int
		spans, open = ps.search(spans, &digits, &ps.encoded, 0, final)
		keep = min(keep, open, int(digits.open))
		spans, open = ps.search(spans, &column, &ps.all, ' ', final)
		keep = min(keep, open)
	}
	return spans, keep
}

// within returns the secrets that begin in a part of a text. It reads beyond the part as far as it
// must, up to open.to; a secret that begins behind open.from may not be found yet. ok is false if a
// view erases characters, which may stand before the part.
func (ps *patterns) within(before, seen byte, text []byte, p part, final bool) (spans []span, open part, ok bool) {
	if p.from > 0 {
		before, seen = text[p.from-1], text[p.from-1]
	}
	for more := 16; ; more *= 4 {
		end := p.end(text, more)
		found, keep, erased := ps.read(before, seen, text[p.from:end], final && end == len(text))
		if erased && p.from > 0 {
			return nil, part{}, false
		}
		needed := p.to // up to here it must be known what begins, also what follows a secret at once in some view
		for i := range found {
			found[i].from, found[i].to, found[i].since = found[i].from+p.from, found[i].to+p.from, found[i].since+p.from
			needed = max(needed, found[i].to+unsureFor)
		}
		if known := p.from + keep; end == len(text) || known >= needed {
			return found, part{known, end}, true
		}
	}
}

// read looks for secrets in every view of a text. erased reports whether a view erases characters.
func (ps *patterns) read(before, seen byte, text []byte, final bool) (spans []span, keep int, erased bool) {
	raw := view{text: text, open: int32(len(text))}
	spans, keep = ps.search(nil, &raw, &ps.all, before, final)
	if !ps.plain(text) {
		for _, how := range ps.readings(text) {
			v := newView(text, how, final)
			var open int
			spans, open = ps.search(spans, &v, &ps.all, seen, final)
			keep = min(keep, open, int(v.open))
			erased = erased || v.erased
		}
	}
	if len(ps.encoded.index) > 0 && bytes.ContainsAny(text, separators) {
		v := ps.joined(text, final)
		var open int
		spans, open = ps.search(spans, &v, &ps.encoded, 0, final)
		keep = min(keep, open, int(v.open))
	}
	return spans, keep, erased
}

// plain reports whether the views of a text contain nothing that the text itself does not.
func (ps *patterns) plain(text []byte) bool {
	for i, c := range text {
		if !plainBytes[c] || c == ' ' && i > 0 && text[i-1] == ' ' || ps.unquote && (c == '"' || c == '\'' || c == '`') {
			return false
		}
	}
	return true
}

// readings returns the readings of a text that can differ.
func (ps *patterns) readings(text []byte) []reading {
	escaped := bytes.IndexByte(text, '\\') >= 0 || bytes.IndexByte(text, '&') >= 0 || bytes.IndexByte(text, '%') >= 0
	out := []reading{{}}
	if escaped || bytes.IndexByte(text, 0x1b) >= 0 {
		out = append(out, reading{bare: true}, reading{short: true})
	}
	if escaped || bytes.IndexByte(text, '\b') >= 0 {
		out = append(out, reading{erase: true})
	}
	if ps.unquote && bytes.ContainsAny(text, "'\"`\\&%") {
		out = append(out, reading{unquote: true})
	}
	return out
}

// search looks for texts in a view.
func (ps *patterns) search(spans []span, v *view, in *texts, before byte, final bool) (found []span, keep int) {
	at := func(i int) span {
		if v.from == nil {
			return span{i, i + 1, i}
		}
		return span{int(v.from[i]), int(v.to[i]), int(v.from[i])}
	}
	masked := -1 // end of the last one
	for i := range v.text {
		switch {
		case i == masked:
			before = Mask[len(Mask)-1]
		case i > 0:
			before = v.text[i-1]
		}
		n, skip, wait := 0, 0, false
		if tokenBegins[v.text[i]] && ps.tokens && in == &ps.all {
			n, skip, wait = token(before, v.text[i:], final)
		}
		if !wait && in.begins[v.text[i]] {
			var longer int
			if longer, wait = in.match(v.text[i:], final); longer > 0 {
				n, skip = max(n, longer), 0
			}
		}
		if wait {
			if v.hold != nil {
				return spans, int(v.hold[i])
			}
			return spans, at(i).from
		}
		if n > 0 {
			spans, masked = append(spans, v.spans(i+skip, i+n)...), max(masked, i+n)
		}
	}
	return spans, int(v.open)
}

// masker is the state of a scan.
type masker struct {
	before, seen byte // the last processed bytes of the text and of its view
}

const (
	// piece is the amount of text that is read at once.
	piece = 128 << 10
	// maxHeld limits how much of a stream waits for its continuation.
	maxHeld = 64 << 10
)

// all masks a whole text, piece by piece.
func (m *masker) all(ps *patterns, text []byte) []byte {
	if len(text) <= piece {
		out, _ := m.scan(ps, nil, text, true)
		return out
	}
	out := make([]byte, 0, len(text))
	for from, end := 0, 0; from < len(text); {
		end = min(len(text), max(end, from)+piece)
		var n int
		out, n = m.scan(ps, out, text[from:end], end == len(text))
		from += n
	}
	return out
}

// scan appends text with its secrets masked to dst and returns the number of processed bytes.
// Unless text is final, it stops at a possible secret that continues beyond it. Overlapping secrets
// share one mask.
func (m *masker) scan(ps *patterns, dst, text []byte, final bool) ([]byte, int) {
	spans, keep := ps.find(m.before, m.seen, text, final)
	if len(spans) == 0 && keep == len(text) && dst == nil {
		m.remember(text)
		return text[:keep:keep], keep
	}
	spans = merge(spans)
	for _, s := range slices.Backward(spans) {
		if s.since < keep && s.to > keep {
			keep = s.since
		}
	}
	if !final && keep == 0 && len(text) > maxHeld {
		return m.scan(ps, dst, text, true)
	}
	at := 0
	for _, s := range spans {
		if s.to > keep {
			break
		}
		dst = append(append(dst, text[at:s.from]...), Mask...)
		at = s.to
	}
	dst = append(dst, text[at:keep]...)
	if m.remember(text[:keep]); at == keep && at > 0 {
		m.before, m.seen = Mask[len(Mask)-1], Mask[len(Mask)-1]
	}
	return dst, keep
}

// remember stores the bytes before the rest of a stream.
func (m *masker) remember(text []byte) {
	if len(text) == 0 {
		return
	}
	m.before = text[len(text)-1]
	if m.seen = m.before; plainBytes[m.before] && bytes.IndexByte(text, 0x1b) < 0 || m.before == '\n' {
		return
	}
	tail := text[max(0, len(text)-maxToken):]
	if v := canonical(string(tail), reading{}); len(v) > 0 {
		m.seen = v[len(v)-1]
	}
}

// merge joins overlapping spans, in order.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			out[n-1].since = min(out[n-1].since, s.since)
			continue
		}
		out = append(out, s)
	}
	return out
}
