package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
)

// block is a block of a file, with its arguments and nested blocks sorted by its type. Nothing in it is
// evaluated.
type block struct {
	typ    *blockType
	kind   steps.Kind // with typ.byKind
	labels []string
	attrs  map[string]*hclsyntax.Attribute
	blocks []*block
	// header is the range from the type to the last label.
	header hcl.Range
	// hasErrors is true if problems make the evaluation of the block pointless.
	hasErrors bool
	// hasUnknown is true if the block holds something unknown, perhaps a misspelling of what is missing
	// elsewhere.
	hasUnknown bool
	// mistaken holds the names of blocks that are written as arguments.
	mistaken []string
}

// label returns the last label: the block's own name.
func (b *block) label() string {
	if len(b.labels) == 0 {
		return ""
	}
	return b.labels[len(b.labels)-1]
}

// nested lists the nested blocks of a type.
func (b *block) nested(typ string) []*block {
	var out []*block
	for _, c := range b.blocks {
		if c.typ.name == typ {
			out = append(out, c)
		}
	}
	return out
}

// one returns the first nested block of a type, nil if there is none.
func (b *block) one(typ string) *block { return b.nth(typ, 0) }

// nth returns the n-th nested block of a type, counted from 0. It returns the last one if there are fewer, and
// nil if there is none.
func (b *block) nth(typ string, n int) *block {
	var found *block
	for _, c := range b.blocks {
		if c.typ.name != typ {
			continue
		}
		if found = c; n == 0 {
			break
		}
		n--
	}
	return found
}

// has reports whether the block has an argument.
func (b *block) has(attr string) bool { return b.attrs[attr] != nil }

// at returns the range of an argument's value, or of the block's header if the argument is not set.
func (b *block) at(attr string) hcl.Range {
	if a := b.attrs[attr]; a != nil {
		return a.Expr.Range()
	}
	return b.header
}

// sorted lists the arguments in source order.
func (b *block) sorted() []*hclsyntax.Attribute {
	out := make([]*hclsyntax.Attribute, 0, len(b.attrs))
	for _, a := range b.attrs {
		out = append(out, a)
	}
	slices.SortFunc(out, func(x, y *hclsyntax.Attribute) int { return x.NameRange.Start.Byte - y.NameRange.Start.Byte })
	return out
}

// decoder decodes blocks by their types.
type decoder struct {
	registry *steps.Registry
	root     *blockType
	outer    []*blockType // blocks that hold the one that is decoded
	*reporter
}

// block decodes one block of type t, with everything in it.
func (d *decoder) block(src *hclsyntax.Block, t *blockType) *block {
	b := &block{typ: t, labels: src.Labels, header: headerOf(src), attrs: map[string]*hclsyntax.Attribute{}}
	b.hasErrors = !d.labels(src, t)
	if t.byKind && len(src.Labels) > 0 {
		kind, ok := t.kind(d.registry, src.Labels[0])
		if !ok {
			if !b.hasErrors || enum.Nearest(src.Labels[0], t.kindNames(d.registry)) != "" { // else the kind is what is missing
				d.unknownKind(src, t)
			}
			b.hasErrors = true
			return b
		}
		b.kind, b.typ = kind, t.with(kind)
	}
	before := len(d.diags)
	d.attributes(src.Body, b)
	d.outer = append(d.outer, b.typ)
	d.nested(src.Body, b)
	d.outer = d.outer[:len(d.outer)-1]
	b.hasUnknown = len(d.diags) > before
	return b
}

func headerOf(src *hclsyntax.Block) hcl.Range {
	r := src.TypeRange
	if n := len(src.LabelRanges); n > 0 {
		r = hcl.RangeBetween(r, src.LabelRanges[n-1])
	}
	return r
}

// labels checks the number and spelling of the labels.
func (d *decoder) labels(src *hclsyntax.Block, t *blockType) bool {
	most, least := len(t.labels), len(t.labels)-t.optional
	switch {
	case len(src.Labels) < least:
		d.report(problem(codeMissing, headerOf(src), fmt.Sprintf("%s needs a label for its %s", t.name, t.labels[len(src.Labels)]),
			fmt.Sprintf("Write %s.", usage(t))))
		return false
	case len(src.Labels) > most:
		d.report(problem(codeLabel, src.LabelRanges[most], fmt.Sprintf("%s has too many labels", t.name),
			fmt.Sprintf("Write %s.", usage(t))))
		return false
	}
	for i, label := range src.Labels {
		if !hclsyntax.ValidIdentifier(label) {
			d.report(problem(codeLabel, src.LabelRanges[i], fmt.Sprintf("%q cannot be a name", label),
				"Names have letters, digits, underscores and dashes and begin with a letter, so that they can be referred to."))
			return false
		}
	}
	return true
}

