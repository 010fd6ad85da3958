package lang

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// This file converts a file in the JSON syntax into the tree of the same file in the native syntax, with places
// in the JSON text. Later stages handle one kind of tree, so bounds on evaluation, secrets, differences between
// two files and diagnostics work for both.

// jsonReader reads one file.
type jsonReader struct {
	*decoder
	file syntax.File
}

// body converts an object into the body of a block of type t. A property becomes a block if the type has one of
// its name, else an argument.
func (r jsonReader) body(object hcl.Expression, t *blockType) *hclsyntax.Body {
	at := object.Range()
	out := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: at, EndRange: hcl.Range{Filename: at.Filename,
		Start: at.End, End: at.End}}
	properties, diags := hcl.ExprMap(object)
	if diags.HasErrors() {
		r.report(problem(codeBlock, at, fmt.Sprintf("%s must be an object", t.name), "Its properties are the arguments and blocks."))
		return out
	}
	for _, p := range properties {
		name, at := r.key(p.Key), p.Key.Range()
		if name == "//" || t.name == rootName && name == "$schema" {
			continue // a comment, and what editors look for
		}
		child := t.child(name)
		_, isArgument := t.schema.Attr(name)
		switch {
		case child != nil && (!isArgument || isObject(p.Value)):
			out.Blocks = append(out.Blocks, r.blocks(child, &hclsyntax.Block{Type: name, TypeRange: at}, p.Value)...)
		case child == nil && !isArgument && t.free == "" && r.isUnknownBlock(name, t, p.Value):
			unknown := &hclsyntax.Block{Type: name, TypeRange: at, Body: &hclsyntax.Body{SrcRange: at}}
			if meant := r.meant(name, t); meant != nil {
				out.Blocks = append(out.Blocks, r.blocks(meant, unknown, p.Value)...)
			} else {
				out.Blocks = append(out.Blocks, unknown)
			}
		case out.Attributes[name] != nil:
			r.report(duplicate(name, at, out.Attributes[name].NameRange))
		default:
			value := r.argument(t, name, p.Value)
			out.Attributes[name] = &hclsyntax.Attribute{Name: name, Expr: value, SrcRange: hcl.RangeBetween(at, p.Value.Range()),
				NameRange: at, EqualsRange: at}
		}
	}
	return out
}

// isUnknownBlock reports whether a property that t does not have is meant as a block.
func (r jsonReader) isUnknownBlock(name string, t *blockType, value hcl.Expression) bool {
	_, diags := hcl.ExprList(value)
	return isObject(value) && (!diags.HasErrors() || t.name == rootName || r.home(name, t) != "" || here(name, inBlock) != "")
}

// blocks converts a value into blocks of type t. The keys of its objects are the labels, from the outside to
// the inside. A list makes several blocks.
func (r jsonReader) blocks(t *blockType, b *hclsyntax.Block, value hcl.Expression) []*hclsyntax.Block {
	if list, diags := hcl.ExprList(value); !diags.HasErrors() {
		var out []*hclsyntax.Block
		for _, elem := range list {
			out = append(out, r.blocks(t, b, elem)...)
		}
		return out
	}
	whole := t
	if kind, ok := t.kindOf(r.registry, b.Labels); ok {
		whole = t.with(kind)
	}
	properties, diags := hcl.ExprMap(value)
	if diags.HasErrors() {
		r.report(problem(codeBlock, value.Range(), fmt.Sprintf("%s must be an object", t.name), fmt.Sprintf("Write %s.", jsonUsage(t))))
		return nil
	}
	if missing := len(t.labels) - len(b.Labels); missing > t.optional || missing > 0 && r.areLabels(properties, whole) {
		var out []*hclsyntax.Block
		for _, p := range properties {
			labelled := *b
			labelled.Labels = slices.Concat(b.Labels, []string{r.key(p.Key)})
			labelled.LabelRanges = slices.Concat(b.LabelRanges, []hcl.Range{p.Key.Range()})
			labelled.TypeRange = p.Key.Range() // so that the header is one line
			out = append(out, r.blocks(t, &labelled, p.Value)...)
		}
		return out
	}
	out := *b
	out.Body = r.body(value, whole)
	out.OpenBraceRange, out.CloseBraceRange = value.StartRange(), out.Body.EndRange
	return []*hclsyntax.Block{&out}
}

