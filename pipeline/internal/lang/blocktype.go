package lang

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// blockType describes a block of the language itself, as data: the same tables decode
// files, word the diagnostics and make the reference documentation.
type blockType struct {
	name string
	// labels are the names of the labels, for messages: "kind", "name".
	labels []string
	// optional is how many of the labels, from the last, may be left out.
	optional int
	doc      string
	// schema of the arguments. With byKind it is added to that of the kind that the
	// first label names in the registry.
	schema steps.Schema
	byKind bool
	// kinds of the language itself, in the place of those in the registry.
	kinds []steps.Kind
	// free documents the arguments of a block whose names the file chooses, "" if
	// there are none.
	free   string
	nested []*blockType
	// min and max number of blocks within their parent; max 0 means any number.
	min, max int
}

// fromSchema is the block type of a nested block of a kind.
func fromSchema(b steps.BlockSchema) *blockType {
	return &blockType{name: b.Type, labels: b.Labels, doc: b.Doc, schema: b.Schema, min: b.Min, max: b.Max}
}

// with is the type of a block whose first label is k: both schemas together.
func (t *blockType) with(k steps.Kind) *blockType {
	both := *t
	both.schema = steps.Schema{
		Attrs:  slices.Concat(t.schema.Attrs, k.Schema.Attrs),
		Blocks: slices.Concat(t.schema.Blocks, k.Schema.Blocks),
	}
	return &both
}

// kindNames lists the kinds of a block type, in the order of the documentation.
func (t *blockType) kindNames(registry *steps.Registry) []string {
	if t.kinds == nil {
		return registry.Names(t.name)
	}
	names := make([]string, len(t.kinds))
	for i, k := range t.kinds {
		names[i] = k.Name
	}
	return names
}

// kind finds the kind that a first label names.
func (t *blockType) kind(registry *steps.Registry, name string) (steps.Kind, bool) {
	if t.kinds == nil {
		return registry.Lookup(t.name, name)
	}
	i := slices.IndexFunc(t.kinds, func(k steps.Kind) bool { return k.Name == name })
	if i < 0 {
		return steps.Kind{}, false
	}
	return t.kinds[i], true
}

// kindOf finds the kind of a block by its labels.
func (t *blockType) kindOf(registry *steps.Registry, labels []string) (steps.Kind, bool) {
	if !t.byKind || len(labels) == 0 {
		return steps.Kind{}, false
	}
	return t.kind(registry, labels[0])
}

// kindWith is the first of the language's own kinds that has an argument, "" if none has.
func (t *blockType) kindWith(argument string) string {
	for _, k := range t.kinds {
		if _, ok := (&blockType{schema: k.Schema}).attr(argument); ok {
			return k.Name
		}
	}
	return ""
}

// children are the types of the blocks that may be nested.
func (t *blockType) children() []*blockType {
	out := slices.Clone(t.nested)
	for _, b := range t.schema.Blocks {
		out = append(out, fromSchema(b))
	}
	return out
}

// child finds the type of a nested block.
func (t *blockType) child(name string) *blockType {
	for _, c := range t.children() {
		if c.name == name {
			return c
		}
	}
	return nil
}

// attr finds an argument.
func (t *blockType) attr(name string) (steps.Attr, bool) {
	for _, a := range t.schema.Attrs {
		if a.Name == name {
			return a, true
		}
	}
	return steps.Attr{}, false
}

func (t *blockType) attrNames() []string {
	names := make([]string, len(t.schema.Attrs))
	for i, a := range t.schema.Attrs {
		names[i] = a.Name
	}
	return names
}

func (t *blockType) childNames() []string {
	var names []string
	for _, c := range t.children() {
		names = append(names, c.name)
	}
	return names
}

// homes finds the blocks below t that a block (or an argument, with attr) may stand in,
// as they are written: "benchmark { load { … } }".
func (t *blockType) homes(name string, attr bool) []string {
	var out []string
	for _, c := range t.children() {
		if _, ok := c.attr(name); ok && attr || !attr && c.child(name) != nil {
			out = append(out, c.name+" { … }")
		}
		if k := c.kindWith(name); k != "" && attr {
			out = append(out, fmt.Sprintf("%s %q { … }", c.name, k))
		}
		for _, deeper := range c.homes(name, attr) {
			out = append(out, c.name+" { "+deeper+" }")
		}
	}
	return out
}
