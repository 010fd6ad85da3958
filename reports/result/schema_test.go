package result

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/servegate/pipeline/reports/internal/schematest"
)

// described is the document as its schema is generated.
func described() schematest.Document {
	return schematest.Document{
		Name: "results", Title: "Result document of pipeline", Type: reflect.TypeFor[Document](), Version: Schema, Enums: enums,
		Note: "What does not apply or is not known is absent: null is never written. Times are seconds and rates per second unless a member " +
			"says otherwise. Readers ignore unknown members of the same major version.",
	}
}

// The schema is generated from the types and their comments.
func TestSchemaIsCurrent(t *testing.T) {
	schematest.Current(t, "../..", described(), "schema.json", "../../docs/results.schema.json")
	if newest := Changelog()[0].Version; !strings.HasSuffix(Schema, "/"+newest) {
		t.Errorf("the newest version of the changelog is %s, documents are written as %s", newest, Schema)
	}
}

// Every result document in the repository is valid, and has no member that the types lack.
func TestDocumentsOfTheRepositoryAreValid(t *testing.T) {
	schema := schematest.Compile(t, "schema.json") // which -update may just have written
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
	schema := schematest.Compile(t, "schema.json") // which -update may just have written
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
	newer := bytes.Replace(golden, []byte(`"schema": "pipeline/result/1.0",`),
		[]byte(`"schema": "pipeline/result/1.7", "added_later": [1],`), 1)
	if err := schematest.Validate(schema, newer); err != nil {
		t.Errorf("a newer minor version: %v", err)
	}
}

// valid reports what is wrong with a document of this version.
func valid(schema *jsonschema.Schema, data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&Document{}); err != nil {
		return err
	}
	return schematest.Validate(schema, data)
}
