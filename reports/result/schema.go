package result

import (
	_ "embed"
	"slices"
)

// jsonSchema is written by TestSchemaIsCurrent from the types of this package.
//
//go:embed schema.json
var jsonSchema []byte

// JSONSchema returns the JSON Schema (draft 2020-12) of the document: the names, types, bounds and
// enumerations of its members. Only Validate checks references.
func JSONSchema() []byte { return slices.Clone(jsonSchema) }

// Change describes a version of the document.
type Change struct{ Version, Text string }

// Changelog lists the versions of the document, the newest first. A minor version adds members,
// which readers of the same major version ignore. A major version removes or changes members, and
// programs of other major versions reject it.
func Changelog() []Change {
	return []Change{
		{"1.0", "The first version."},
	}
}
