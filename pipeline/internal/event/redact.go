package event

import (
	"bytes"
	"slices"
)

// Mask stands where a secret was.
const Mask = "(redacted)"

// minSecret is the length in bytes from which on secrets are masked. Shorter ones would
// mask ordinary words, and tell more by their holes than they hide.
const minSecret = 6

// Redactor masks secrets in everything that leaves the program: the journal, logs,
// reports, the terminal. It finds each secret as it is and as programs write it into
// addresses, JSON, HTML, headers (base64 at any alignment) and dumps (hexadecimal); of a
// secret of several lines it finds each line. Beside the secrets that it is given it masks
// what looks like a token of a well-known service. A nil Redactor masks nothing.
//
// It does not find a secret that was cut, reversed, hashed or spread over lines.
type Redactor struct {
	patterns [][]byte
	first    [256]bool // bytes that some pattern or token starts with
	tokens   bool
}

// NewRedactor returns a redactor of the secrets that have at least 6 bytes, and of tokens.
func NewRedactor(secrets []string) *Redactor {
	r := &Redactor{tokens: true}
	for i := range shapes {
		r.first[shapes[i].prefix[0]] = true
	}
	seen := map[string]bool{}
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			if len(form) < minSecret || seen[form] {
				continue
			}
			seen[form] = true
			r.patterns = append(r.patterns, []byte(form))
			r.first[form[0]] = true
		}
	}
	// A fixed order, so that equal secrets make equal redactors.
	slices.SortFunc(r.patterns, bytes.Compare)
	return r
}

// Bytes returns p with its secrets masked, p itself if it has none.
func (r *Redactor) Bytes(p []byte) []byte {
	if r.nothing() {
		return p
	}
	var s masker
	out, _ := s.scan(r, nil, p, true)
	if len(out) == len(p) && bytes.Equal(out, p) {
		return p
	}
	return out
}

// String returns s with its secrets masked.
func (r *Redactor) String(s string) string {
	if r.nothing() {
		return s
	}
	return string(r.Bytes([]byte(s)))
}

// nothing reports that it masks nothing.
func (r *Redactor) nothing() bool { return r == nil || len(r.patterns) == 0 && !r.tokens }

// masker is the state of a scan. Secrets that overlap share one mask.
type masker struct {
	// covered is the number of bytes, from the next one on, that belong to a secret
	// whose mask is written already.
	covered int
	before  byte // the last one that was dealt with
}

// scan appends buf with its secrets masked to dst and returns how many bytes of buf it
// has dealt with: unless buf is final, it stops at the first byte where a secret may
// begin that goes on beyond buf. Fewer bytes than the longest secret has are left then.
func (m *masker) scan(r *Redactor, dst, buf []byte, final bool) ([]byte, int) {
	for i := range buf {
		n, wait := r.match(m.before, buf[i:], final)
		if wait {
			return dst, i
		}
		m.before = buf[i]
		switch {
		case n > 0 && m.covered == 0:
			dst = append(dst, Mask...)
			m.covered = n
		case n > 0:
			m.covered = max(m.covered, n)
		}
		if m.covered > 0 {
			m.covered--
			continue
		}
		dst = append(dst, buf[i])
	}
	return dst, len(buf)
}

// match returns the length of the longest secret that rest starts with. It says to wait
// if rest is only the beginning of one.
func (r *Redactor) match(before byte, rest []byte, final bool) (n int, wait bool) {
	if !r.first[rest[0]] {
		return 0, false
	}
	if r.tokens {
		if n, wait = token(before, rest, final); wait {
			return 0, true
		}
	}
	for _, p := range r.patterns {
		switch {
		case len(p) <= len(rest):
			if len(p) > n && bytes.HasPrefix(rest, p) {
				n = len(p)
			}
		case !final && bytes.HasPrefix(p, rest):
			return 0, true
		}
	}
	return n, false
}
