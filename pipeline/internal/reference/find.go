package reference

import (
	"io"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
)

// Block writes the blocks that a path names, such as ["server", "vllm", "container"] or ["benchmark", "load"], with all nested blocks, for
// `pipeline schema`. It reports whether there is one.
func Block(w io.Writer, doc lang.SchemaDoc, path []string) (found bool, err error) {
	var p page
	for _, b := range doc.Blocks {
		p.find(nil, b, path)
	}
	if len(p.lines) == 0 { // a block of the settings, which is often named without its parent
		p.find(nil, settings(doc), append([]string{"pipeline"}, path...))
	}
	if len(p.lines) == 0 {
		p.nested(doc, path)
	}
	return len(p.lines) > 0, p.write(w)
}

// nested writes the blocks for a path that begins with a nested block. Equal ones are written once, after the list of their parents.
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
	return doc.Blocks[slices.IndexFunc(doc.Blocks, func(b lang.BlockDoc) bool { return b.Type == "pipeline" })]
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
