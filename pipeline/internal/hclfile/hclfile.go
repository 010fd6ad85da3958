// Package hclfile writes pipeline files as a person would write them: aligned, with a blank line around blocks and
// values of several lines, and no quotes where HCL needs none.
//
//	var f hclfile.Body
//	sut := f.Block("server", "vllm", "sut")
//	sut.Set("image", hclfile.Expr("var.base"))
//	sut.Set("args", hclfile.Map{{Name: "max_model_len", Value: 4096}})
//	text := f.Bytes()
//
// It writes syntax and knows no block of the language.
package hclfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

const (
	// width is the longest line that a value may have without being broken into several.
	width = 100
	// commentWidth is the longest line of a comment.
	commentWidth = 110
)

// Expr is an expression that is written as it is, such as a reference.
type Expr string

// Map is an object in the order in which it is written.
type Map []Pair

// Tall is a Map that is written on several lines however short it is.
type Tall Map

// Pair is one element of an object.
type Pair struct {
	Name  string
	Value any
	// Comment stands behind the element, "" for none.
	Comment string
}

// Body is the content of a file or a block: attributes, blocks and comments in their order. The zero value is empty.
type Body struct{ items []item }

// item is an attribute, a block or a comment.
type item struct {
	comment string // lines of a comment; the rest is unset
	name    string // of an attribute, or type and labels of a block
	value   any
	remark  string // behind an attribute
	block   *Body
}

// Set adds an attribute. A value is a string, a bool, a number, a list ([]any or []string), a Map, a map[string]any,
// whose keys are sorted, an Expr, or nil for null.
func (b *Body) Set(name string, value any) { b.items = append(b.items, item{name: name, value: value}) }

// SetWithComment adds an attribute with a comment behind it.
func (b *Body) SetWithComment(name string, value any, comment string) {
	b.items = append(b.items, item{name: name, value: value, remark: comment})
}

// Block adds a block and returns its body.
func (b *Body) Block(kind string, labels ...string) *Body {
	head := []string{kind}
	for _, l := range labels {
		head = append(head, quote(l))
	}
	inner := &Body{}
	b.items = append(b.items, item{name: strings.Join(head, " "), block: inner})
	return inner
}

// Comment adds a comment in front of what is added next. Long lines are wrapped; each line of text begins a new one.
func (b *Body) Comment(text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.items = append(b.items, item{comment: wrap(clean(line))})
	}
}

// Gap adds a blank line.
func (b *Body) Gap() { b.items = append(b.items, item{comment: "\n"}) }

// Empty reports whether nothing was added.
func (b *Body) Empty() bool { return len(b.items) == 0 }

// Bytes returns the text of a file.
func (b *Body) Bytes() []byte {
	var out strings.Builder
	b.write(&out, 0)
	return hclwrite.Format([]byte(out.String()))
}

func (b *Body) write(out *strings.Builder, depth int) {
	indent := strings.Repeat("  ", depth)
	separate := false // whether a blank line follows the item before
	for i, it := range b.items {
		if it.comment == "\n" {
			separate = true
			continue
		}
		text := b.text(it, depth)
		tall := strings.Contains(strings.TrimRight(text, "\n"), "\n") && it.comment == ""
		commented := i > 0 && b.items[i-1].comment != "" && b.items[i-1].comment != "\n"
		if i > 0 && !commented && (separate || tall || it.block != nil || it.comment != "" && b.leads(i)) {
			out.WriteString("\n")
		}
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) != "" {
				line = indent + line
			}
			out.WriteString(line)
		}
		separate = tall || it.block != nil
	}
}

// leads reports whether the comment at i stands in front of a block or a value of several lines.
func (b *Body) leads(i int) bool {
	for _, it := range b.items[i:] {
		if it.comment == "" {
			return it.block != nil || strings.Contains(Value(it.value, 0), "\n")
		}
	}
	return true
}

