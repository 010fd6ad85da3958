package reference

import (
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/steps/enum"
)

// node is a part of a JSON Schema.
type node map[string]any

// JSONSchema writes the language as a JSON Schema of files in the JSON syntax. Editors use it to
// complete and check files.
func JSONSchema(w io.Writer, doc lang.SchemaDoc) error {
	s := schemaWriter{node{}, map[string]string{}}
	root := s.object(doc.Blocks, nil, "", rootPath)
	root["properties"].(node)["$schema"] = node{"type": "string"}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Pipeline file in the JSON syntax (*.pipeline.json)"
	root["$defs"] = s.defs
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(root)
}

// rootPath is the path of the blocks of a file.
const rootPath = ""

// schemaWriter collects the definitions of blocks by path; equal ones are stored once.
type schemaWriter struct {
	defs node
	// paths of the definitions by their text.
	paths map[string]string
}

// object returns the schema of a body: its arguments and blocks are the properties.
func (s schemaWriter) object(blocks []lang.BlockDoc, arguments []lang.ArgumentDoc, free, path string) node {
	properties := node{"//": node{"description": "A comment."}}
	var required []string
	// Required arguments can come from the extended server.
	extends := slices.ContainsFunc(arguments, func(a lang.ArgumentDoc) bool { return a.Name == "extends" })
	for _, a := range arguments {
		properties[a.Name] = argumentSchema(a)
		if a.Required && !extends {
			required = append(required, a.Name)
		}
	}
	for _, b := range blocks {
		nested := s.labels(b, path)
		switch other := properties[b.Type].(type) {
		case nil:
			properties[b.Type] = nested
		case node:
			if b.Kind != "" && other["properties"] != nil {
				other["properties"].(node)[b.Kind] = nested["properties"].(node)[b.Kind]
			} else { // an argument and a block with the same name
				properties[b.Type] = node{"anyOf": []node{other, nested}}
			}
		}
	}
	out := node{"type": "object", "properties": properties, "additionalProperties": false}
	if free != "" {
		out["additionalProperties"] = node{"description": free}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// labels returns the schema of a block below its labels: {"vllm": {"NAME": {…}}}.
func (s schemaWriter) labels(b lang.BlockDoc, path string) node {
	path = strings.TrimPrefix(path+"."+b.Type, ".")
	if b.Kind != "" {
		path += "." + b.Kind
	}
	out := node{"$ref": "#/$defs/" + s.define(b, path)}
	if b.Max != 1 {
		out = node{"anyOf": []node{out, {"type": "array", "items": out}}}
	}
	for i, label := range slices.Backward(b.Labels) {
		switch {
		case label == "kind" && b.Kind != "":
			out = node{"type": "object", "properties": node{b.Kind: out}, "additionalProperties": false}
		case i >= len(b.Labels)-b.OptionalLabels:
			out = node{"anyOf": []node{out, {"type": "object", "additionalProperties": out}}}
		default:
			out = node{"type": "object", "additionalProperties": out}
		}
	}
	return out
}

// define adds the definition of a block, and returns its path or that of an equal one.
func (s schemaWriter) define(b lang.BlockDoc, path string) string {
	def := s.object(b.Blocks, b.Arguments, b.AnyArgument, path)
	def["description"] = b.Doc
	text, err := json.Marshal(def)
	if err != nil {
		panic("reference: " + err.Error()) // it consists of strings
	}
	if same, ok := s.paths[string(text)]; ok {
		return same
	}
	s.paths[string(text)], s.defs[path] = path, def
	return path
}

// argumentSchema returns the schema of an argument: a value of its type, or a string with ${…}.
func argumentSchema(a lang.ArgumentDoc) node {
	out := node{"description": a.Doc}
	if slices.ContainsFunc(a.Enum, func(v enum.Value) bool { return v.Doc != "" }) {
		out["description"] = meaning(a)
	}
	if len(a.Default) > 0 {
		out["default"] = a.Default
	}
	if value := orTemplate(valueOf(a.Type, a)); value != nil {
		out["anyOf"] = append(value["anyOf"].([]node), node{"type": "null"})
	}
	return out
}

// orTemplate returns the schema of a value or a string with ${…}.
func orTemplate(value node) node {
	if value == nil {
		return nil
	}
	return node{"anyOf": []node{value, {"type": "string", "pattern": `[$%]\{`}}}
}

// valueOf returns the schema of a value of a type, nil for any.
func valueOf(typ string, a lang.ArgumentDoc) node {
	inner := func(prefix string) (string, bool) {
		rest, ok := strings.CutPrefix(typ, prefix+"(")
		return strings.TrimSuffix(rest, ")"), ok
	}
	if elem, ok := inner("list"); ok {
		return with(node{"type": "array"}, "items", orTemplate(valueOf(elem, a)))
	}
	if elem, ok := inner("map"); ok {
		return with(node{"type": "object"}, "additionalProperties", orTemplate(valueOf(elem, a)))
	}
	switch {
	case typ == "string" && len(a.Enum) > 0:
		return enumSchema(a.Enum)
	case a.Unit != "":
		return node{"type": []string{"string", "number"}}
	case typ == "string":
		return node{"type": []string{"string", "number", "boolean"}}
	case typ == "number":
		return node{"type": "number"}
	case typ == "bool":
		return node{"type": "boolean"}
	}
	return nil
}

// enumSchema returns the schema of one of some values.
func enumSchema(values enum.Values) node {
	var names []string
	var patterns []node
	for _, v := range values {
		if prefix, open := v.Prefix(); open {
			patterns = append(patterns, node{"type": "string", "pattern": "^" + regexp.QuoteMeta(prefix) + "."})
			continue
		}
		names = append(names, v.Name)
	}
	if len(patterns) == 0 {
		return node{"enum": names}
	}
	return node{"anyOf": append([]node{{"enum": names}}, patterns...)}
}

func with(n node, key string, value node) node {
	if value != nil {
		n[key] = value
	}
	return n
}
