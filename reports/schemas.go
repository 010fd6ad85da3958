package reports

import (
	"embed"

	"github.com/servegate/pipeline/reports/result"
)

// schemas holds the schemas that TestSchemasAreCurrent generates from the types of the documents.
//
//go:embed schemas/*.schema.json
var schemas embed.FS

// Schema is the JSON Schema of a kind of document.
type Schema struct {
	Name string // of the file or the output
	JSON []byte
}

// Schemas returns the schemas of all documents that other programs can read.
func Schemas() []Schema {
	out := []Schema{{"results.json", result.JSONSchema()}}
	for _, name := range []string{"bisect", "history", "comparison", "notice"} {
		text, err := schemas.ReadFile("schemas/" + name + ".schema.json")
		if err != nil {
			panic(err) // a file of this package
		}
		out = append(out, Schema{name + ".json", text})
	}
	return out
}
