// Package schematest generates the JSON Schemas of documents from the types that they are written
// from and the comments of these. It is for tests: what they generate is committed.
package schematest

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is a document as its schema is generated.
type Document struct {
	Name    string // of its schema, docs/NAME.schema.json
	Title   string
	Type    reflect.Type
	Version string // such as "pipeline/result/1.0"
	Note    string // what is said of it besides the comment of its type
	// Enums are the values of types that are closed. A type that is not here has those of its constants.
	Enums map[reflect.Type][]string
}

// Current tests that files have the schema of a document, and writes them with -update. The
// source of the module is in the folder root.
func Current(t *testing.T, root string, d Document, files ...string) {
	t.Helper()
	got, err := d.schema(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
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
			t.Errorf("%s is not that of the types; go test -update writes it (-file +types):\n%s", path, diff)
		}
	}
}

// Compile reads the schema in a file.
func Compile(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Validate reports what of a document its schema refuses.
func Validate(schema *jsonschema.Schema, data []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}