// usage returns how a block is written: server "KIND" "NAME" { … }.
func usage(t *blockType) string {
	var b strings.Builder
	b.WriteString(t.name)
	for _, label := range t.labels {
		fmt.Fprintf(&b, " %q", strings.ToUpper(label))
	}
	return b.String() + " { … }"
}

func (d *decoder) unknownKind(src *hclsyntax.Block, t *blockType) {
	d.report(problem(codeKind, src.LabelRanges[0], fmt.Sprintf("unknown %s kind %q", t.name, src.Labels[0]),
		didYouMean(src.Labels[0], t.kindNames(d.registry), "kinds of "+t.name)))
}

// attributes takes the arguments that the type has and reports the others.
func (d *decoder) attributes(body *hclsyntax.Body, b *block) {
	all := block{attrs: body.Attributes}
	for _, a := range all.sorted() {
		_, known := b.typ.schema.Attr(a.Name)
		switch {
		case known:
			b.attrs[a.Name] = a
		case b.typ.child(a.Name) != nil:
			b.mistaken = append(b.mistaken, a.Name)
			d.report(problem(codeArgument, a.NameRange, fmt.Sprintf("%s is a block, not an argument", a.Name),
				fmt.Sprintf("Write %s without the equals sign.", usage(b.typ.child(a.Name)))))
		case b.typ.free != "":
			b.attrs[a.Name] = a
		default:
			d.unknownArgument(a, b.typ)
		}
	}
}

func (d *decoder) unknownArgument(a *hclsyntax.Attribute, t *blockType) {
	detail := didYouMean(a.Name, t.attrNames(), "arguments of "+t.name)
	if strings.HasSuffix(detail, "in all).") {
		detail += fmt.Sprintf(" `pipeline schema %s` explains them.", t.name)
	}
	stands := inArgument
	if slices.Contains(t.attrNames(), "extends") {
		stands |= inExtending
	}
	if other := t.kindWith(d.registry, a.Name); other != "" {
		detail = fmt.Sprintf("It is an argument of %s %q.", t.name, other)
	} else if how := here(a.Name, stands); how != "" {
		detail = how
	} else if outer := d.outerWith(a.Name); outer != "" {
		detail = fmt.Sprintf("It is an argument of %s: put it outside of the %s block.", outer, t.name)
	} else if homes := t.homes(d.registry, a.Name, true); len(homes) > 0 && enum.Nearest(a.Name, t.attrNames()) == "" {
		detail = fmt.Sprintf("Put it inside %s.", homes[0])
	} else if name := enum.Nearest(a.Name, t.childNames()); name != "" && enum.Nearest(a.Name, t.attrNames()) == "" {
		detail = fmt.Sprintf("Did you mean the block %s { … }?", name)
	}
	d.report(problem(codeArgument, a.NameRange, fmt.Sprintf("%s has no argument %q", t.name, a.Name), detail))
}

// outerWith returns the name of the innermost block around the current one that has an argument, "" if none has it.
func (d *decoder) outerWith(name string) string {
	for _, t := range slices.Backward(d.outer) {
		if _, ok := t.schema.Attr(name); ok {
			return t.name
		}
	}
	return ""
}

// nested decodes the blocks that the type has and reports the others.
func (d *decoder) nested(body *hclsyntax.Body, b *block) {
	count := map[string]int{}
	first := map[string]hcl.Range{}
	for _, src := range body.Blocks {
		t := b.typ.child(src.Type)
		if t == nil {
			d.unknownBlock(src, b.typ)
			if t = d.meant(src.Type, b.typ); t == nil || len(src.Labels) != len(t.labels) {
				continue
			}
		}
		count[t.name]++
		if t.max > 0 && count[t.name] > t.max {
			d.report(problem(codeDuplicate, headerOf(src), fmt.Sprintf("%s has too many %s blocks", b.typ.name, t.name),
				fmt.Sprintf("At most %s is allowed; the first is at %s.", humanize.Count(t.max, "block"), place(first[t.name]))))
			continue
		}
		if count[t.name] == 1 {
			first[t.name] = headerOf(src)
		}
		b.blocks = append(b.blocks, d.block(src, t))
	}
}

// unknownBlock reports a block in a place where it is not allowed.
func (d *decoder) unknownBlock(src *hclsyntax.Block, parent *blockType) {
	summary := fmt.Sprintf("%s has no block %q", parent.name, src.Type)
	detail := didYouMean(src.Type, parent.childNames(), "blocks of "+parent.name)
	if len(parent.children()) == 0 {
		detail = fmt.Sprintf("A %s block has arguments only.", parent.name)
	}
	if parent.name == rootName {
		summary = fmt.Sprintf("unknown block %q at the top of a file", src.Type)
		detail = didYouMean(src.Type, parent.childNames(), "blocks")
	}
	if _, ok := parent.schema.Attr(src.Type); ok {
		summary = fmt.Sprintf("%s is an argument, not a block", src.Type)
		detail = fmt.Sprintf("Write %s = { … } with an equals sign.", src.Type)
	} else if home := d.home(src.Type, parent); home != "" {
		summary = fmt.Sprintf("%s is in the wrong place", src.Type)
		detail = home
	} else if how := here(src.Type, inBlock); how != "" {
		detail = how
	}
	d.report(problem(codeBlock, headerOf(src), summary, detail))
}

