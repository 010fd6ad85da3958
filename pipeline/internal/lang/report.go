package lang

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// reportKinds are the kinds of reports with the arguments that only they have.
func reportKinds() map[string][]string {
	return map[string][]string{"github": {"comment", "key", "check", "status"}, "file": {"path", "formats"}, "summary": nil}
}

// reportBlock evaluates a report block.
func (e *evaluator) reportBlock(ent *entity, axes []string) *Report {
	b := ent.block
	r := &Report{Addr: ent.addr, Kind: b.labels[0], Range: b.header}
	if !e.reportFits(b, r.Kind) {
		return nil
	}
	schema := reportType().schema
	o := e.evaluate([]layer{{b, e.newScope()}}, schema, false)
	r.Gates = e.reportGates(b)
	r.Path = e.outputPath(o)
	r.Formats = e.formats(o, r.Kind)
	r.Rows, r.Cols = textsOf(o.Object, "rows"), o.Text("cols")
	for _, name := range r.Rows {
		e.checkAxisName(o, "rows", name, axes)
	}
	if r.Cols != "" {
		e.checkAxisName(o, "cols", r.Cols, axes)
	}
	r.Options = e.postOptions(o)
	return r
}

// commentModes say what becomes of the comments of earlier runs.
func commentModes() []string {
	return []string{"update", "hide-and-new", "delete-and-new", "new", "never"}
}

// postOptions are the arguments of the kind github that are set.
func (e *evaluator) postOptions(o object) map[string]string {
	var out map[string]string
	for _, name := range reportKinds()["github"] {
		if !o.Known(name) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = o.Text(name)
		if name == "comment" && !slices.Contains(commentModes(), out[name]) {
			e.report(problem(codeValue, o.at([]string{name}), fmt.Sprintf("there is no way %q to comment", out[name]), choose(out[name], commentModes(), "ways")))
		}
	}
	return out
}

// reportFits reports an unknown kind, of which nothing more can be said, and arguments
// that the kind does not have.
func (e *evaluator) reportFits(b *block, kind string) bool {
	kinds := reportKinds()
	if _, ok := kinds[kind]; !ok {
		names := []string{"github", "file", "summary"}
		e.report(problem(codeKind, b.labelAt[0], fmt.Sprintf("there is no report of kind %q", kind), choose(kind, names, "kinds of report")))
		return false
	}
	for other, own := range kinds {
		for _, name := range own {
			if a := b.attrs[name]; a != nil && other != kind {
				e.report(problem(codeArgument, a.NameRange, fmt.Sprintf("a %s report has no %s", kind, name), fmt.Sprintf("It is an argument of report %q.", other)))
			}
		}
	}
	return true
}

// reportGates reads the list of gates.
func (e *evaluator) reportGates(b *block) []string {
	src := b.attrs["gates"]
	if src == nil {
		return nil
	}
	v, ok := e.newScope().value(src.Expr)
	if !ok {
		return nil
	}
	var out []string
	if isList(v) {
		for it := v.ElementIterator(); it.Next(); {
			i, elem := it.Element()
			id, ok := e.refID(elem)
			if !ok || rootOf(id) != "gate" {
				e.report(problem(codeReference, elementRange(src.Expr, i), "gates must hold gates", e.offerEntities("gate")))
				continue
			}
			out = append(out, id)
		}
		return out
	}
	e.report(problem(codeType, src.Expr.Range(), "gates must be a list of gates", "Write gates = [gate.latency]."))
	return nil
}

// outputPath refuses paths that lead out of the working directory: the file may come from
// a pull request.
func (e *evaluator) outputPath(o object) string {
	path := o.Text("path")
	if path == "" {
		return ""
	}
	if !filepath.IsLocal(path) {
		e.report(problem(codeValue, o.at([]string{"path"}), "path leads out of the working directory", "Reports are written below it. Write a relative path without \"..\"."))
		return ""
	}
	return path
}

func (e *evaluator) formats(o object, kind string) []string {
	if !o.Has("formats") {
		if kind == "file" {
			return []string{"markdown"}
		}
		return nil
	}
	formats := textsOf(o.Object, "formats")
	for i, name := range formats {
		at := o.at([]string{"formats"})
		if src := o.layers[0].block.attrs["formats"]; src != nil {
			at = elementRange(src.Expr, cty.NumberIntVal(int64(i)))
		}
		if !slices.Contains(e.prog.formats, name) {
			e.report(problem(codeValue, at, fmt.Sprintf("there is no format %q", name), choose(name, e.prog.formats, "formats")))
		}
	}
	return formats
}

func (e *evaluator) checkAxisName(o object, arg, name string, axes []string) {
	if !slices.Contains(axes, name) {
		e.report(problem(codeValue, o.at([]string{arg}), fmt.Sprintf("no benchmark has an axis %q", name), choose(name, axes, "axes")))
	}
}
