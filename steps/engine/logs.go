package engine

import (
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Pattern reads figures from log lines. Each group of the expression is a number: digits with
// commas and at most one point.
type Pattern struct {
	re     *lazyregexp.Regexp
	fields []Field
}

// Field defines the meaning of a group of a pattern.
type Field struct {
	Name string
	// Scale converts the line's unit to the figure's; 0 means 1.
	Scale float64
}

// Units in log lines.
const (
	GiB     = 1 << 30
	Percent = 0.01
)

// NewPattern returns a pattern with one field for each of its groups; the pattern is part of the
// program, and TestExpressions of lazyregexp checks it.
func NewPattern(pattern string, fields ...Field) Pattern {
	return Pattern{re: lazyregexp.New(pattern), fields: fields}
}

// maxLine limits the searched part of a line: the engines' own lines are far shorter, and a line
// may contain a whole prompt.
const maxLine = 4096

// Point reads the gauges of a line. mark is a text that all lines of statistics contain; other
// lines cost only the search for it. Patterns that do not match are skipped.
func Point(line, mark string, patterns []Pattern) (map[string]float64, bool) {
	line = line[:min(len(line), maxLine)]
	if !strings.Contains(line, mark) {
		return nil, false
	}
	out := map[string]float64{}
	for _, p := range patterns {
		p.read(line, out, func(_, v float64) float64 { return v })
	}
	return out, len(out) > 0
}

// StartFacts reads the figures of a start. Each is the largest in any line, because the workers of
// an engine report theirs one by one and the start waits for the last.
func StartFacts(log []string, patterns []Pattern) map[string]float64 {
	out := map[string]float64{}
	for _, line := range log {
		line = line[:min(len(line), maxLine)]
		for _, p := range patterns {
			p.read(line, out, func(old, v float64) float64 { return max(old, v) })
		}
	}
	return out
}

func (p Pattern) read(line string, out map[string]float64, merge func(old, v float64) float64) {
	groups := p.re.FindStringSubmatch(line)
	for i, f := range p.fields {
		if groups == nil || groups[i+1] == "" {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(groups[i+1], ",", ""), 64)
		if err != nil {
			continue
		}
		if f.Scale != 0 {
			v *= f.Scale
		}
		if old, there := out[f.Name]; there {
			v = merge(old, v)
		}
		out[f.Name] = v
	}
}
