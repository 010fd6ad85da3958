package escape

import (
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Commands breaks what a GitHub runner would execute when text is printed into a job's log: "::" at
// the beginning of a line, after white space of any kind, and "##[" anywhere (the older form). It
// inserts an invisible character and changes nothing else.
//
// The runner can also stop commands until a secret word. That does not work here: a killed process
// would not resume them, and standard error and output would stop each other's commands.
func Commands(text string) string {
	var s commandScanner
	return string(s.scan(nil, []byte(text)))
}

// LogWriter is Commands for a stream. It does not buffer. It is safe for concurrent use.
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

// commandScanner scans a text byte by byte, so that it can stop anywhere. A runner accepts a
// carriage return as the end of a line as well.
type commandScanner struct {
	begun  bool // the line contains something other than white space
	colon  bool // the line so far is only a colon
	hashes int  // number of hashes at the end, at most 2
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
	// White space may have several bytes; this is one of them.
	s.rune = append(s.rune, c)
	if utf8.FullRune(s.rune) {
		r, _ := utf8.DecodeRune(s.rune)
		s.begun = !unicode.IsSpace(r)
		s.rune = s.rune[:0]
	}
}