// meant returns the type of a misspelled block at the top of a file, nil if it is unclear. What refers to it is right.
func (d *decoder) meant(name string, parent *blockType) *blockType {
	if parent.name != rootName || here(name, inBlock) != "" || d.home(name, parent) != "" {
		return nil
	}
	return parent.child(enum.Nearest(name, parent.childNames()))
}

// home advises where to put a block that another block type has, "" if none has it.
func (d *decoder) home(name string, parent *blockType) string {
	if parent.name != rootName && d.root.child(name) != nil {
		return fmt.Sprintf("Put it at the top of the file, outside of the %s block.", parent.name)
	}
	homes := d.root.homes(d.registry, name, false)
	for _, k := range d.registry.Kinds() {
		if (&blockType{schema: k.Schema}).child(name) != nil {
			homes = append(homes, k.Block+" { … }")
		}
	}
	if len(homes) == 0 {
		return ""
	}
	return fmt.Sprintf("Put it inside %s.", homes[0])
}

// blockType describes a block of the language itself, as data. The same tables decode files, word the
// diagnostics and make the reference documentation.
type blockType struct {
	name string
	// labels are the names of the labels, for messages: "kind", "name".
	labels []string
	// optional is the number of labels, counted from the last, that may be left out.
	optional int
	doc      string
	// schema holds the arguments. With byKind, the schema of the kind that the first label names is added.
	schema steps.Schema
	byKind bool
	// kinds holds the kinds of the language itself, beside those in the registry.
	kinds []steps.Kind
	// free documents arguments whose names the file chooses, "" if there are none.
	free   string
	nested []*blockType
	// min and max limit the number of blocks within their parent; max 0 means any number.
	min, max int
}

// fromSchema returns the block type of a nested block of a kind.
func fromSchema(b steps.BlockSchema) *blockType {
	return &blockType{name: b.Type, doc: b.Doc, schema: b.Schema, min: b.Min, max: b.Max}
}

// with returns the type of a block of kind k, with both schemas together.
func (t *blockType) with(k steps.Kind) *blockType {
	both := *t
	both.schema = steps.Schema{
		Attrs:  slices.Concat(t.schema.Attrs, k.Schema.Attrs),
		Blocks: slices.Concat(t.schema.Blocks, k.Schema.Blocks),
	}
	return &both
}

// all lists the kinds of a block type in the order of the documentation: first those of the registry.
func (t *blockType) all(registry *steps.Registry) []steps.Kind {
	var out []steps.Kind
	for _, name := range registry.Names(t.name) {
		k, _ := registry.Lookup(t.name, name)
		out = append(out, k)
	}
	return append(out, t.kinds...)
}

// kindNames lists the names of the kinds of a block type.
func (t *blockType) kindNames(registry *steps.Registry) []string {
	var names []string
	for _, k := range t.all(registry) {
		names = append(names, k.Name)
	}
	return names
}

// kind finds the kind that a first label names.
func (t *blockType) kind(registry *steps.Registry, name string) (steps.Kind, bool) {
	if k, ok := registry.Lookup(t.name, name); ok {
		return k, true
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

// kindWith returns the first kind that has an argument, "" if none has. It returns "" for types whose kinds are
// all in the registry, such as servers.
func (t *blockType) kindWith(registry *steps.Registry, argument string) string {
	if t.kinds == nil {
		return ""
	}
	for _, k := range t.all(registry) {
		if _, ok := k.Schema.Attr(argument); ok {
			return k.Name
		}
	}
	return ""
}

// children returns the types of the blocks that may be nested.
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

// homes lists where below t a block (or an argument, with attr) may be written: "benchmark { load { … } }".
func (t *blockType) homes(registry *steps.Registry, name string, attr bool) []string {
	var out []string
	for _, c := range t.children() {
		if _, ok := c.schema.Attr(name); ok && attr || !attr && c.child(name) != nil {
			out = append(out, c.name+" { … }")
		}
		if k := c.kindWith(registry, name); k != "" && attr {
			out = append(out, fmt.Sprintf("%s %q { … }", c.name, k))
		}
		for _, deeper := range c.homes(registry, name, attr) {
			out = append(out, c.name+" { "+deeper+" }")
		}
	}
	return out
}
