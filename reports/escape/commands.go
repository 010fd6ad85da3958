package escape

import (
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Commands breaks what a GitHub runner would carry out when text is printed into a job's
// log: "::" at the beginning of a line, behind white space of any kind, and "##[" anywhere
// (the older form). An invisible character within them is enough; all else stays as it is.
//
// The runner's own way, to stop commands by a secret word and to resume them with it, is
// of no use here: who is killed in between resumes nothing, and standard error and output
// would stop the commands of each other.
func Commands(text string) string {
	var s commandScanner
	return string(s.scan(nil, []byte(text)))
}

// LogWriter is Commands for a stream. It holds nothing back. It is safe for concurrent
// use.
type LogWriter struct {
	w io.Writer

	mu   sync.Mutex
	scan commandScanner
}

// NewLogWriter returns a stream to w, the log of a GitHub job.
func NewLogWriter(w io.Writer) *LogWriter { return &LogWriter{w: w} }

// Write breaks the commands in p and passes it on.
func (l *LogWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.w.Write(l.scan.scan(make([]byte, 0, len(p)), p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// commandScanner goes through a text byte by byte, so that it can stop anywhere. A runner
// takes a carriage return for the end of a line as well.
type commandScanner struct {
	begun  bool // the line has something that is not white space
	colon  bool // all that it has is a colon
	hashes int  // that it has last, at most 2
	rune   []byte
}

func (s *commandScanner) scan(dst, text []byte) []byte {
	for _, c := range text {
		if c == ':' && s.colon || c == '[' && s.hashes == 2 {
			dst = append(dst, joiner...)
		}
		dst = append(dst, c)
		s.next(c)
	}
	return dst
}

func (s *commandScanner) next(c byte) {
	if c == '\n' || c == '\r' {
		*s = commandScanner{rune: s.rune[:0]}
		return
	}
	s.colon = c == ':' && !s.begun && len(s.rune) == 0
	if c != '#' {
		s.hashes = 0
	} else {
		s.hashes = min(s.hashes+1, 2)
	}
	if s.begun {
		return
	}
	// White space may have several bytes, of which this is one.
	s.rune = append(s.rune, c)
	if utf8.FullRune(s.rune) {
		r, _ := utf8.DecodeRune(s.rune)
		s.begun = !unicode.IsSpace(r)
		s.rune = s.rune[:0]
	}
}
