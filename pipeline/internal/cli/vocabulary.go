package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/reference"
	"github.com/servegate/pipeline/reports"
)

// vocabulary returns the words of the language and of the documents, in lower case: names of blocks, arguments and
// fields, values of enumerations, and parts of the names of metrics. A document in which one of them were masked could
// not be read again.
func (a *app) vocabulary() map[string]bool {
	words := map[string]bool{}
	for _, s := range reports.Schemas() {
		schemaWords(words, bytes.NewReader(s.JSON))
	}
	if registry, err := a.kinds(); err == nil {
		doc := lang.Schema(registry, a.formats.OfDocuments().Names(), a.tests, a.arrivals)
		var schema bytes.Buffer
		if reference.JSONSchema(&schema, doc) == nil {
			schemaWords(words, &schema)
		}
		for _, m := range doc.Metrics {
			for part := range strings.SplitSeq(m.Reference, ".") {
				words[strings.ToLower(part)] = true
			}
		}
	}
	for _, info := range event.Types {
		words[string(info.Type)] = true
	}
	seen := map[reflect.Type]bool{}
	fieldWords(words, reflect.TypeFor[event.Event](), seen)
	fieldWords(words, reflect.TypeFor[plan.Plan](), seen)
	return words
}

// schemaWords adds the names of properties and the values of enumerations of a JSON Schema.
func schemaWords(words map[string]bool, schema io.Reader) {
	var document any
	if json.NewDecoder(schema).Decode(&document) == nil {
		nodeWords(words, document)
	}
}

func nodeWords(words map[string]bool, node any) {
	switch node := node.(type) {
	case []any:
		for _, inner := range node {
			nodeWords(words, inner)
		}
	case map[string]any:
		for key, inner := range node {
			switch inner := inner.(type) {
			case map[string]any:
				if key == "properties" {
					for name := range inner {
						words[strings.ToLower(name)] = true
					}
				}
			case []any:
				if key == "enum" {
					for _, value := range inner {
						if text, ok := value.(string); ok {
							words[strings.ToLower(text)] = true
						}
					}
				}
			case string:
				if key == "const" {
					words[strings.ToLower(inner)] = true
				}
			}
			nodeWords(words, inner)
		}
	}
}

// fieldWords adds the names under which the fields of a type are encoded in JSON.
func fieldWords(words map[string]bool, t reflect.Type, seen map[reflect.Type]bool) {
	switch {
	case seen[t]:
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		fieldWords(words, t.Elem(), seen)
	case t.Kind() == reflect.Struct:
		seen[t] = true
		for field := range t.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				words[strings.ToLower(name)] = true
			}
			fieldWords(words, field.Type, seen)
		}
	}
}
