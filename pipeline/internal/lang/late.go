package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/zclconf/go-cty/cty"
)

// lateSource is a reference whose value exists only at run time.
type lateSource struct {
	text string // "step.exec.build.outputs.digest"
	addr string // "step.exec.build"
	step bool   // an output of a step, otherwise the address of a started server
	at   hcl.Range
}

// follow visits every reference of an expression to something in the file, through locals. seen holds the
// locals visited so far.
func (p *program) follow(expr hcl.Expression, seen map[string]bool, visit func(reference)) {
	for _, t := range expr.Variables() {
		r, d := parseReference(t)
		if d != nil || p.find(r) != nil {
			continue
		}
		if local := p.locals[r.addr]; local != nil {
			if !seen[r.addr] {
				seen[r.addr] = true
				p.follow(local.Expr, seen, visit)
			}
			continue
		}
		visit(r)
	}
}

// lateSources returns the references that make an expression late.
func (e *evaluator) lateSources(expr hcl.Expression) []lateSource {
	var out []lateSource
	e.prog.follow(expr, map[string]bool{}, func(r reference) {
		l := lateSource{text: diag.TraversalText(r.full), addr: r.addr, at: r.full.SourceRange()}
		switch r.root {
		case "step":
			l.step = true
		case "server", "deployment":
			last, _ := stepName(r.full[len(r.full)-1])
			if last != "url" {
				return
			}
			l.addr = diag.TraversalText(r.full[:len(r.full)-1])
		default:
			return
		}
		out = append(out, l)
	})
	return out
}

// knownEnough reports whether a value contains nothing unknown. It ignores parts of references that nothing
// uses: a server is known before its url is.
func (e *evaluator) knownEnough(v cty.Value) bool {
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown():
		return false
	case v.IsNull():
		return true
	}
	if _, ok := e.refID(v); ok {
		return true
	}
	if !v.CanIterateElements() {
		return true
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, elem := it.Element(); !e.knownEnough(elem) {
			return false
		}
	}
	return true
}

// notYet returns the problem of a value that is needed now but exists only at run time. what names the value in
// a sentence. purpose is why it is needed now, or "".
func (e *evaluator) notYet(expr hcl.Expression, what, purpose string) *hcl.Diagnostic {
	sources := e.lateSources(expr)
	at := expr.Range()
	var detail strings.Builder
	for _, l := range sources {
		if detail.Len() > 0 {
			detail.WriteString(" ")
		}
		after := "the server has started"
		if l.step {
			after = l.addr + " has run"
		}
		fmt.Fprintf(&detail, "%s exists only after %s", l.text, after)
		if purpose != "" {
			detail.WriteString(", so " + purpose)
		}
		detail.WriteString(".")
		if !l.step {
			fmt.Fprintf(&detail, " Use the server itself: %s.", l.addr)
		}
		if l.at.Filename == at.Filename && l.at.Start.Byte >= at.Start.Byte && l.at.End.Byte <= at.End.Byte {
			at = l.at
		}
	}
	if len(sources) == 0 {
		detail.WriteString("It depends on something that exists only at run time, such as the url of a server that is not started yet. Servers " +
			"are compared by their id: matrix.target.id == server.vllm.base.id.")
	}
	d := problem(codeLate, at, what+" is not known before the run", detail.String())
	d.Context = expr.Range().Ptr()
	return d
}

// stepsOf lists the addresses of the steps that expressions refer to. A reference to one
// instance of a step counts as that instance.
func (e *evaluator) stepsOf(exprs []hcl.Expression) []string {
	var out []string
	seen := map[string]bool{}
	for _, expr := range exprs {
		e.prog.follow(expr, seen, func(r reference) {
			if r.root == "step" {
				out = append(out, e.instancesOf(r)...)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// instancesOf lists the instances to which a reference to a block with for_each refers: the one with its key,
// or all.
func (e *evaluator) instancesOf(r reference) []string {
	list, ok := e.instances(e.prog.entities[r.addr].block, r.addr)
	if !ok {
		return nil
	}
	var all []string
	for _, inst := range list {
		if len(r.rest) > 0 && inst.keyed {
			if key, static := stepName(r.rest[0]); static && key == inst.key {
				return []string{inst.addr}
			}
		}
		all = append(all, inst.addr)
	}
	return all
}