// areLabels reports whether the properties of an object can only be optional labels: each holds an object, and
// none is an argument or a block of the type.
func (r jsonReader) areLabels(properties []hcl.KeyValuePair, t *blockType) bool {
	for _, p := range properties {
		name := r.key(p.Key)
		if _, ok := t.schema.Attr(name); ok || t.child(name) != nil || !isObject(p.Value) {
			return false
		}
	}
	return len(properties) > 0
}

// jsonUsage returns how a block is written: {"server": {"KIND": {"NAME": {…}}}}.
func jsonUsage(t *blockType) string {
	text := "{…}"
	for _, label := range slices.Backward(t.labels) {
		text = fmt.Sprintf("{%q: %s}", strings.ToUpper(label), text)
	}
	return fmt.Sprintf("{%q: %s}", t.name, text)
}

// argument converts the value of an argument. Types and references are written as strings without ${…}:
// "list(string)", "server.vllm.base".
func (r jsonReader) argument(t *blockType, name string, value hcl.Expression) hclsyntax.Expression {
	if name == metaExtends || name == metaDependsOn || name == "type" && t.name == "variable" {
		return r.expression(value, syntax.Expression)
	}
	return r.expression(value, syntax.Template)
}

// expression converts a value into an expression. parse reads its strings.
func (r jsonReader) expression(value hcl.Expression, parse func([]byte, string) (hclsyntax.Expression,
	hcl.Diagnostics)) hclsyntax.Expression {
	at := value.Range()
	if properties, diags := hcl.ExprMap(value); !diags.HasErrors() {
		out := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: value.StartRange()}
		seen := map[string]hcl.Range{}
		for _, p := range properties {
			name := r.key(p.Key)
			if first, dup := seen[name]; dup {
				r.report(duplicate(name, p.Key.Range(), first))
			}
			seen[name] = p.Key.Range()
			out.Items = append(out.Items, hclsyntax.ObjectConsItem{KeyExpr: r.text(p.Key, syntax.Template), ValueExpr: r.expression(p.Value, parse)})
		}
		return out
	}
	if list, diags := hcl.ExprList(value); !diags.HasErrors() {
		out := &hclsyntax.TupleConsExpr{SrcRange: at, OpenRange: value.StartRange()}
		for _, elem := range list {
			out.Exprs = append(out.Exprs, r.expression(elem, parse))
		}
		return out
	}
	v, _ := value.Value(nil) // a constant
	if v.Type() == cty.String && !v.IsNull() {
		return r.text(value, parse)
	}
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}
}

// text converts a string. A single ${…} becomes the expression in it. A string that begins with "${" is read as
// a template even if parse expects an expression.
func (r jsonReader) text(value hcl.Expression, parse func([]byte, string) (hclsyntax.Expression, hcl.Diagnostics)) hclsyntax.Expression {
	text := r.key(value)
	if strings.HasPrefix(text, "${") {
		parse = syntax.Template
	}
	places := r.places(value.Range())
	expr, diags := parse([]byte(text), r.file.Name)
	for _, d := range diags {
		movePlaces(reflect.ValueOf(d), places, map[any]bool{})
		if d.Extra == nil {
			d.Extra = syntax.CodeSyntax
		}
		r.report(d)
	}
	if diags.HasErrors() {
		return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: value.Range()}
	}
	if wrap, ok := expr.(*hclsyntax.TemplateWrapExpr); ok {
		expr = wrap.Wrapped
	}
	movePlaces(reflect.ValueOf(expr), places, map[any]bool{})
	return expr
}

