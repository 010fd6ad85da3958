package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// The number of sessions of a stored baseline. A prediction interval needs ten.
const (
	defaultSessions = 10
	maxSessions     = 10_000
)

// baseline evaluates a baseline block.
func (e *evaluator) baseline(ent *entity) {
	b := ent.block
	out := &config.Baseline{Addr: ent.addr, Kind: result.BaselineKind(b.kind.Name), Range: b.header}
	o := e.evaluate([]layer{{b, e.newScope()}}, b.typ.schema, false)
	if !o.ok {
		return
	}
	e.fillBaseline(out, o)
	e.baselines[ent.addr] = out
}

func (e *evaluator) fillBaseline(out *config.Baseline, o object) {
	out.Axis = o.Text("axis")
	if o.Has("value") {
		text, ok := e.valueText(o.Value("value"))
		if !ok {
			e.report(problem(codeType, o.at("value"), "value must be one value of the axis", "A string, number, bool, server or deployment."))
		}
		out.Value = text
	}
	if path := o.Text("path"); path != "" {
		out.Path = e.besideFile(path)
		if _, err := os.Stat(out.Path); errors.Is(err, fs.ErrNotExist) {
			e.report(warning(codeBaseline, o.at("path"), "the file of the baseline is not there",
				fmt.Sprintf("%s does not exist now. Gates that compare with it are missing until it does.", path)))
		}
	}
	out.Branch = o.Text("branch")
	if o.Has("sessions") {
		n, err := whole(o.Value("sessions"), gates.MinSessions, maxSessions)
		if err != nil {
			e.report(problem(codeValue, o.at("sessions"),
				fmt.Sprintf("sessions must be a whole number from %d on: a prediction interval needs that many", gates.MinSessions),
				diag.Sentence(err)))
		}
		out.Sessions = n
	}
	out.Match = textsOf(o.Object, "match")
	out.Differ = textsOf(o.Object, "differ")
}

// textsOf returns an argument that is a list of strings.
func textsOf(o steps.Object, name string) []string {
	out, err := o.Texts(name)
	if err != nil {
		return nil // null elements only: the schema has checked the rest
	}
	return out
}

// besideFile makes a path absolute. Relative paths start in the pipeline file's folder.
func (e *evaluator) besideFile(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.prog.dir, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
