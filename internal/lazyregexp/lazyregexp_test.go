package lazyregexp_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

var uses = regexp.MustCompile(`\b(lazyregexp\.New|NewPattern|Matching)\(`)

// TestExpressions compiles every expression of the module, since a faulty one would end the program only where it is used.
// A pattern of an engine's log has as many groups as fields.
func TestExpressions(t *testing.T) {
	count := map[string]int{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil || !uses.Match(source) {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && (f.Name.Name == "NewPattern" || f.Name.Name == "Matching") {
				return false // their callers have the text
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := strings.TrimPrefix(strings.TrimPrefix(nameOf(call.Fun), "engine."), "steps.")
			if name != "lazyregexp.New" && name != "NewPattern" && name != "Matching" {
				return true
			}
			text, err := constant(call.Args[0])
			if err != nil && name == "Matching" {
				return true // made of an expression that is compiled, or of names
			}
			count[name]++
			var re *regexp.Regexp
			if err == nil {
				re, err = regexp.Compile(text)
			}
			switch {
			case err != nil:
				t.Errorf("%s: %v", set.Position(call.Pos()), err)
			case name == "NewPattern" && re.NumSubexp() != len(call.Args)-1:
				t.Errorf("%s: %d groups and %d fields", set.Position(call.Pos()), re.NumSubexp(), len(call.Args)-1)
			}
			return true
		})
		return nil
	})
	if err != nil || count["lazyregexp.New"] < 50 || count["NewPattern"] < 20 || count["Matching"] < 5 {
		t.Errorf("found %v, %v", count, err)
	}
}

// nameOf returns the name of a function with its package.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	}
	return ""
}

// constant returns the text of literals that are added or joined.
func constant(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.BinaryExpr:
		x, err := constant(e.X)
		y, errY := constant(e.Y)
		return x + y, errors.Join(err, errY)
	case *ast.CallExpr:
		if nameOf(e.Fun) != "strings.Join" {
			break
		}
		if list, ok := e.Args[0].(*ast.CompositeLit); ok {
			var all []string
			var errs []error
			for _, element := range list.Elts {
				text, err := constant(element)
				all, errs = append(all, text), append(errs, err)
			}
			between, err := constant(e.Args[1])
			return strings.Join(all, between), errors.Join(append(errs, err)...)
		}
	}
	return "", errors.New("this test reads literals, sums of them and strings.Join of them alone")
}

func TestMethods(t *testing.T) {
	re := lazyregexp.New(`(\d)(\d*)`)
	if re.MatchString("none") || !re.MatchString("a 12 b") || re.FindString("a 12 b") != "12" || re.String() != `(\d)(\d*)` {
		t.Error("the first match is not found")
	}
	if got := re.ReplaceAllString("1 23", "$2$1") + re.ReplaceAllStringFunc("45", strings.ToUpper); got != "1 3245" {
		t.Errorf("replaced: %q", got)
	}
	if n := len(re.FindAllString("1 23 4", -1)) + len(re.FindAllStringIndex("1 23 4", 2)) + len(re.FindAllStringSubmatch("1", -1)); n != 6 {
		t.Errorf("%d matches, want 6", n)
	}
	if m := re.FindStringSubmatch("x45"); len(m) != 3 || m[2] != "5" || re.FindStringIndex("x45")[0] != 1 ||
		re.FindStringSubmatchIndex("x45")[4] != 2 {
		t.Errorf("groups %q", m)
	}
	if m := re.FindAllStringSubmatchIndex("1 23", -1); len(m) != 2 || m[1][5] != 4 {
		t.Errorf("bounds %v", m)
	}
}
