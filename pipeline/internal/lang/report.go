package lang

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/config"
)

// reportBlock evaluates a report block.
func (e *evaluator) reportBlock(ent *entity, axes []string) *config.Report {
	b := ent.block
	r := &config.Report{Addr: ent.addr, Kind: b.labels[0]}
	o := e.evaluate([]layer{{b, e.newScope()}}, b.typ.schema, false)
	r.Gates = e.reportGates(b)
	r.Path = e.outputPath(o)
	r.Formats = formats(o, r.Kind)
	r.Rows, r.Cols = textsOf(o.Object, "rows"), o.Text("cols")
	for _, name := range r.Rows {
		e.checkAxisName(o, "rows", name, axes)
	}
	if r.Cols != "" {
		e.checkAxisName(o, "cols", r.Cols, axes)
	}
	r.Options = postOptions(o)
	return r
}

// postOptions returns the arguments that are set, for a kind that publishes.
func postOptions(o object) map[string]string {
	kind := o.layers[0].block.kind
	if kind.Block == "" {
		return nil // a kind of the language itself
	}
	var out map[string]string
	for _, a := range kind.Schema.Attrs {
		if !o.Known(a.Name) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[a.Name] = o.Text(a.Name)
	}
	return out
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
				e.report(problem(codeReference, elementRange(src.Expr, i), "gates must hold gates", e.listEntities("gate")))
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
		e.report(problem(codeValue, o.at("path"), "path leads out of the working directory",
			"Reports are written below it. Write a relative path without \"..\"."))
		return ""
	}
	return path
}

func formats(o object, kind string) []string {
	if kind == fileReport && !o.Has("formats") {
		return []string{"markdown"}
	}
	return textsOf(o.Object, "formats")
}

func (e *evaluator) checkAxisName(o object, arg, name string, axes []string) {
	if !slices.Contains(axes, name) {
		e.report(problem(codeValue, o.at(arg), fmt.Sprintf("no benchmark has an axis %q", name), didYouMean(name, axes, "axes")))
	}
}
