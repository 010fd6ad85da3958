package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
)

// maxAncestors of a server. More are not readable, and each is evaluated for each child.
const maxAncestors = 20

// ancestors returns a server block with those that it extends, the furthest first. The
// block itself is named addr.
func (e *evaluator) ancestors(addr string, b *block) ([]*entity, bool) {
	chain := []*entity{{addr: addr, block: b}}
	for {
		last := chain[len(chain)-1]
		attr := last.block.attrs[metaExtends]
		if attr == nil {
			slices.Reverse(chain)
			return chain, true
		}
		parent, d := e.parent(last, attr.Expr)
		if d != nil {
			e.report(d)
			return nil, false
		}
		if i := slices.IndexFunc(chain, func(c *entity) bool { return c.addr == parent.addr }); i >= 0 {
			e.extendsCycle(chain[i:])
			return nil, false
		}
		if len(chain) > maxAncestors {
			e.report(problem(codeValue, attr.Expr.Range(), "extends goes too deep", fmt.Sprintf("A server has at most %d ancestors.", maxAncestors)))
			return nil, false
		}
		if parent.block.hasErrors {
			return nil, false
		}
		chain = append(chain, parent)
	}
}

// parent finds the block that extends names.
func (e *evaluator) parent(child *entity, expr hcl.Expression) (*entity, *hcl.Diagnostic) {
	at := expr.Range()
	t, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() {
		return nil, problem(codeReference, at, "extends must name a server", "Write the reference itself, such as server.vllm.base. A block has one parent.")
	}
	r, d := parseReference(t)
	if d == nil {
		d = e.prog.find(r)
	}
	if d != nil {
		return nil, d
	}
	if r.root != "server" || len(r.rest) > 0 {
		return nil, problem(codeReference, at, "extends must name a server", fmt.Sprintf("%s is not a server block.", diag.TraversalText(t)))
	}
	parent := e.prog.entities[r.addr]
	switch {
	case parent.block.kind.Name != child.block.kind.Name && !parent.block.hasErrors:
		return nil, problem(codeReference, at, "extends must name a server of the same kind",
			fmt.Sprintf("%s is of kind %q, this block of kind %q. Their arguments mean different things.", r.addr, parent.block.kind.Name, child.block.kind.Name))
	case parent.block.has(metaForEach):
		return nil, problem(codeReference, at, fmt.Sprintf("%s has for_each", r.addr),
			"A parent is one block. Extend a block without for_each, and put for_each into this one.")
	}
	return parent, nil
}

// extendsCycle reports a cycle of parents. Whichever of them was looked at first, the
// path begins with the first by name, so that one cycle is reported once.
func (e *evaluator) extendsCycle(cycle []*entity) {
	first := 0
	for i, c := range cycle {
		if c.addr < cycle[first].addr {
			first = i
		}
	}
	cycle = slices.Concat(cycle[first:], cycle[:first])
	var names, lines []string
	for i, c := range cycle {
		names = append(names, c.addr)
		lines = append(lines, fmt.Sprintf("  %s extends %s at %s", c.addr, cycle[(i+1)%len(cycle)].addr, place(c.block.at(metaExtends))))
	}
	names = append(names, cycle[0].addr)
	e.report(problem(codeCycle, cycle[0].block.at(metaExtends), "extends forms a cycle: "+strings.Join(names, " → "),
		strings.Join(lines, "\n")+"\nBreak it at one of these places."))
}

// layersOf pairs a block and its ancestors with their scopes. Expressions of an ancestor
// have its own scope: each is the child's alone.
func (e *evaluator) layersOf(chain []*entity, own *scope) []layer {
	layers := make([]layer, len(chain))
	for i, c := range chain {
		s := e.newScope()
		if i == len(chain)-1 {
			s = own
		}
		layers[i] = layer{c.block, s}
	}
	return layers
}
