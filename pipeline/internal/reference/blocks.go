package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
)

// jsonSyntax describes files in the JSON syntax.
const jsonSyntax = "A file whose name ends in `.pipeline.json` or `.hcl.json` is in the JSON syntax of HCL, as is an object on standard " +
	"input. Labels are keys: " +
	"`{\"server\": {\"vllm\": {\"base\": {\"model\": \"m\"}}}}`. Strings are templates, so an expression is written " +
	"`\"${server.vllm.base}\"`; " +
	"`extends`, `depends_on` and the type of a variable are written without `${…}`. Several blocks of one name are a list, and a property " +
	"`//` is a comment. " +
	"Editors complete and check such files by [pipeline.schema.json](../pipeline.schema.json), which `pipeline schema --json-schema` " +
	"prints: name it in a property `$schema`."

// Page is a page of the reference.
type Page struct {
	Name  string // path of its file, relative to docs/reference
	Write func(io.Writer) error
}

// BlockPages returns the pages on blocks: an index, then a page for each type of block with its arguments and nested blocks. A nested
// block that is the same in several places is written once; the others link to it.
func BlockPages(doc lang.SchemaDoc, containers []steps.ContainerSupport, examples Examples) []Page {
	pages := []Page{{"blocks.md", func(w io.Writer) error { return blockIndex(w, doc, containers) }}}
	written := map[string]string{}
	for rest := doc.Blocks; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(b lang.BlockDoc) bool { return b.Type != rest[0].Type })
		if n < 0 {
			n = len(rest)
		}
		p := page{name: rest[0].Type + ".md", written: written, examples: examples}
		p.line("# Block `"+rest[0].Type+"`", "", generated)
		p.blocks(nil, nil, rest[:n])
		pages = append(pages, Page{"blocks/" + p.name, p.write})
		rest = rest[n:]
	}
	return pages
}

// blockIndex writes the list of blocks, and what concerns many of them.
func blockIndex(w io.Writer, doc lang.SchemaDoc, containers []steps.ContainerSupport) error {
	var p page
	p.line("# Blocks", "", generated, "",
		"A file is made of these blocks, in any order. Arguments in bold are required. `pipeline schema BLOCK` prints one of them.", "",
		"| block | is |", "|---|---|")
	for _, b := range doc.Blocks {
		first, _, _ := strings.Cut(b.Doc, ". ")
		p.row("["+title(nil, b)+"](blocks/"+b.Type+".md#"+anchor(title(nil, b))+")", strings.TrimSuffix(first, ".")+".")
	}
	p.containers(containers)
	p.line("", "## References", "", "| form | is |", "|---|---|")
	for _, r := range doc.References {
		p.row(code(r.Form), r.Doc)
	}
	p.line("", "## JSON", "", jsonSyntax)
	return p.write(w)
}

const containersByPlace = "Containers by place"

// containers writes the table of container capabilities.
func (p *page) containers(places []steps.ContainerSupport) {
	p.line("", "## "+containersByPlace, "", "What each place makes of the image of a server and the arguments of its container block. "+
		"An argument or a value that a place does not support is an error of `validate`.", "")
	columns := slices.DeleteFunc(slices.Clone(places), func(s steps.ContainerSupport) bool { return s.Every != "" })
	head, rule := "| argument |", "|---|"
	for _, s := range columns {
		head, rule = head+" "+s.Place+" |", rule+"---|"
	}
	p.line(head, rule)
	for _, a := range steps.ContainerArgs() {
		cells := []string{code(a.Name)}
		for _, s := range columns {
			cells = append(cells, cmp.Or(s.Args[a.Name].As, "refused"))
		}
		p.row(cells...)
	}
	for _, s := range places {
		if s.Every != "" {
			p.line("", "**"+s.Place+"**: "+s.Every)
		}
	}
}

// Block writes the blocks that a path names, such as ["server", "vllm", "container"] or
// ["benchmark", "load"], with all nested blocks. It reports whether there is one.
func Block(w io.Writer, doc lang.SchemaDoc, path []string) (found bool, err error) {
	var p page
	for _, b := range doc.Blocks {
		p.find(nil, b, path)
	}
	if len(p.lines) == 0 { // a block of the settings, which is often named without its parent
		p.find(nil, settings(doc), append([]string{settings(doc).Type}, path...))
	}
	if len(p.lines) == 0 {
		p.nested(doc, path)
	}
	return len(p.lines) > 0, p.write(w)
}

