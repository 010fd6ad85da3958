package lang

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/servegate/pipeline/steps/load"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// SchemaDoc describes the language, for editors and for the reference documentation. It is made from the tables
// that decode files.
type SchemaDoc struct {
	FormatVersion string      `json:"format_version"`
	Blocks        []BlockDoc  `json:"blocks"`
	References    []RefDoc    `json:"references"`
	Metrics       []MetricDoc `json:"metrics"`
}

// BlockDoc describes a block. A block type whose first label is a kind has one BlockDoc
// for each kind, with Kind set.
type BlockDoc struct {
	Type   string   `json:"type"`
	Kind   string   `json:"kind,omitempty"`
	Labels []string `json:"labels,omitempty"`
	// OptionalLabels is the number of labels, counted from the last, that may be left out.
	OptionalLabels int           `json:"optional_labels,omitempty"`
	Doc            string        `json:"doc"`
	Arguments      []ArgumentDoc `json:"arguments,omitempty"`
	// AnyArgument documents arguments whose names the file chooses.
	AnyArgument string     `json:"any_argument,omitempty"`
	Blocks      []BlockDoc `json:"blocks,omitempty"`
	Min         int        `json:"min,omitempty"`
	Max         int        `json:"max,omitempty"` // 0 means any number
}

// ArgumentDoc describes an argument.
type ArgumentDoc struct {
	Name      string          `json:"name"`
	Type      string          `json:"type"`
	Unit      string          `json:"unit,omitempty"` // durations in nanoseconds, sizes in bytes, percentages as fractions
	Required  bool            `json:"required,omitempty"`
	Default   json.RawMessage `json:"default,omitempty"`
	Enum      enum.Values     `json:"enum,omitempty"`
	Sensitive bool            `json:"sensitive,omitempty"`
	Late      bool            `json:"late,omitempty"`
	Doc       string          `json:"doc"`
}

// RefDoc describes a form of reference.
type RefDoc struct {
	Form string `json:"form"`
	Doc  string `json:"doc"`
}

// MetricDoc describes a metric.
type MetricDoc struct {
	Reference   string `json:"reference"`
	Label       string `json:"label"`
	Unit        string `json:"unit"`
	Better      string `json:"better"`
	MinRequests int    `json:"min_requests"`
	Gated       bool   `json:"gated"`
	Definition  string `json:"definition"`
	Source      string `json:"source"`
}

// Schema describes the language with the kinds of a registry, the formats of reports, the
// tests of gates and the load models.
func Schema(registry *steps.Registry, formats []string, tests gates.Tests, arrivals load.Arrivals) SchemaDoc {
	doc := SchemaDoc{FormatVersion: "1.0"}
	for _, r := range roots {
		doc.References = append(doc.References, r.RefDoc)
	}
	for _, t := range rootType(formats, tests, arrivals).nested {
		doc.Blocks = append(doc.Blocks, blockDocs(t, registry)...)
	}
	for _, m := range metric.All() {
		doc.Metrics = append(doc.Metrics, MetricDoc{
			Reference: "metric." + m.ID, Label: m.Label, Unit: string(m.Unit), Better: string(m.Direction),
			MinRequests: m.MinRequests, Gated: !m.Informational, Definition: m.Definition, Source: m.Source,
		})
	}
	return doc
}

// blockDocs describes a block type, once for each of its kinds.
func blockDocs(t *blockType, registry *steps.Registry) []BlockDoc {
	if !t.byKind {
		return []BlockDoc{blockDoc(t, registry)}
	}
	var out []BlockDoc
	for _, name := range t.kindNames(registry) {
		k, _ := t.kind(registry, name)
		d := blockDoc(t.with(k), registry)
		d.Kind = k.Name
		d.Doc = k.Doc
		out = append(out, d)
	}
	return out
}

func blockDoc(t *blockType, registry *steps.Registry) BlockDoc {
	d := BlockDoc{Type: t.name, Labels: t.labels, OptionalLabels: t.optional, Doc: t.doc, AnyArgument: t.free, Min: t.min, Max: t.max}
	for _, a := range t.schema.Attrs {
		d.Arguments = append(d.Arguments, argumentDoc(a))
	}
	for _, c := range t.children() {
		d.Blocks = append(d.Blocks, blockDocs(c, registry)...)
	}
	return d
}

func argumentDoc(a steps.Attr) ArgumentDoc {
	d := ArgumentDoc{
		Name: a.Name, Type: typeexpr.TypeString(a.Type), Unit: string(a.Unit), Required: a.Required,
		Enum: a.Enum, Sensitive: a.Sensitive, Late: a.Late, Doc: a.Doc,
	}
	if a.Default != cty.NilVal && !a.Default.IsNull() {
		text, err := json.Marshal(ctyjson.SimpleJSONValue{Value: a.Default})
		if err != nil {
			// A default is a constant of a kind, and always known.
			panic(fmt.Sprintf("lang: default of %s: %v", a.Name, err))
		}
		d.Default = text
	}
	return d
}
