package reports

import (
	"embed"

	"github.com/servegate/pipeline/reports/result"
)

// schemas are written by TestSchemasAreCurrent from the types of the documents.
//
//go:embed schemas/*.schema.json
var schemas embed.FS

// Schema is the JSON Schema of a kind of document.
type Schema struct {
	Name string // of its file, or of what is printed
	JSON []byte
}

// Schemas are those of all documents that others can read.
func Schemas() []Schema {
	out := []Schema{{"results.json", result.JSONSchema()}}
	for _, name := range []string{"bisect", "history", "comparison"} {
		text, err := schemas.ReadFile("schemas/" + name + ".schema.json")
		if err != nil {
			panic(err) // a file of this package
		}
		out = append(out, Schema{name + ".json", text})
	}
	return out
}
