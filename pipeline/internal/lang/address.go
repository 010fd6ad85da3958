package lang

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// reference is a traversal that names something of the file: its first names are the
// address, the rest leads into its value.
type reference struct {
	root string
	addr string        // "server.vllm.sut"; for a metric "metric.ttft"
	path []string      // the address in parts, root first
	rest hcl.Traversal // an instance's key, attributes
	full hcl.Traversal
}

// namesAfter says how many names follow a root in an address; 0 for what is no root.
func namesAfter(root string) int {
	switch root {
	case "var", "local", "deployment", "benchmark", "gate", "metric":
		return 1
	case "server", "step", "dataset", "baseline":
		return 2
	}
	return 0
}

// roots are the first names of references, in the order of the documentation.
func roots() []string {
	return []string{
		"var", "local", "each", "matrix", "self", "driver", "server", "step", "deployment",
		"dataset", "benchmark", "baseline", "gate", "metric",
	}
}

// parseReference splits a traversal. The problem is nil if it is an address in form;
// whether anything has it is another question.
func parseReference(t hcl.Traversal) (reference, *hcl.Diagnostic) {
	root := t.RootName()
	n := namesAfter(root)
	if n == 0 {
		return reference{}, unknownRoot(t)
	}
	r := reference{root: root, path: []string{root}, full: t}
	for i := 1; i <= n; i++ {
		name, ok := "", false
		if i < len(t) {
			name, ok = stepName(t[i])
		}
		if !ok {
			return r, problem(codeReference, t.SourceRange(), fmt.Sprintf("%s is not a whole reference", traversalText(t)),
				fmt.Sprintf("Write %s.", form(root)))
		}
		r.path = append(r.path, name)
	}
	r.addr = strings.Join(r.path, ".")
	r.rest = t[n+1:]
	return r, nil
}

// form is how a reference is written.
func form(root string) string {
	switch {
	case root == "metric":
		return "metric.GROUP.STAT"
	case namesAfter(root) == 2:
		return root + ".KIND.NAME"
	}
	return root + ".NAME"
}

func unknownRoot(t hcl.Traversal) *hcl.Diagnostic {
	root := t.RootName()
	detail := didYouMean(root, roots(), "things to refer to")
	if how := here(root, inRoot); how != "" {
		detail = how
	} else if len(t) == 1 {
		detail = fmt.Sprintf("If it is meant as text, write it in quotes: %q.", root)
	}
	return problem(codeReference, t.SourceRange(), fmt.Sprintf("there is no %s", traversalText(t)), detail)
}

// stepName is the name in a step of a traversal: .name or ["name"].
func stepName(step hcl.Traverser) (string, bool) {
	switch s := step.(type) {
	case hcl.TraverseRoot:
		return s.Name, true
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.IsKnown() && !s.Key.IsNull() && !s.Key.IsMarked() && s.Key.Type() == cty.String {
			return s.Key.AsString(), true
		}
	}
	return "", false
}

// traversalText is a traversal as it is written in a file.
func traversalText(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			b.WriteString("[" + keyText(s.Key) + "]")
		default:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

func keyText(key cty.Value) string {
	key, marks := key.Unmark()
	switch {
	case len(marks) > 0 || !key.IsKnown() || key.IsNull():
		return "…"
	case key.Type() == cty.String:
		return strconv.Quote(key.AsString())
	case key.Type() == cty.Number:
		return steps.NumberText(key.AsBigFloat())
	}
	return "…"
}

// instanceAddr is the address of one instance of a block with for_each.
func instanceAddr(addr, key string) string {
	return fmt.Sprintf("%s[%q]", addr, key)
}
