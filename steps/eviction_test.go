package steps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/servegate/pipeline/steps"
)

// TestEvictions: every class is listed once, with its meaning, and nothing else is.
func TestEvictions(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "eviction.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[steps.EvictionClass]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok {
			class, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			declared[steps.EvictionClass(class)] = true
		}
		return true
	})
	for _, e := range steps.Evictions() {
		if !declared[e.Class] || e.Doc == "" {
			t.Errorf("%q is listed without a constant, twice, or without its meaning", e.Class)
		}
		delete(declared, e.Class)
	}
	if len(declared) > 0 {
		t.Errorf("not listed: %v", declared)
	}
}
