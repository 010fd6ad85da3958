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

// BlockPages returns the pages on blocks: an index, then a page for each type of block with its arguments and nested blocks. Of nested
// blocks that are equal, the first is described, and the others link to its section.
func BlockPages(doc lang.SchemaDoc, containers []steps.ContainerSupport, examples Examples) []Page {
	pages := []Page{{"blocks.md", func(w io.Writer) error { return blockIndex(w, doc, containers) }}}
	sections := map[string]string{}
	for rest := doc.Blocks; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(b lang.BlockDoc) bool { return b.Type != rest[0].Type })
		if n < 0 {
			n = len(rest)
		}
		p := page{name: rest[0].Type + ".md", sections: sections, examples: examples}
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

// blocks writes blocks of one parent. On pages of the reference, arguments that all kinds of a type have are written once, before the
// kinds, and a block that another section describes becomes a link at the end.
func (p *page) blocks(parents, types []string, blocks []lang.BlockDoc) {
	var elsewhere []string
	for i, b := range blocks {
		if p.sections != nil {
			kinds := slices.DeleteFunc(slices.Clone(blocks), func(other lang.BlockDoc) bool { return other.Type != b.Type })
			if i == 0 || blocks[i-1].Type != b.Type {
				p.shared(parents, types, kinds)
			}
			link, described := p.describedBy(title(parents, b), b)
			if described {
				elsewhere = append(elsewhere, "* "+code(title(nil, b))+": "+link+". "+cmp.Or(occurs(b), "Any number."))
				continue
			}
			_, b.Arguments = split(kinds, b)
		}
		p.line("")
		p.block(parents, types, b)
	}
	if len(elsewhere) > 0 {
		p.line(append([]string{"", "Blocks in it that are described elsewhere:", ""}, elsewhere...)...)
	}
}

// shared writes the arguments that all kinds of a block have.
func (p *page) shared(parents, types []string, kinds []lang.BlockDoc) {
	arguments, _ := split(kinds, kinds[0])
	if len(arguments) == 0 {
		return
	}
	all := lang.BlockDoc{Type: kinds[0].Type, Labels: []string{"KIND", "NAME"}, Arguments: arguments,
		Doc: "The kinds of this block are described below. All have these arguments."}
	p.line("")
	p.block(parents, types, all)
}

// split returns the arguments of a block that all kinds of its type have, and the others. A type with one kind shares none.
func split(kinds []lang.BlockDoc, b lang.BlockDoc) (shared, own []lang.ArgumentDoc) {
	for _, a := range b.Arguments {
		lacks := func(k lang.BlockDoc) bool {
			return !slices.ContainsFunc(k.Arguments, func(other lang.ArgumentDoc) bool { return reflect.DeepEqual(a, other) })
		}
		if len(kinds) > 1 && !slices.ContainsFunc(kinds, lacks) {
			shared = append(shared, a)
		} else {
			own = append(own, a)
		}
	}
	return shared, own
}

// describedBy returns a link to the section that describes an equal block. If there is none, the section with this heading will.
func (p *page) describedBy(heading string, b lang.BlockDoc) (link string, described bool) {
	var alone page
	alone.block(nil, nil, b)
	text := strings.Join(alone.lines, "\n")
	if link, described = p.sections[text]; !described {
		p.sections[text] = "[" + heading + "](" + p.name + "#" + anchor(heading) + ")"
	}
	return strings.Replace(link, "("+p.name+"#", "(#", 1), described
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
	case b.Min == 1 && b.Max == 1:
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

// meaning returns what an argument means, with its values.
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
