package result

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// published is the copy of the schema that others read.
const published = "../../docs/results.schema.json"

// The schema is generated from the types and their comments.
func TestSchemaIsCurrent(t *testing.T) {
	got, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"schema.json", published} {
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not that of the types; go test ./reports/result -update writes it (-file +types):\n%s", path, diff)
		}
	}
	if newest := Changelog()[0].Version; !strings.HasSuffix(Schema, "/"+newest) {
		t.Errorf("the newest version of the changelog is %s, documents are written as %s", newest, Schema)
	}
}

// Every result document in the repository is valid, and has no member that the types lack.
func TestDocumentsOfTheRepositoryAreValid(t *testing.T) {
	schema := compiled(t)
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(`"schema": "`+Schema+`"`)) {
			return err
		}
		found++
		if err := valid(schema, data); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 5 {
		t.Errorf("%d documents were found", found)
	}
}

// What the schema refuses is what Validate and Decode refuse.
func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	golden, err := os.ReadFile("testdata/small.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"another major version": {`pipeline/result/1.0`, `pipeline/result/2.0`},
		"an unknown verdict":    {`"verdict": "regression"`, `"verdict": "worse"`},
		"null for nothing":      {`"lower": 0.098`, `"lower": null`},
		"a text for a number":   {`"alpha": 0.05`, `"alpha": "5%"`},
		"beyond its bounds":     {`"alpha": 0.05`, `"alpha": 5`},
		"a count below zero":    {`"repeats_done": 4`, `"repeats_done": -4`},
		"no gates":              {`"gates": [`, `"doors": [`},
	} {
		changed := bytes.Replace(golden, []byte(edit[0]), []byte(edit[1]), 1)
		if bytes.Equal(changed, golden) {
			t.Fatalf("%s: the document has no %s", name, edit[0])
		}
		if valid(schema, changed) == nil {
			t.Errorf("%s is valid", name)
		}
	}
	newer := bytes.Replace(golden, []byte(`"schema": "pipeline/result/1.0",`), []byte(`"schema": "pipeline/result/1.7", "added_later": [1],`), 1)
	if err := validate(schema, newer); err != nil {
		t.Errorf("a newer minor version: %v", err)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("schema.json") // which -update may just have written
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(schemaID, parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// valid reports what is wrong with a document of this version.
func valid(schema *jsonschema.Schema, data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&Document{}); err != nil {
		return err
	}
	return validate(schema, data)
}

func validate(schema *jsonschema.Schema, data []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}

// The rest of this file generates the schema.

const schemaID = "https://raw.githubusercontent.com/servegate/pipeline/main/docs/results.schema.json"

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

func generate() ([]byte, error) {
	docs, err := comments()
	if err != nil {
		return nil, err
	}
	g := generator{docs: docs, defs: map[string]*node{}}
	root := g.object(reflect.TypeFor[Document]())
	root.Dialect, root.ID = "https://json-schema.org/draft/2020-12/schema", schemaID
	root.Title = "Result document of pipeline, version " + Schema[strings.LastIndex(Schema, "/")+1:]
	root.Description += " What does not apply or is not known is absent: null is never written. Times are seconds and rates per second unless a member says otherwise. Readers ignore unknown members of the same major version."
	root.Defs = g.defs
	return marshal(root, "  ")
}

type generator struct {
	docs map[string]string // of types, fields and constants: "Run", "Run.Pass", "RunStatus=ok"
	defs map[string]*node
}

// object is the schema of a struct.
func (g *generator) object(t reflect.Type) *node {
	n := &node{Description: g.text(t, g.docs[t.Name()]), Type: "object"}
	for f := range fieldsOf(t) {
		p := g.node(f.goes.Type)
		if f.bounded {
			p.Minimum, p.Maximum = limit(f.low), limit(f.high)
		}
		if f.name == "schema" {
			p.Pattern = `^pipeline/result/1\.[0-9]+$`
		}
		p.Description = g.text(t, g.docs[t.Name()+"."+f.goes.Name])
		if i := slices.IndexFunc(n.Properties, func(q property) bool { return strings.Contains(q.node.Description, "`"+f.name+"`") }); i >= 0 && p.Description == "" {
			p.Description = "See `" + n.Properties[i].name + "`."
		}
		n.Properties = append(n.Properties, property{f.name, p})
		if !f.optional {
			n.Required = append(n.Required, f.name)
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
	if values, ok := enums[t]; ok {
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
	parts := []string{strings.TrimSuffix(g.docs[t.Name()], ".")}
	for _, v := range values {
		if doc := g.docs[t.Name()+"="+v]; doc != "" {
			parts = append(parts, fmt.Sprintf("%s: %s", v, doc))
		}
	}
	return strings.Join(parts, "; ") + "."
}

var goName = regexp.MustCompile(`\b([A-Z]\w*)(?:\.([A-Z]\w*))?\b`)

// text is a comment with the names of Go as the document has them.
func (g *generator) text(t reflect.Type, comment string) string {
	names := map[string]string{}
	for f := range fieldsOf(t) {
		names[f.goes.Name] = f.name
	}
	known := slices.Sorted(maps.Keys(names))
	return goName.ReplaceAllStringFunc(comment, func(s string) string {
		typ, field, qualified := strings.Cut(s, ".")
		switch {
		case qualified:
			return "`" + jsonName(typ, field) + "` of a " + strings.ToLower(typ)
		case slices.Contains(known, s):
			return "`" + names[s] + "`"
		}
		return s
	})
}

// jsonName is the name of a member that a comment mentions by type and field.
func jsonName(typ, field string) string {
	for _, t := range []reflect.Type{reflect.TypeFor[Run](), reflect.TypeFor[Cell](), reflect.TypeFor[Decision]()} {
		for f := range fieldsOf(t) {
			if t.Name() == typ && f.goes.Name == field {
				return f.name
			}
		}
	}
	panic("a comment names " + typ + "." + field)
}

// comments reads those of the package's types, their fields and the values of enumerations,
// and those of package metric, whose types the document has too.
func comments() (map[string]string, error) {
	docs := map[string]string{}
	for _, pattern := range []string{"*.go", "../../gates/metric/metric.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.GenDecl); ok {
					for _, spec := range decl.Specs {
						collect(docs, decl, spec)
					}
				}
			}
		}
	}
	return docs, nil
}

func collect(docs map[string]string, decl *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		docs[spec.Name.Name] = sentence(decl.Doc, spec.Doc)
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return
		}
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				docs[spec.Name.Name+"."+name.Name] = sentence(f.Doc, f.Comment)
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
			docs[typ.Name+"="+text] = strings.TrimSuffix(sentence(spec.Doc, spec.Comment), ".")
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
