package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/internal/members"
)

// node is a JSON Schema, with its keywords in the order in which people read them.
type node struct {
	Dialect     string           `json:"$schema,omitempty"`
	ID          string           `json:"$id,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Ref         string           `json:"$ref,omitempty"`
	Type        any              `json:"type,omitempty"`
	Format      string           `json:"format,omitempty"`
	Pattern     string           `json:"pattern,omitempty"`
	Enum        []string         `json:"enum,omitempty"`
	Minimum     *float64         `json:"minimum,omitempty"`
	Maximum     *float64         `json:"maximum,omitempty"`
	Items       *node            `json:"items,omitempty"`
	Values      *node            `json:"additionalProperties,omitempty"`
	Properties  properties       `json:"properties,omitempty"`
	Required    []string         `json:"required,omitempty"`
	Defs        map[string]*node `json:"$defs,omitempty"`
}

// properties are members in the order of the type.
type properties []property

type property struct {
	name string
	node *node
}

func (ps properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, p := range ps {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + strconv.Quote(p.name) + ":")
		text, err := marshal(p.node, "")
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// schema of a document, whose comments are read from the source of the module in a folder.
func (d Document) schema(root string) ([]byte, error) {
	g := generator{root: root, enums: d.Enums, read: map[string]bool{}, docs: map[string]string{}, values: map[string][]string{},
		defs: map[string]*node{}, types: map[string]reflect.Type{}}
	if err := g.visit(d.Type); err != nil {
		return nil, err
	}
	family, version := path.Split(d.Version)
	major, _, _ := strings.Cut(version, ".")
	g.version = "^" + family + major + `\.[0-9]+$`
	n := g.object(d.Type)
	n.Dialect, n.ID = "https://json-schema.org/draft/2020-12/schema", "https://raw.githubusercontent.com/servegate/pipeline/main/docs/"+
		d.Name+".schema.json"
	n.Title = d.Title + ", version " + version
	n.Description += " " + d.Note
	n.Defs = g.defs
	return marshal(n, "  ")
}

type generator struct {
	root    string // of the module
	version string // the pattern of the member schema
	enums   map[reflect.Type][]string
	read    map[string]bool         // packages whose comments are in docs
	docs    map[string]string       // of types, fields and constants: "result.Run", "result.Run.Pass", "result.RunStatus=ok"
	values  map[string][]string     // the constants of a type: "result.RunStatus"
	types   map[string]reflect.Type // structs of the document by their names
	defs    map[string]*node
}

const module = "github.com/servegate/pipeline/"

// nameOf is a type's key in a generator's maps.
func nameOf(t reflect.Type) string { return path.Base(t.PkgPath()) + "." + t.Name() }

// visit finds the types below t, and reads the comments of their packages.
func (g *generator) visit(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return g.visit(t.Elem())
	}
	dir, ours := strings.CutPrefix(t.PkgPath(), module)
	if !ours {
		return nil
	}
	if !g.read[dir] {
		g.read[dir] = true
		if err := g.comments(filepath.Join(g.root, filepath.FromSlash(dir))); err != nil {
			return err
		}
	}
	if t.Kind() != reflect.Struct || g.types[t.Name()] == t {
		return nil
	}
	if other := g.types[t.Name()]; other != nil {
		return fmt.Errorf("%s and %s have one name in the schema", other, t)
	}
	g.types[t.Name()] = t
	for _, m := range members.Of(t) {
		if err := errors.Join(g.visit(m.Owner), g.visit(m.Field.Type)); err != nil {
			return err
		}
	}
	return nil
}

// object is the schema of a struct.
func (g *generator) object(t reflect.Type) *node {
	n := &node{Description: g.text(t, g.docs[nameOf(t)]), Type: "object"}
	for _, f := range members.Of(t) {
		p := g.node(f.Field.Type)
		if f.Field.Type.Kind() == reflect.Pointer && !f.Optional {
			p.Type = []any{p.Type, "null"}
		}
		if f.Bounded {
			p.Minimum, p.Maximum = limit(f.Low), limit(f.High)
		}
		if f.Name == "schema" {
			p.Pattern = g.version
		}
		p.Description = g.text(t, g.docs[nameOf(f.Owner)+"."+f.Field.Name])
		if i := slices.IndexFunc(n.Properties, func(q property) bool { return strings.Contains(q.node.Description, "`"+f.Name+"`") }); i >= 0 &&
			p.Description == "" {
			p.Description = "See `" + n.Properties[i].name + "`."
		}
		n.Properties = append(n.Properties, property{f.Name, p})
		if !f.Optional {
			n.Required = append(n.Required, f.Name)
		}
	}
	return n
}

func limit(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func (g *generator) node(t reflect.Type) *node {
	if t == reflect.TypeFor[time.Time]() {
		return &node{Type: "string", Format: "date-time"}
	}
	if values := g.enumeration(t); values != nil {
		return g.define(t, func() *node {
			return &node{Description: g.enum(t, values), Type: "string", Enum: values}
		})
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.node(t.Elem())
	case reflect.Struct:
		return g.define(t, func() *node { return g.object(t) })
	case reflect.Slice:
		return &node{Type: "array", Items: g.node(t.Elem())}
	case reflect.Map:
		return &node{Type: "object", Values: g.node(t.Elem())}
	case reflect.Interface:
		return &node{Type: []string{"string", "number", "boolean"}}
	case reflect.Int, reflect.Uint64:
		return &node{Type: "integer", Minimum: new(0.0)}
	case reflect.Float64:
		return &node{Type: "number"}
	case reflect.Bool:
		return &node{Type: "boolean"}
	case reflect.String:
		return &node{Type: "string"}
	}
	panic("no schema for " + t.String())
}

// enumeration is the values of a closed type, nil for others: those of the table, or all constants.
func (g *generator) enumeration(t reflect.Type) []string {
	if values, ok := g.enums[t]; ok || t.Kind() != reflect.String || t.PkgPath() == "" {
		return values
	}
	return g.values[nameOf(t)]
}

// define puts a type among the definitions, and refers to it.
func (g *generator) define(t reflect.Type, make func() *node) *node {
	if _, ok := g.defs[t.Name()]; !ok {
		g.defs[t.Name()] = nil // not twice
		g.defs[t.Name()] = make()
	}
	return &node{Ref: "#/$defs/" + t.Name()}
}

// enum describes a type and those of its values that have a comment.
func (g *generator) enum(t reflect.Type, values []string) string {
	parts := []string{strings.TrimSuffix(g.docs[nameOf(t)], ".")}
	for _, v := range values {
		if doc := g.docs[nameOf(t)+"="+v]; doc != "" {
			parts = append(parts, fmt.Sprintf("%s: %s", v, doc))
		}
	}
	return strings.Join(parts, "; ") + "."
}

var goName = lazyregexp.New(`\b([A-Z]\w*)(?:\.([A-Z]\w*))?\b`)

// text is a comment with the names of Go as the document has them.
func (g *generator) text(t reflect.Type, comment string) string {
	names := map[string]string{}
	for _, f := range members.Of(t) {
		names[f.Field.Name] = f.Name
	}
	known := slices.Sorted(maps.Keys(names))
	return goName.ReplaceAllStringFunc(comment, func(s string) string {
		typ, field, qualified := strings.Cut(s, ".")
		switch {
		case qualified:
			return "`" + g.jsonName(typ, field) + "` of a " + strings.ToLower(typ)
		case slices.Contains(known, s):
			return "`" + names[s] + "`"
		}
		return s
	})
}

// jsonName is the name of a member that a comment mentions by type and field.
func (g *generator) jsonName(typ, field string) string {
	if t := g.types[typ]; t != nil {
		for _, f := range members.Of(t) {
			if f.Field.Name == field {
				return f.Name
			}
		}
	}
	panic("a comment names " + typ + "." + field)
}

// comments reads those of a package's types, their fields and their constants.
func (g *generator) comments(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range decl.Specs {
					g.collect(filepath.Base(dir)+".", decl, spec)
				}
			}
		}
	}
	return nil
}

func (g *generator) collect(pkg string, decl *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		g.docs[pkg+spec.Name.Name] = sentence(decl.Doc, spec.Doc)
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return
		}
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				g.docs[pkg+spec.Name.Name+"."+name.Name] = sentence(f.Doc, f.Comment)
			}
		}
	case *ast.ValueSpec:
		typ, ok := spec.Type.(*ast.Ident)
		if !ok || len(spec.Values) != 1 {
			return
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok {
			text, err := strconv.Unquote(value.Value)
			if err != nil {
				panic(err)
			}
			g.values[pkg+typ.Name] = append(g.values[pkg+typ.Name], text)
			g.docs[pkg+typ.Name+"="+text] = strings.TrimPrefix(strings.TrimSuffix(sentence(spec.Doc, spec.Comment), "."), spec.Names[0].Name+": ")
		}
	}
}

func sentence(groups ...*ast.CommentGroup) string {
	var parts []string
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}