// key returns a string as it is written in the file: hcl would normalize it.
func (r jsonReader) key(value hcl.Expression) string {
	var text string
	if err := json.Unmarshal(value.Range().SliceBytes(r.file.Bytes), &text); err != nil {
		v, _ := value.Value(nil)
		return steps.Object{Attrs: map[string]cty.Value{"v": v}}.Text("v")
	}
	return text
}

// places returns a function that maps ranges in a string's text to ranges in the file. The text begins behind
// the quote at the start of at.
func (r jsonReader) places(at hcl.Range) func(hcl.Range) hcl.Range {
	raw := at.SliceBytes(r.file.Bytes)
	start := hcl.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: at.Start.Byte + 1}
	var positions []hcl.Pos // by byte of the text
	for i := 1; i < len(raw)-1; {
		escaped, decoded := 1, 1
		switch {
		case raw[i] == '\\' && raw[i+1] == 'u':
			escaped, decoded = escapedRune(raw[i:])
		case raw[i] == '\\':
			escaped = 2
		case raw[i] >= utf8.RuneSelf:
			_, escaped = utf8.DecodeRune(raw[i:])
			decoded = escaped
		}
		for range decoded {
			positions = append(positions, start)
		}
		start.Byte += escaped
		start.Column += utf8.RuneCount(raw[i : i+escaped])
		i += escaped
	}
	positions = append(positions, start)
	moved := func(p hcl.Pos) hcl.Pos { return positions[min(max(p.Byte, 0), len(positions)-1)] }
	return func(inner hcl.Range) hcl.Range {
		return hcl.Range{Filename: at.Filename, Start: moved(inner.Start), End: moved(inner.End)}
	}
}

// escapedRune returns the length of \uXXXX, or of both halves of a surrogate pair, and the length of the rune
// in the text.
func escapedRune(raw []byte) (escaped, decoded int) {
	unit := func(raw []byte) (rune, bool) {
		var u uint16
		n, err := fmt.Sscanf(string(raw[:min(len(raw), 6)]), `\u%04x`, &u)
		return rune(u), n == 1 && err == nil
	}
	first, ok := unit(raw)
	if !ok {
		return 2, 1
	}
	if second, ok := unit(raw[6:]); ok && utf16.IsSurrogate(first) {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return 12, utf8.RuneLen(r)
		}
	}
	if utf16.IsSurrogate(first) {
		first = utf8.RuneError
	}
	return 6, utf8.RuneLen(first)
}

var rangeType = reflect.TypeFor[hcl.Range]()

// movePlaces replaces every range in a tree of expressions or in a diagnostic. It replaces shared parts once.
func movePlaces(v reflect.Value, move func(hcl.Range) hcl.Range, seen map[any]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !seen[v.Interface()] {
			seen[v.Interface()] = true
			movePlaces(v.Elem(), move, seen)
		}
	case reflect.Interface:
		if v.IsNil() || !v.CanSet() {
			return
		}
		if v.Elem().Kind() == reflect.Pointer {
			movePlaces(v.Elem(), move, seen)
			return
		}
		c := reflect.New(v.Elem().Type()).Elem() // a step of a traversal
		c.Set(v.Elem())
		movePlaces(c, move, seen)
		v.Set(c)
	case reflect.Struct:
		if v.Type() == rangeType {
			if v.CanSet() {
				v.Set(reflect.ValueOf(move(v.Interface().(hcl.Range))))
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				movePlaces(v.Field(i), move, seen)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			movePlaces(v.Index(i), move, seen)
		}
	}
}

// isObject reports whether a value can be blocks: an object, or a list of objects.
func isObject(value hcl.Expression) bool {
	if list, diags := hcl.ExprList(value); !diags.HasErrors() {
		return len(list) > 0 && isObject(list[0])
	}
	_, diags := hcl.ExprMap(value)
	return !diags.HasErrors()
}
