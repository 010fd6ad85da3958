package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/steps"
)

// Defaults of a stored baseline. Ten sessions are what a prediction interval needs.
const (
	defaultBranch   = "main"
	defaultSessions = 10
	maxSessions     = 10_000
)

// baselineArguments lists the arguments of each kind of baseline, the required ones first.
func baselineArguments(kind string) (all []string, required int) {
	switch kind {
	case pairedBaseline:
		return []string{"axis", "value", "differ"}, 2
	case storedBaseline:
		return []string{"branch", "sessions", "match"}, 0
	case fileBaseline:
		return []string{"path", "differ"}, 1
	}
	return nil, 0
}

// baseline evaluates a baseline block.
func (e *evaluator) baseline(ent *entity) {
	b := ent.block
	out := &Baseline{Addr: ent.addr, Kind: b.labels[0], Range: b.header}
	kinds := []string{pairedBaseline, storedBaseline, fileBaseline}
	if !slices.Contains(kinds, out.Kind) {
		e.report(problem(codeKind, b.labelAt[0], fmt.Sprintf("there is no baseline of kind %q", out.Kind), choose(out.Kind, kinds, "kinds of baseline")))
		return
	}
	if !e.fits(b, out.Kind) {
		return
	}
	o := e.evaluate([]layer{{b, e.newScope()}}, b.typ.schema, false)
	if !o.ok {
		return
	}
	e.fillBaseline(out, o)
	e.baselines[ent.addr] = out
}

// fits reports arguments that the kind does not have or lacks.
func (e *evaluator) fits(b *block, kind string) bool {
	all, required := baselineArguments(kind)
	ok := true
	for _, a := range b.sorted() {
		if !slices.Contains(all, a.Name) {
			e.report(problem(codeArgument, a.NameRange, fmt.Sprintf("a %s baseline has no %s", kind, a.Name), offer(all, "arguments of a "+kind+" baseline")))
			ok = false
		}
	}
	for _, name := range all[:required] {
		if !b.has(name) {
			a, _ := b.typ.attr(name)
			e.report(problem(codeMissing, b.header, fmt.Sprintf("%s is missing", name), fmt.Sprintf("A %s baseline needs it. %s", kind, a.Doc)))
			ok = false
		}
	}
	return ok
}

func (e *evaluator) fillBaseline(out *Baseline, o object) {
	out.Axis = o.Text("axis")
	if o.Has("value") {
		text, ok := e.valueText(o.Value("value"))
		if !ok {
			e.report(problem(codeType, o.at([]string{"value"}), "value must be one value of the axis", "A string, number, bool, server or deployment."))
		}
		out.Value = text
	}
	if path := o.Text("path"); path != "" {
		out.Path = e.besideFile(path)
		if _, err := os.Stat(out.Path); errors.Is(err, fs.ErrNotExist) {
			e.report(warning(codeBaseline, o.at([]string{"path"}), "the file of the baseline is not there",
				fmt.Sprintf("%s does not exist now. Gates that compare with it are missing until it does.", path)))
		}
	}
	if out.Kind == storedBaseline {
		out.Branch, out.Sessions = defaultBranch, defaultSessions
	}
	if o.Has("branch") {
		out.Branch = o.Text("branch")
	}
	if o.Has("sessions") {
		n, err := whole(o.Value("sessions"), gates.MinSessions, maxSessions)
		if err != nil {
			e.report(problem(codeValue, o.at([]string{"sessions"}), fmt.Sprintf("sessions must be a whole number from %d on: a prediction interval needs that many", gates.MinSessions), sentence(err)))
		}
		out.Sessions = n
	}
	out.Match = textsOf(o.Object, "match")
	out.Differ = textsOf(o.Object, "differ")
	for _, name := range out.Differ {
		if !slices.Contains(comparability.Declarable(), name) {
			e.report(problem(codeValue, o.at([]string{"differ"}), fmt.Sprintf("nothing that two sides can differ in is called %q", name), choose(name, comparability.Declarable(), "names")))
		}
	}
}

// textsOf is an argument that is a list of strings.
func textsOf(o steps.Object, name string) []string {
	out, err := o.Texts(name)
	if err != nil {
		return nil // null elements only: the schema has checked the rest
	}
	return out
}

// besideFile makes a path absolute that is meant from the pipeline file's folder.
func (e *evaluator) besideFile(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.prog.dir, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
