package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// Results writes the members of results.json from its JSON Schema, and the versions of the format.
func Results(w io.Writer) error {
	var root object
	if err := json.Unmarshal(result.JSONSchema(), &root); err != nil {
		return fmt.Errorf("reading the schema of results: %w", err)
	}
	var p page
	p.line("# results.json", "", generated, "",
		"The result of a run, and what other tools' results become by `pipeline import`. Members in bold are always there. Its",
		"[JSON Schema](../results.schema.json) (draft 2020-12) is what `pipeline schema results` prints.",
		"Each run has one line, and so has what is short; readers of JSON see no difference.", "", root.Description, "")
	p.line("## Document")
	p.object(root)
	for _, name := range slices.Sorted(maps.Keys(root.Defs)) {
		def := root.Defs[name]
		p.line("", "## "+name, "", def.Description)
		if len(def.Enum) > 0 {
			p.line("", "One of `"+strings.Join(def.Enum, "`, `")+"`.")
		}
		if len(def.Properties) > 0 {
			p.object(def)
		}
	}
	p.line("", "## Versions", "",
		"`schema` holds the version. A minor version adds members, which readers of the same major version ignore; a major one removes",
		"or changes some, and `pipeline` refuses the documents of another one.", "", "| version | changes |", "|---|---|")
	for _, c := range result.Changelog() {
		p.row(c.Version, c.Text)
	}
	return p.write(w)
}

// object is the part of a JSON Schema that the page uses.
type object struct {
	Description string            `json:"description"`
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Format      string            `json:"format"`
	Enum        []string          `json:"enum"`
	Items       *object           `json:"items"`
	Values      *object           `json:"additionalProperties"`
	Properties  members           `json:"properties"`
	Required    []string          `json:"required"`
	Defs        map[string]object `json:"$defs"`
}

// members are the members of an object, in the order of the schema.
type members []member

type member struct {
	name   string
	schema object
}

func (ms *members) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil { // the opening brace
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		m := member{name: fmt.Sprint(name)}
		if err := dec.Decode(&m.schema); err != nil {
			return err
		}
		*ms = append(*ms, m)
	}
	return nil
}

func (p *page) object(o object) {
	p.line("", "| member | type | meaning |", "|---|---|---|")
	for _, m := range o.Properties {
		name := code(m.name)
		if slices.Contains(o.Required, m.name) {
			name = "**" + name + "**"
		}
		p.row(name, m.schema.typeText(), m.schema.Description)
	}
}

// typeText returns a type in words, with links to defined objects.
func (o object) typeText() string {
	switch {
	case o.Ref != "":
		return link(o.Ref[strings.LastIndex(o.Ref, "/")+1:])
	case o.Items != nil:
		return "list of " + o.Items.typeText()
	case o.Values != nil:
		return "map to " + o.Values.typeText()
	case o.Format == "date-time":
		return "time (RFC 3339)"
	}
	if several, ok := o.Type.([]any); ok {
		words := make([]string, len(several))
		for i, t := range several {
			words[i] = fmt.Sprint(t)
		}
		return strings.Join(words, " or ")
	}
	return fmt.Sprint(o.Type)
}
