package lang

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/servegate/pipeline/steps/load"
)

// program is the parsed pipeline: every block is decoded and every name indexed, but nothing is evaluated. Only
// read changes after parse.
type program struct {
	sources  *Sources
	registry *steps.Registry
	tests    gates.Tests
	arrivals load.Arrivals
	dir      string            // folder in which relative paths of the file start
	readDir  string            // folder that file and templatefile read
	read     map[string]string // texts of the files that were read
	sums     map[string]string // of datasets' files, from a stored run; nil reads the files
	maxCells int

	settings  *block // the pipeline block, nil if there is none
	variables []*block
	locals    map[string]*hclsyntax.Attribute // by address: "local.rates"
	order     []*entity                       // in source order
	entities  map[string]*entity              // by address
	names     map[string][]string             // addresses by their root
	unnamed   map[string]bool                 // roots of which a block has wrong labels, and so no address
}

// note records the text of a file that the pipeline reads while it is loaded.
func (p *program) note(name, text string) {
	if p.read != nil {
		p.read[filepath.Clean(name)] = text
	}
}

// entity is a block of the file with an address.
type entity struct {
	addr  string
	block *block
}

// parse decodes all files and indexes their names.
func parse(src *Sources, opt Options, rep *reporter) *program {
	p := &program{
		sources: src, registry: opt.Registry, tests: opt.Tests, arrivals: opt.Arrivals, dir: baseDir(src), maxCells: opt.MaxCells,
		locals: map[string]*hclsyntax.Attribute{}, entities: map[string]*entity{}, names: map[string][]string{},
		unnamed: map[string]bool{},
	}
	if p.maxCells == 0 {
		p.maxCells = defaultMaxCells
	}
	p.readDir, p.read = p.dir, map[string]string{}
	if s := opt.Stored; s != nil {
		p.readDir, p.sums = s.Folder, s.Sums
	}
	d := decoder{registry: opt.Registry, root: rootType(opt.Formats, opt.Tests, opt.Arrivals), reporter: rep}
	for _, f := range src.Files {
		if f.JSON != nil {
			f.HCL.Body = jsonReader{&d, f}.body(f.JSON, d.root)
		}
		if body, ok := f.HCL.Body.(*hclsyntax.Body); ok {
			root := &block{typ: d.root}
			d.attributesOfFile(body)
			d.nested(body, root)
			p.index(root, rep)
		}
	}
	return p
}

// empty returns the problem of a pipeline without a block, nil if it has one.
func (p *program) empty(src *Sources) *hcl.Diagnostic {
	if len(p.order)+len(p.locals)+len(p.variables) > 0 || p.settings != nil || len(src.Files) == 0 {
		return nil
	}
	at := hcl.Range{Filename: src.Files[0].Name, Start: hcl.InitialPos, End: hcl.InitialPos}
	return problem(codeMissing, at, "the file holds no block", "Nothing would be measured. `pipeline init` writes a file to begin with.")
}

// baseDir returns the folder in which relative paths of the file start.
func baseDir(src *Sources) string {
	if len(src.Files) == 0 {
		return "."
	}
	return filepath.Dir(src.Files[0].Name)
}

// attributesOfFile reports arguments outside of blocks.
func (d *decoder) attributesOfFile(body *hclsyntax.Body) {
	for _, a := range (&block{attrs: body.Attributes}).sorted() {
		detail := "A file holds blocks only. To name a value, put it inside locals { … }."
		if homes := d.root.homes(d.registry, a.Name, true); len(homes) > 0 {
			detail = fmt.Sprintf("A file holds blocks only. Put it inside %s.", homes[0])
		}
		d.report(problem(codeArgument, a.NameRange, fmt.Sprintf("%s stands outside of any block", a.Name), detail))
	}
}

// index stores the blocks of one file under their addresses.
func (p *program) index(root *block, rep *reporter) {
	for _, b := range root.blocks {
		switch b.typ.name {
		case "pipeline":
			if p.settings != nil {
				rep.report(duplicate("the pipeline block", b.header, p.settings.header))
				continue
			}
			p.settings = b
		case "locals":
			p.indexLocals(b, rep)
		case "variable":
			if p.indexEntity(b, rep) {
				p.variables = append(p.variables, b)
			}
		default:
			if p.indexEntity(b, rep) {
				p.order = append(p.order, p.entities[address(b)])
			}
		}
	}
}

func (p *program) indexLocals(b *block, rep *reporter) {
	for _, a := range b.sorted() {
		addr := "local." + a.Name
		if first, dup := p.locals[addr]; dup {
			rep.report(duplicate(addr, a.NameRange, first.NameRange))
			continue
		}
		p.locals[addr] = a
		p.names["local"] = append(p.names["local"], addr)
	}
}

// indexEntity stores a block with labels under its address. A block whose labels are wrong has none.
func (p *program) indexEntity(b *block, rep *reporter) bool {
	if len(b.labels) != len(b.typ.labels) {
		p.unnamed[rootOf(address(b))] = true
		return false
	}
	addr := address(b)
	if first, dup := p.entities[addr]; dup {
		rep.report(duplicate(addr, b.header, first.block.header))
		return false
	}
	p.entities[addr] = &entity{addr: addr, block: b}
	p.names[rootOf(addr)] = append(p.names[rootOf(addr)], addr)
	return true
}

// address returns the address of a block at the top of a file.
func address(b *block) string {
	addr := b.typ.name
	if addr == "variable" {
		addr = "var"
	}
	for _, label := range b.labels {
		addr += "." + label
	}
	return addr
}

func duplicate(name string, at, first hcl.Range) *hcl.Diagnostic {
	return problem(codeDuplicate, at, fmt.Sprintf("%s is there twice", name),
		fmt.Sprintf("It is at %s and again at %s. All files of a pipeline share their names: rename or remove one of them.",
			place(first), place(at)))
}

// find returns the problem of a reference to something that is not in the file.
func (p *program) find(r reference) *hcl.Diagnostic {
	if r.root == "metric" {
		return p.findMetric(r)
	}
	if p.entities[r.addr] != nil || p.locals[r.addr] != nil {
		return nil
	}
	at := hcl.RangeBetween(r.full[0].SourceRange(), r.full[len(r.path)-1].SourceRange())
	detail := didYouMean(r.addr, p.names[r.root], describeRoot(r.root))
	switch {
	case p.unnamed[r.root]:
		detail = fmt.Sprintf("A %s block with wrong labels cannot be referred to: mend its labels first.", r.root)
	case r.root == "var" && enum.Nearest(r.addr, p.names["var"]) == "":
		detail += fmt.Sprintf(" Declare it: variable %q { … }.", strings.TrimPrefix(r.addr, "var."))
	}
	return problem(codeReference, at, fmt.Sprintf("unknown reference %s", r.addr), detail)
}

func describeRoot(root string) string {
	switch root {
	case "var":
		return "variables"
	case "local":
		return "locals"
	}
	return root + "s of the file"
}

func rootOf(addr string) string {
	root, _, _ := strings.Cut(addr, ".")
	return root
}
