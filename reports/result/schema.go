package result

import (
	_ "embed"
	"slices"
)

// jsonSchema is written by TestSchemaIsCurrent from the types of this package.
//
//go:embed schema.json
var jsonSchema []byte

// JSONSchema is the JSON Schema (draft 2020-12) of the document: the names, types, bounds
// and enumerations of its members. That references lead somewhere is for Validate alone.
func JSONSchema() []byte { return slices.Clone(jsonSchema) }

// Change is a version of the document and what it brought.
type Change struct{ Version, Text string }

// Changelog lists the versions of the document, the newest first. A minor version adds
// members, which readers of the same major version ignore; a major one removes or changes
// some, and programs of another major version refuse it.
func Changelog() []Change {
	return []Change{
		{"1.0", "The first version."},
	}
}
