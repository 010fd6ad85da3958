package reports_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports"
)

func TestLaTeX(t *testing.T) {
	golden.Equal(t, "testdata/regression.tex", written(t, "latex", regression(), reports.Options{}))
}

// ownCommands are the commands that reports write themselves, in tables.
var ownCommands = regexp.MustCompile(`\\(begin|end|toprule|midrule|bottomrule|texttt|textbf|textbackslash|textbar|textquotedbl|` +
	`textasciigrave|textasciicircum|textasciitilde|textmu|ldots|times|pm|le|ge|downarrow|uparrow|rightarrow|cdot|alpha)\b|\\[\\{}$&#%_,]`)

// TestHostileLaTeX: whatever is not a comment has no commands but our own, and as many cells in a row as columns.
func TestHostileLaTeX(t *testing.T) {
	columns := 0
	for line := range bytes.Lines(written(t, "latex", hostile(), reports.Options{})) {
		text := strings.TrimSuffix(string(line), "\n")
		if strings.HasPrefix(text, "%") {
			continue
		}
		if spec, ok := strings.CutPrefix(text, `\begin{tabular}`); ok {
			columns = len(spec) - len("{}")
			continue
		}
		plain := ownCommands.ReplaceAllString(text, "")
		if strings.ContainsAny(plain, "\\%#_^~\x1b") {
			t.Errorf("TeX reads more than text in %q", text)
		}
		if n := strings.Count(plain, "&"); n > 0 && n != columns-1 {
			t.Errorf("%d cells of %d in %q", n+1, columns, text)
		}
	}
	if columns == 0 {
		t.Error("no table")
	}
}
