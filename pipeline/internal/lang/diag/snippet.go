package diag

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/zclconf/go-cty/cty"
)

// Limits of a snippet. A generated file may have everything on one line.
const (
	maxLines     = 8   // source lines shown
	maxLineBytes = 400 // bytes of one line, around the highlight
	cutMark      = "…"
)

// Snippet is the source around a problem.
type Snippet struct {
	// Context names the enclosing blocks: `in benchmark "serving", matrix`, without "in".
	Context string `json:"context,omitempty"`
	// Code consists of whole lines without the last line end. A line of more than 400 bytes is cut,
	// with an ellipsis at each cut; lines after the eighth are omitted.
	Code string `json:"code"`
	// StartLine is the number of the first line of Code.
	StartLine int `json:"start_line"`
	// Offsets into Code, in bytes.
	HighlightStart int `json:"highlight_start_offset"`
	HighlightEnd   int `json:"highlight_end_offset"`
	// Values of the variables in the expression.
	Values []Value `json:"values"`
}

// newSnippet returns the lines of the subject of d, and those of its context that fit. It returns
// nil if the range is outside the source: no source is better than a wrong one.
func newSnippet(file *hcl.File, d *hcl.Diagnostic) *Snippet {
	src := file.Bytes
	from, to := d.Subject.Start.Byte, d.Subject.End.Byte
	if from < 0 || to < from || from > len(src) {
		return nil
	}
	to = min(to, len(src))

	start, startLine, end := lineStart(src, from), d.Subject.Start.Line, lineEnd(src, from, to)
	if c := d.Context; c != nil && c.Filename == d.Subject.Filename {
		if c.Start.Byte >= 0 && c.Start.Byte < start && startLine-c.Start.Line < maxLines/2 {
			start, startLine = lineStart(src, c.Start.Byte), c.Start.Line
		}
		if c.End.Byte > end && c.End.Byte <= len(src) {
			end = lineEnd(src, to, c.End.Byte)
		}
	}
	s := cutLines(src[start:end], from-start, to-start)
	s.Context = blockContext(file, d.Subject.Start)
	s.StartLine = startLine
	s.Values = values(d)
	return &s
}

func lineStart(src []byte, at int) int {
	return bytes.LastIndexByte(src[:at], '\n') + 1
}

// lineEnd returns the end of the line of the last byte before at, if that is in [from, at), else of
// the byte at at: a range often ends after a line end.
func lineEnd(src []byte, from, at int) int {
	if at > from && src[at-1] == '\n' {
		return at - 1
	}
	if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(src)
}

// cutLines returns the lines of code as valid UTF-8 within the limits, and adjusts the highlight
// [from, to).
func cutLines(code []byte, from, to int) Snippet {
	var b strings.Builder
	s := Snippet{HighlightStart: -1}
	at := 0 // offset of the line in code
	for n, whole := range bytes.Split(code, []byte("\n")) {
		if n == maxLines {
			break
		}
		if n > 0 {
			b.WriteByte('\n')
		}
		line := bytes.TrimSuffix(whole, []byte("\r"))
		a, z := clamp(from-at, len(line)), clamp(to-at, len(line))
		lo, hi := window(line, a)
		z = min(z, hi)

		if lo > 0 {
			b.WriteString(cutMark)
		}
		b.WriteString(valid(string(line[lo:a])))
		if s.HighlightStart < 0 && from <= at+len(whole) {
			s.HighlightStart = b.Len()
		}
		b.WriteString(valid(string(line[a:z])))
		if s.HighlightStart >= 0 && to >= at {
			s.HighlightEnd = b.Len()
		}
		b.WriteString(valid(string(line[z:hi])))
		if hi < len(line) {
			b.WriteString(cutMark)
		}
		at += len(whole) + 1
	}
	s.Code = b.String()
	return s
}

func clamp(n, high int) int { return max(0, min(n, high)) }

// window returns the bytes of a line to show: all of a short one, else a part that begins shortly
// before the highlight.
func window(line []byte, from int) (lo, hi int) {
	if len(line) <= maxLineBytes {
		return 0, len(line)
	}
	lo = max(0, from-maxLineBytes/4)
	hi = min(len(line), lo+maxLineBytes)
	return runeStart(line, lo), runeStart(line, hi)
}