// nested writes the blocks for a path that begins with a nested block, once for all places where it
// is the same.
func (p *page) nested(doc lang.SchemaDoc, path []string) {
	var texts []string
	places := map[string][]string{}
	var search func(parents []string, b lang.BlockDoc)
	search = func(parents []string, b lang.BlockDoc) {
		parents = append(slices.Clone(parents), title(nil, b))
		for _, inner := range b.Blocks {
			var found page
			found.find(nil, inner, path)
			if text := strings.Join(found.lines, "\n"); text != "" {
				if places[text] == nil {
					texts = append(texts, text)
				}
				places[text] = append(places[text], strings.Join(parents, " › "))
			}
			search(parents, inner)
		}
	}
	for _, b := range doc.Blocks {
		search(nil, b)
	}
	for i, text := range texts {
		if i > 0 {
			p.line("")
		}
		p.line("In "+strings.Join(places[text], ", ")+":", "", text)
	}
}

// settings returns the block of the file's settings.
func settings(doc lang.SchemaDoc) lang.BlockDoc {
	for _, b := range doc.Blocks {
		if b.Type == "pipeline" {
			return b
		}
	}
	return lang.BlockDoc{}
}

// find writes the blocks that a path names, at or below a block.
func (p *page) find(parents []string, b lang.BlockDoc, path []string) {
	if b.Type != path[0] {
		return
	}
	rest := path[1:]
	if b.Kind != "" && len(rest) > 0 {
		if rest[0] != b.Kind {
			return
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		if len(p.lines) > 0 {
			p.line("")
		}
		p.block(parents, nil, b)
		return
	}
	for _, nested := range b.Blocks {
		p.find(append(parents, title(nil, b)), nested, rest)
	}
	if i := slices.IndexFunc(b.Arguments, func(a lang.ArgumentDoc) bool { return len(rest) == 1 && a.Name == rest[0] }); i >= 0 {
		b.Arguments, b.Blocks, b.AnyArgument, b.Doc = b.Arguments[i:i+1], nil, "", ""
		p.block(parents, nil, b)
	}
}

// block writes a block and its nested blocks as sections; the path in the title shows the nesting. types are the types and kinds of
// its parents, by which examples are found.
func (p *page) block(parents, types []string, b lang.BlockDoc) {
	p.line(strings.Repeat("#", min(2+len(parents), 4))+" "+title(parents, b), "", b.Doc)
	if text := occurs(b); text != "" && len(parents) > 0 {
		p.line("", text)
	}
	types = append(slices.Clone(types), strings.TrimSuffix(b.Type+"."+b.Kind, "."))
	p.arguments(types, b)
	p.blocks(append(slices.Clone(parents), title(nil, b)), types, b.Blocks)
}

// blocks writes blocks of one parent. Arguments that all kinds of a type have are written once, before the kinds, and blocks that have a
// section elsewhere are listed at the end.
func (p *page) blocks(parents, types []string, blocks []lang.BlockDoc) {
	var elsewhere []string
	for i, b := range blocks {
		if first := i == 0 || blocks[i-1].Type != b.Type; first && p.written != nil {
			p.common(parents, types, kinds(blocks, b.Type))
		}
		if home := p.home(parents, b); home != "" {
			elsewhere = append(elsewhere, "* "+code(title(nil, b))+": "+home+". "+cmp.Or(occurs(b), "Any number."))
			continue
		}
		if p.written != nil {
			_, b = split(kinds(blocks, b.Type), b)
		}
		p.line("")
		p.block(parents, types, b)
	}
	if len(elsewhere) > 0 {
		p.line(append([]string{"", "Blocks in it that are described elsewhere:", ""}, elsewhere...)...)
	}
}

// common writes the arguments that all kinds of a block have.
func (p *page) common(parents, types []string, kinds []lang.BlockDoc) {
	shared, _ := split(kinds, kinds[0])
	if len(shared) == 0 {
		return
	}
	all := lang.BlockDoc{Type: kinds[0].Type, Labels: []string{"KIND", "NAME"}, Arguments: shared,
		Doc: "The kinds of this block are described below. All have these arguments."}
	p.line("")
	p.block(parents, types, all)
}

// kinds returns the blocks of a type.
func kinds(blocks []lang.BlockDoc, typ string) []lang.BlockDoc {
	return slices.DeleteFunc(slices.Clone(blocks), func(b lang.BlockDoc) bool { return b.Type != typ })
}

// split returns the arguments that all kinds of a block have, and the block without them. A block with one kind keeps all.
func split(kinds []lang.BlockDoc, b lang.BlockDoc) ([]lang.ArgumentDoc, lang.BlockDoc) {
	if len(kinds) < 2 {
		return nil, b
	}
	everywhere := func(a lang.ArgumentDoc) bool {
		return !slices.ContainsFunc(kinds, func(k lang.BlockDoc) bool {
			return !slices.ContainsFunc(k.Arguments, func(other lang.ArgumentDoc) bool { return reflect.DeepEqual(a, other) })
		})
	}
	var shared, own []lang.ArgumentDoc
	for _, a := range b.Arguments {
		if everywhere(a) {
			shared = append(shared, a)
		} else {
			own = append(own, a)
		}
	}
	b.Arguments = own
	return shared, b
}

// home returns a link to the section that describes an equal block, or the empty string, after which the caller writes it: here.
func (p *page) home(parents []string, b lang.BlockDoc) string {
	if p.written == nil {
		return ""
	}
	var alone page
	alone.block(nil, nil, b)
	text := strings.Join(alone.lines, "\n")
	heading := title(parents, b)
	if home, ok := p.written[text]; ok {
		return strings.Replace(home, "("+p.name+"#", "(#", 1)
	}
	p.written[text] = "[" + heading + "](" + p.name + "#" + anchor(heading) + ")"
	return ""
}

// arguments writes the table of a block's arguments.
func (p *page) arguments(types []string, b lang.BlockDoc) {
	if len(b.Arguments) > 0 || b.AnyArgument != "" {
		p.line("", "| argument | type | default | meaning |", "|---|---|---|---|")
	}
	for _, a := range b.Arguments {
		name := code(a.Name)
		if a.Required {
			name = "**" + name + "**"
		}
		text := meaning(a)
		if example := p.examples.of(types, a.Name); example != "" {
			text += " Example: " + code(example)
		}
		p.row(name, cmp.Or(a.Unit, code(a.Type)), defaultOf(a), text)
	}
	if b.AnyArgument != "" {
		p.row("*any name*", "", "", b.AnyArgument)
	}
}

// title returns the opening of a block, after its parents.
func title(parents []string, b lang.BlockDoc) string {
	words := []string{b.Type}
	if b.Kind != "" {
		words = append(words, b.Kind)
	}
	for i, label := range b.Labels {
		if i == 0 && b.Kind != "" {
			continue // the kind itself
		}
		words = append(words, strings.ToUpper(label))
	}
	return strings.Join(append(slices.Clone(parents), strings.Join(words, " ")), " › ")
}

// occurs describes how often a nested block may occur.
func occurs(b lang.BlockDoc) string {
	switch {
	case b.Min > 0 && b.Max == b.Min && b.Min == 1:
		return "Exactly one."
	case b.Min > 0 && b.Max == 0:
		return fmt.Sprintf("At least %d.", b.Min)
	case b.Max == 1:
		return "At most one."
	case b.Max > 1:
		return fmt.Sprintf("At most %d.", b.Max)
	}
	return ""
}

// defaultOf returns a default as a file would write it.
func defaultOf(a lang.ArgumentDoc) string {
	if len(a.Default) == 0 {
		return ""
	}
	var number float64
	if err := json.Unmarshal(a.Default, &number); err != nil {
		return code(string(a.Default))
	}
	switch a.Unit {
	case "duration":
		return code(fmt.Sprintf("%q", short(time.Duration(number))))
	case "percent":
		return code(fmt.Sprintf(`"%g%%"`, 100*number))
	}
	return code(string(a.Default))
}

// short writes a duration without its zero parts: "10m", not "10m0s".
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func meaning(a lang.ArgumentDoc) string {
	text := a.Doc
	if len(a.Enum) > 0 {
		values := make(enum.Values, len(a.Enum))
		for i, value := range a.Enum {
			values[i] = enum.Value{Name: code(value.Name), Doc: value.Doc}
		}
		text += " One of " + values.Doc() + "."
	}
	if a.Sensitive {
		text += " May be sensitive."
	}
	return text
}