// text returns the lines of an item without the indentation of its body.
func (b *Body) text(it item, depth int) string {
	switch {
	case it.comment != "":
		return it.comment
	case it.block != nil && it.block.Empty():
		return it.name + " {\n}\n"
	case it.block != nil:
		var inner strings.Builder
		it.block.write(&inner, 1)
		return it.name + " {\n" + inner.String() + "}\n"
	}
	text := it.name + " = " + Value(it.value, 2*depth+len(it.name)+len(" = "))
	if it.remark != "" {
		text += " # " + clean(it.remark)
	}
	return text + "\n"
}

// Value returns a value as HCL. It breaks an object or a list into several lines if it would end beyond the width of a
// line that already holds used columns, or if one of its elements has a comment.
func Value(v any, used int) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case Expr:
		return string(v)
	case string:
		return quote(v)
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case int, int64, uint64:
		return fmt.Sprint(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return Value(list, used)
	case []any:
		return sequence(v, used)
	case map[string]any:
		m := make(Map, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			m = append(m, Pair{Name: name, Value: v[name]})
		}
		return Value(m, used)
	case Map:
		return object(v, used)
	case Tall:
		return object(Map(v), width)
	}
	panic(fmt.Sprintf("hclfile: no value of a pipeline file is a %T", v))
}

func sequence(list []any, used int) string {
	parts := make([]string, len(list))
	for i := range list {
		parts[i] = Value(list[i], 0)
	}
	if short := "[" + strings.Join(parts, ", ") + "]"; used+len(short) <= width && !strings.Contains(short, "\n") {
		return short
	}
	return "[\n" + deeper(strings.Join(fill(parts), "\n")) + "\n]"
}

// fill puts as many short elements into a line as fit; one of several lines, or a long one, stands alone.
func fill(parts []string) []string {
	const long = 24
	var lines []string
	current := ""
	for _, p := range parts {
		p += ","
		switch {
		case len(p) > long:
			if current != "" {
				lines = append(lines, current)
			}
			lines, current = append(lines, p), ""
		case current == "":
			current = p
		case len(current)+1+len(p) > width-20:
			lines, current = append(lines, current), p
		default:
			current += " " + p
		}
	}
	if current != "" {
		lines = append(lines, current)
	}
	return lines
}

func object(m Map, used int) string {
	if len(m) == 0 {
		return "{}"
	}
	var inline, lines []string
	commented := false
	for _, p := range m {
		inline = append(inline, key(p.Name)+" = "+Value(p.Value, 0))
		line := key(p.Name) + " = " + Value(p.Value, 2+len(p.Name)+len(" = "))
		if p.Comment != "" {
			line += " # " + clean(p.Comment)
			commented = true
		}
		lines = append(lines, line)
	}
	if short := "{ " + strings.Join(inline, ", ") + " }"; !commented && used+len(short) <= width && !strings.Contains(short, "\n") {
		return short
	}
	return "{\n" + deeper(strings.Join(lines, "\n")) + "\n}"
}

func deeper(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// key returns the name of an element as HCL: bare if it is an identifier.
func key(name string) string {
	if hclsyntax.ValidIdentifier(name) && name != "null" && name != "true" && name != "false" && name != "for" {
		return name
	}
	return quote(name)
}

// quote returns a string as HCL, with its templates escaped.
func quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}

// clean keeps text of unknown origin within the line of a comment.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// wrap returns a line as comment lines. Continued lines of an item of a list are indented like its text.
func wrap(line string) string {
	if strings.TrimSpace(line) == "" {
		return "#\n"
	}
	hang := ""
	if strings.HasPrefix(line, "* ") {
		hang = "  "
	}
	if len(line) <= commentWidth || strings.HasPrefix(line, "  ") {
		return "# " + line + "\n"
	}
	var out strings.Builder
	current := "#"
	for word := range strings.FieldsSeq(line) {
		if len(current)+1+len(word) > commentWidth && current != "#" && strings.TrimSpace(current) != "#" {
			out.WriteString(current + "\n")
			current = "#" + hang
		}
		current += " " + word
	}
	return out.String() + current + "\n"
}
