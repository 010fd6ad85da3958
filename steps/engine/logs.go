package engine

import (
	"strconv"
	"strings"
	"time"

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

// Gauge finds a figure in a line of statistics without a regular expression, since logs of servers have millions of
// them.
type Gauge struct {
	Name string
	// Before are the texts that may stand before the number, and After the text behind it.
	Before []string
	After  string
	// Scale converts the line's unit to the figure's; 0 means 1.
	Scale float64
}

// Point reads the gauges of a line. mark is a text that all lines of statistics contain; other
// lines cost only the search for it. Gauges that the line lacks are skipped.
func Point(line, mark string, gauges []Gauge) (map[string]float64, bool) {
	line = line[:min(len(line), maxLine)]
	if !strings.Contains(line, mark) {
		return nil, false
	}
	out := make(map[string]float64, len(gauges))
	for _, g := range gauges {
		if v, ok := g.read(line); ok {
			out[g.Name] = v
		}
	}
	return out, len(out) > 0
}

// read returns the first number of the line between a text before it and the text behind it.
func (g Gauge) read(line string) (float64, bool) {
	number, first := "", len(line)
	for _, before := range g.Before {
		for at := 0; ; {
			i := strings.Index(line[at:], before)
			if i < 0 || at+i >= first {
				break
			}
			from := at + i + len(before)
			to := from
			for to < len(line) && (line[to] >= '0' && line[to] <= '9' || line[to] == '.') {
				to++
			}
			if to > from && strings.HasPrefix(line[to:], g.After) {
				number, first = line[from:to], at+i
				break
			}
			at += i + 1
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	if g.Scale != 0 {
		v *= g.Scale
	}
	return v, true
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

// Span is a phase of a start that only the times of log lines tell.
type Span struct {
	Name string
	// From and To match the lines at which it begins and ends.
	From, To *lazyregexp.Regexp
	// Clock returns the time of a line.
	Clock func(line string) (at time.Time, ok bool)
}

// AddSpans adds the seconds of phases to the figures of a start. A phase may occur several times; of several begins without
// an end between them the first counts, because workers report theirs one by one.
func AddSpans(facts map[string]float64, log []string, spans []Span) {
	for _, s := range spans {
		var begun time.Time
		for _, line := range log {
			line = line[:min(len(line), maxLine)]
			switch {
			case begun.IsZero() && s.From.MatchString(line):
				begun, _ = s.Clock(line)
			case !begun.IsZero() && s.To.MatchString(line):
				if at, ok := s.Clock(line); ok && !at.Before(begun) {
					facts[s.Name] += at.Sub(begun).Seconds()
				}
				begun = time.Time{}
			}
		}
	}
}
