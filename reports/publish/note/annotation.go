package note

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// Annotation is an annotation on lines of a file.
type Annotation struct {
	Path           string
	StartLine      int
	EndLine        int
	Level          string // "failure", "warning" or "notice"
	Title, Message string
}

// Limits of annotations.
const (
	maxAnnotations = 500
	maxTitle       = 200
	maxMessage     = 4000
)

// Annotations returns one annotation for each gate that did not pass, on the lines of its block.
func Annotations(doc *result.Document, o reports.Options) []Annotation {
	var out []Annotation
	for i := range doc.Gates {
		g := &doc.Gates[i]
		shown := len(o.Gates) == 0 || slices.Contains(o.Gates, g.Addr)
		if g.Verdict == result.Pass || g.Verdict == result.Improvement || !shown {
			continue
		}
		file, ok := repoPath(g.Range.File)
		if !ok || g.Range.Line < 1 || len(out) == maxAnnotations {
			continue
		}
		out = append(out, Annotation{
			Path: file, StartLine: g.Range.Line, EndLine: max(g.Range.Line, g.Range.EndLine), Level: level(g),
			Title: escape.Text(fmt.Sprintf("%s: %s", g.Addr, g.VerdictText()), maxTitle), Message: message(g),
		})
	}
	return out
}

func level(g *result.Gate) string {
	switch g.On(g.Verdict) {
	case result.Fail:
		return "failure"
	case result.Warn:
		return "warning"
	}
	return "notice"
}

// message lists the comparisons of a gate that did not pass, as plain text: annotations do not
// render markdown.
func message(g *result.Gate) string {
	var lines []string
	size := 0
	for i := range g.Decisions {
		d := &g.Decisions[i]
		if d.Verdict == result.Pass || d.Verdict == result.Improvement {
			continue
		}
		line := decision(d)
		if size += len(line) + 1; size > maxMessage {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = append(lines, g.VerdictText())
	}
	return strings.Join(lines, "\n")
}

func decision(d *result.Decision) string {
	text := d.VerdictText() + ": " + cmp.Or(d.Label, d.Metric)
	if d.Kind == result.KindMetric && d.Change != nil && d.Scale == metric.Log {
		text += fmt.Sprintf(" %+.1f %% (margin %g %%)", 100**d.Change, 100*d.Margin)
	}
	if cell := result.Coordinates(d.Values, " "); cell != "" {
		text += " at " + cell
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return escape.Text(text, 300)
}

// repoPath returns a file of a document as a path in the repository. It reports false for a path
// that leads outside.
func repoPath(name string) (string, bool) {
	name = path.Clean(filepath.ToSlash(name))
	return name, filepath.IsLocal(name) && name != "." && len(name) <= 1000
}
