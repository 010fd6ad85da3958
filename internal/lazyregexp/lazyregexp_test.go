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

var (
	uses = regexp.MustCompile(`\b(lazyregexp\.New|NewPattern|NewRule|Matching)\(`)
	// arguments are the functions that take an expression, and as which argument.
	arguments = map[string]int{"lazyregexp.New": 0, "NewPattern": 0, "NewRule": 1, "Matching": 0}
	eager     = regexp.MustCompile(`(?m)^(?:var |\t)\w+ += regexp\.MustCompile\(.*`)
)

// TestExpressions compiles every expression of the module, since a faulty one would end the program only where it is used.
// A pattern of an engine's log has as many groups as fields. No expression of a package is compiled before it is used.
func TestExpressions(t *testing.T) {
	count, constants := map[string]int{}, packageConstants{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".ci" {
			return filepath.SkipDir // programs of their own
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if at := eager.FindString(string(source)); at != "" && !strings.Contains(path, "/internal/lazyregexp/") {
			t.Errorf("%s: %q is compiled at each start of the program: use lazyregexp.New", path, strings.TrimSpace(at))
		}
		if !uses.Match(source) {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok {
				if _, ok := arguments[f.Name.Name]; ok {
					return false // their callers have the text
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := strings.TrimPrefix(strings.TrimPrefix(nameOf(call.Fun), "engine."), "steps.")
			at, ok := arguments[name]
			if !ok {
				return true
			}
			text, err := constants.text(filepath.Dir(path), call.Args[at])
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
	if err != nil || count["lazyregexp.New"] < 50 || count["NewPattern"] < 20 || count["NewRule"] < 20 || count["Matching"] < 5 {
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

// packageConstants are the declarations of constants by folder and name.
type packageConstants map[string]map[string]ast.Expr

// of returns the declaration of a constant of a package, nil without one.
func (c packageConstants) of(folder, name string) ast.Expr {
	if c[folder] == nil {
		c[folder] = map[string]ast.Expr{}
		paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				continue
			}
			for _, d := range file.Decls {
				if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
					for _, spec := range d.Specs {
						spec := spec.(*ast.ValueSpec)
						for i, value := range spec.Values {
							c[folder][spec.Names[i].Name] = value
						}
					}
				}
			}
		}
	}
	return c[folder][name]
}

// text returns the text of literals and constants of a package that are added or joined.
func (c packageConstants) text(folder string, e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.Ident:
		if value := c.of(folder, e.Name); value != nil {
			return c.text(folder, value)
		}
	case *ast.BinaryExpr:
		x, err := c.text(folder, e.X)
		y, errY := c.text(folder, e.Y)
		return x + y, errors.Join(err, errY)
	case *ast.CallExpr:
		if nameOf(e.Fun) != "strings.Join" {
			break
		}
		if list, ok := e.Args[0].(*ast.CompositeLit); ok {
			var all []string
			var errs []error
			for _, element := range list.Elts {
				text, err := c.text(folder, element)
				all, errs = append(all, text), append(errs, err)
			}
			between, err := c.text(folder, e.Args[1])
			return strings.Join(all, between), errors.Join(append(errs, err)...)
		}
	}
	return "", errors.New("this test reads literals, constants, sums of them and strings.Join of them alone")
}

func TestMethods(t *testing.T) {
	re := lazyregexp.New(`(\d)(\d*)`)
	if re.MatchString("none") || !re.Match([]byte("a 12 b")) || re.FindString("a 12 b") != "12" || re.String() != `(\d)(\d*)` {
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
	if m := re.FindAllIndex([]byte("1 23"), -1); len(m) != 2 || m[1][1] != 4 {
		t.Errorf("bounds %v", m)
	}
	if m := re.FindAllStringSubmatchIndex("1 23", -1); len(m) != 2 || m[1][5] != 4 {
		t.Errorf("bounds %v", m)
	}
}
