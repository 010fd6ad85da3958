package ui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/term"
)

// screen is a terminal without a lower edge: enough of ECMA-48 to see what a view draws.
// A line that is too wide wraps, and so spoils what is redrawn over it.
type screen struct {
	t      *testing.T
	width  int
	rows   [][]string // cells; a wide rune has an empty one behind it
	at     int        // row
	column int
	writes int
}

func newScreen(t *testing.T, width int) *screen {
	t.Helper()
	return &screen{t: t, width: width}
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.writes++
	text := string(p)
	for text != "" {
		if strings.HasPrefix(text, "\x1b[") {
			text = text[2+s.control(text[2:]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		s.put(r)
	}
	return len(p), nil
}

// control carries out one sequence and returns its length.
func (s *screen) control(seq string) int {
	end := strings.IndexFunc(seq, func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		s.t.Fatalf("sequence without an end: %q", seq)
	}
	n := 0
	for _, c := range seq[:end] {
		if c < '0' || c > '9' {
			s.t.Fatalf("unexpected sequence %q", seq[:end+1])
		}
		n = 10*n + int(c-'0')
	}
	switch seq[end] {
	case 'A':
		s.at -= n
		if s.at < 0 {
			s.t.Fatal("the cursor left the screen")
		}
	case 'K':
		s.row()
		s.rows[s.at] = s.rows[s.at][:min(s.column, len(s.rows[s.at]))]
	case 'J':
		s.row()
		s.rows[s.at] = s.rows[s.at][:min(s.column, len(s.rows[s.at]))]
		s.rows = s.rows[:s.at+1]
	case 'm': // colours
	default:
		s.t.Fatalf("unexpected sequence %q", seq[:end+1])
	}
	return end + 1
}

func (s *screen) row() {
	for len(s.rows) <= s.at {
		s.rows = append(s.rows, nil)
	}
}

func (s *screen) put(r rune) {
	switch {
	case r == '\n':
		s.at, s.column = s.at+1, 0
		s.row()
		return
	case r == '\r':
		s.column = 0
		return
	case term.Escape(string(r)) != string(r) && r != '\u2060':
		s.t.Fatalf("control character %q", r)
	}
	s.cell(string(r), term.Width(string(r)))
}

// cell writes a character of a width at the cursor.
func (s *screen) cell(text string, width int) {
	if s.column+width > s.width {
		s.at, s.column = s.at+1, 0
	}
	s.row()
	row := s.rows[s.at]
	if width == 0 {
		if s.column > 0 {
			row[s.column-1] += text
		}
		return
	}
	for len(row) < s.column+width {
		row = append(row, " ")
	}
	row[s.column] = text
	for i := range width - 1 {
		row[s.column+1+i] = ""
	}
	s.rows[s.at] = row
	s.column += width
}

func (s *screen) String() string {
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(strings.TrimRight(strings.Join(row, ""), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// tail is the last n rows.
func (s *screen) tail(n int) string {
	rows := strings.Split(strings.TrimSuffix(s.String(), "\n"), "\n")
	return strings.Join(rows[max(0, len(rows)-n):], "\n") + "\n"
}