// runeStart returns the start of the rune that contains the byte at offset at, or at itself if it
// is not UTF-8.
func runeStart(line []byte, at int) int {
	for i := at; i > max(0, at-utf8.UTFMax) && i < len(line); i-- {
		if utf8.RuneStart(line[i]) {
			return i
		}
	}
	return at
}

// blockContext returns the blocks that contain pos, the outermost with its labels.
func blockContext(file *hcl.File, pos hcl.Pos) string {
	if file.Body == nil {
		return ""
	}
	var parts []string
	for _, block := range file.BlocksAtPos(pos) {
		var b strings.Builder
		b.WriteString(block.Type)
		for _, label := range block.Labels {
			fmt.Fprintf(&b, " %q", label)
		}
		parts = append(parts, b.String())
	}
	return valid(strings.Join(parts, ", "))
}

// Value is the value of a variable in the failed expression.
type Value struct {
	Traversal string `json:"traversal"` // "var.rate"
	Statement string `json:"statement"` // `is 4`, "is (sensitive value)"
}

// maxValueRunes is the number of runes of a string to show.
const maxValueRunes = 60

// values returns the values of the variables in the expression of d, sorted. It skips variables
// that cannot be resolved, because the diagnostic is about them.
func values(d *hcl.Diagnostic) []Value {
	out := []Value{}
	if d.Expression == nil || d.EvalContext == nil {
		return out
	}
	seen := map[string]bool{}
	for _, traversal := range d.Expression.Variables() {
		for len(traversal) > 1 {
			value, diags := traversal.TraverseAbs(d.EvalContext)
			if diags.HasErrors() {
				// The longest part that resolves shows where the error is.
				traversal = traversal[:len(traversal)-1]
				continue
			}
			name := TraversalText(traversal)
			if !seen[name] {
				seen[name] = true
				out = append(out, Value{Traversal: name, Statement: statement(value)})
			}
			break
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Traversal < out[j].Traversal })
	return out
}

// statement describes a value in words. It shows neither the content of a marked value nor the
// elements of a collection.
func statement(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsMarked():
		return "is (sensitive value)"
	case v.IsNull():
		return "is null"
	case ty == cty.DynamicPseudoType:
		return "is not known yet"
	case !v.IsKnown():
		return "is a " + ty.FriendlyName() + ", not known yet"
	case ty == cty.Bool:
		return "is " + strconv.FormatBool(v.True())
	case ty == cty.Number:
		return "is " + v.AsBigFloat().Text('g', 10)
	case ty == cty.String:
		return "is " + quote(v.AsString())
	case ty.IsObjectType():
		return fmt.Sprintf("is an object with %s", humanize.Count(len(ty.AttributeTypes()), "attribute"))
	case v.CanIterateElements():
		return fmt.Sprintf("is a %s with %s", ty.FriendlyName(), humanize.Count(v.LengthInt(), "element"))
	}
	return "is a " + ty.FriendlyName()
}

func quote(s string) string {
	if runes := []rune(s); len(runes) > maxValueRunes {
		return strconv.Quote(string(runes[:maxValueRunes])) + "…"
	}
	return strconv.Quote(s)
}

// TraversalText returns a traversal as written in a file.
func TraversalText(traversal hcl.Traversal) string {
	var b strings.Builder
	for _, step := range traversal {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(valid(step.Name))
		case hcl.TraverseAttr:
			b.WriteByte('.')
			b.WriteString(valid(step.Name))
		case hcl.TraverseIndex:
			b.WriteString("[" + indexText(step.Key) + "]")
		case hcl.TraverseSplat:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

func indexText(key cty.Value) string {
	switch {
	case key.IsMarked():
		return "(sensitive value)"
	case !key.IsKnown() || key.IsNull():
		return "…"
	case key.Type() == cty.String:
		return quote(key.AsString())
	case key.Type() == cty.Number:
		return key.AsBigFloat().Text('g', 10)
	}
	return "…"
}
