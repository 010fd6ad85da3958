package diag

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/term"
)

// Options of the text form.
type Options struct {
	Color bool
	Width int // columns; 0 means 80
	// Origin returns the source of a line in a generated file, such as a flag, or "" if unknown. Diagnostics name this
	// source and omit the line, because the user did not write it. It may be nil.
	Origin func(line string) string
}

const (
	defaultWidth = 80
	leastWidth   = 40
	tabSize      = 4
)

// Text writes diags for people, and a last line that counts them. It writes nothing if there are
// none. The output often ends up in the log of a GitHub runner, so source and messages cannot
// contain workflow commands.
func Text(w io.Writer, files map[string]*hcl.File, diags hcl.Diagnostics, opt Options) error {
	if len(diags) == 0 {
		return nil
	}
	out := New(files, diags)
	var b strings.Builder
	for _, d := range out.Diagnostics {
		t := newTextWriter(&b, d.Severity, opt)
		t.origin = originOf(d, opt)
		t.diagnostic(d)
	}
	fmt.Fprintf(&b, "%s, %s\n", humanize.Count(out.ErrorCount, "error"), humanize.Count(out.WarningCount, "warning"))
	if _, err := io.WriteString(w, escape.Commands(b.String())); err != nil {
		return fmt.Errorf("write diagnostics: %w", err)
	}
	return nil
}

// originOf returns the source of the highlighted line of a diagnostic, "" for the file itself.
func originOf(d Diagnostic, opt Options) string {
	if opt.Origin == nil || d.Range == nil || d.Snippet == nil {
		return ""
	}
	lines := strings.Split(d.Snippet.Code, "\n")
	return opt.Origin(lines[min(max(d.Range.Start.Line-d.Snippet.StartLine, 0), len(lines)-1)])
}

// textWriter renders one diagnostic.
type textWriter struct {
	b     *strings.Builder
	width int
	paint func(style, s string) string
	rule  string // "│" in the colour of the severity
	tone  string
	// origin names the source of the place, see [Options.Origin]; "" if it is the file itself.
	origin string
}

// ANSI styles (ECMA-48 select graphic rendition).
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	yellow = "33"
)

func newTextWriter(b *strings.Builder, severity string, opt Options) *textWriter {
	t := &textWriter{b: b, width: opt.Width, tone: red}
	if t.width == 0 {
		t.width = defaultWidth
	}
	t.width = max(t.width, leastWidth)
	if severity == "warning" {
		t.tone = yellow
	}
	t.paint = func(_, s string) string { return s }
	if opt.Color {
		t.paint = func(style, s string) string {
			if s == "" {
				return s
			}
			return "\x1b[" + style + "m" + s + "\x1b[0m"
		}
	}
	t.rule = t.paint(t.tone, "│")
	return t
}

func (t *textWriter) diagnostic(d Diagnostic) {
	t.headline(d)
	if d.Range != nil {
		t.line("")
		t.place(d)
		if d.Snippet != nil && t.origin == "" {
			t.source(d.Snippet)
			t.values(d.Snippet.Values)
		}
	}
	if d.Detail != "" {
		if d.Range == nil {
			t.line("")
		}
		for _, line := range term.Wrap(strings.TrimRight(term.EscapeLines(d.Detail), "\n"), t.width-2) {
			t.line(term.ExpandTabs(line, tabSize))
		}
	}
	t.b.WriteString(t.paint(t.tone, "╵") + "\n")
}

// headline writes the line of the severity, the code and the summary.
func (t *textWriter) headline(d Diagnostic) {
	label := "Error"
	if d.Severity == "warning" {
		label = "Warning"
	}
	if d.Code != "" {
		label += " " + term.Escape(string(d.Code))
	}
	label += ":"
	lines := term.Wrap(label+" "+term.Escape(d.Summary), t.width-2)
	first := strings.TrimPrefix(lines[0], label)
	t.b.WriteString(t.paint(t.tone, "╷ "+label) + t.paint(bold, first) + "\n")
	for _, line := range lines[1:] {
		t.line(t.paint(bold, line))
	}
}

// place writes "on FILE line N, in block:", or "on SOURCE:" for a line of a generated file.
func (t *textWriter) place(d Diagnostic) {
	where := fmt.Sprintf("on %s line %d", term.Escape(d.Range.Filename), d.Range.Start.Line)
	switch {
	case t.origin != "":
		where = "on " + term.Escape(t.origin) + ":"
	case d.Snippet == nil:
		where += ", column " + strconv.Itoa(d.Range.Start.Column) + " (its source is not at hand)"
	case d.Snippet.Context != "":
		where += ", in " + term.Escape(d.Snippet.Context) + ":"
	default:
		where += ":"
	}
	for _, line := range term.Wrap(where, t.width-4) {
		t.line("  " + line)
	}
}

// source writes the lines of a snippet, and carets below the first highlighted line. The rest of a
// longer highlight gets no carets.
func (t *textWriter) source(s *Snippet) {
	at := 0
	lines := strings.Split(s.Code, "\n")
	digits := len(strconv.Itoa(s.StartLine + len(lines) - 1))
	marked := false
	for n, line := range lines {
		from, to := s.HighlightStart-at, s.HighlightEnd-at
		at += len(line) + 1
		gutter := fmt.Sprintf("  %*d: ", digits, s.StartLine+n)
		if marked || from > len(line) {
			text, _, _ := fit(line, 0, 0, t.width-2-len(gutter))
			t.line(t.paint(faint, gutter) + text)
			continue
		}
		marked = true
		from, to = clamp(from, len(line)), clamp(to, len(line))
		text, column, length := fit(line, from, to, t.width-2-len(gutter))
		t.line(t.paint(faint, gutter) + text)
		t.line(strings.Repeat(" ", len(gutter)+column) + t.paint(t.tone, strings.Repeat("^", length)))
	}
}

// fit fits line into at most columns columns, with tabs expanded and an ellipsis at cuts, so that
// the bytes [from, to) stay visible. It returns the column and the number of columns of those
// bytes, at least one.
func fit(line string, from, to, columns int) (text string, column, length int) {
	text = term.ExpandTabs(term.EscapeLines(line), tabSize)
	column = term.Width(term.ExpandTabs(term.EscapeLines(line[:from]), tabSize))
	length = max(1, term.Width(term.ExpandTabs(term.EscapeLines(line[:to]), tabSize))-column)
	total := term.Width(text)
	if total > columns && column+length > columns {
		// A quarter of the line precedes the highlight, or more if little follows it.
		var moved int
		text, moved = dropColumns(text, min(column-columns/4, total-columns))
		column -= moved
	}
	return term.Cut(text, columns), column, max(1, min(length, columns-column))
}

// dropColumns shortens s by at least n columns from the left and puts an ellipsis there. It returns
// by how many columns the rest has moved.
func dropColumns(s string, n int) (rest string, moved int) {
	width := term.Width(s)
	if n <= 0 || n >= width {
		return s, 0
	}
	rest = term.CutLeft(s, width-n)
	return rest, width - term.Width(rest)
}

func (t *textWriter) values(values []Value) {
	if len(values) == 0 {
		return
	}
	t.line(t.paint(faint, "    ├────────────────"))
	for _, v := range values {
		text := term.Escape(v.Traversal) + " " + term.Escape(v.Statement)
		t.line(t.paint(faint, "    │") + " " + term.Cut(text, t.width-8))
	}
}

// line writes one line after the rule, without trailing spaces.
func (t *textWriter) line(s string) {
	t.b.WriteString(t.rule + strings.TrimRight(" "+s, " ") + "\n")
}
