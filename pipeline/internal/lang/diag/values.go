package diag

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/zclconf/go-cty/cty"
)

// Value is what a variable of the expression at fault held.
type Value struct {
	Traversal string `json:"traversal"` // "var.rate"
	Statement string `json:"statement"` // `is 4`, "is (sensitive value)"
}

// maxValueRunes of a string are shown.
const maxValueRunes = 60

// values are those of the variables in the expression of d, sorted. A variable that
// cannot be resolved is left out: the diagnostic itself is about it then.
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
				// The longest part that resolves says where it goes wrong.
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

// statement describes a value in words. What a marked value holds is not said, nor what
// elements of a collection hold, marked or not.
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

// TraversalText is a traversal as it is written in a file.
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
