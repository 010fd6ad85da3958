package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/steps"
	datasets "github.com/servegate/pipeline/steps/dataset"
	"github.com/zclconf/go-cty/cty"
)

// The arguments that datasets and benchmarks share. All others become options.
const (
	inputLen  = "input_len"
	outputLen = "output_len"
	prefixLen = "prefix_len"
	pathName  = "path"
)

// dataset is an evaluated dataset block.
type dataset struct {
	kind  steps.Kind
	spec  steps.Dataset
	block *block
	ok    bool
}

// has reports whether datasets of the kind have an argument.
func (d *dataset) has(name string) bool {
	_, ok := d.kind.Schema.Attr(name)
	return ok
}

// dataset evaluates a dataset block.
func (e *evaluator) dataset(ent *entity) {
	b := ent.block
	d := &dataset{kind: b.kind, block: b}
	e.datasets[ent.addr] = d
	if b.hasErrors {
		return
	}
	o := e.evaluate([]layer{{b, e.newScope()}}, b.kind.Schema, false)
	e.check(&o, b.kind, nil)
	d.ok = o.ok
	d.spec = steps.Dataset{Kind: b.kind.Name, PrefixLen: o.Int(prefixLen), Path: o.Text(pathName)}
	if !o.ok {
		return
	}
	e.sum(d, o)
	d.spec.InputMin, d.spec.InputMax, _ = lengths(o.Value(inputLen))
	d.spec.OutputMin, d.spec.OutputMax, _ = lengths(o.Value(outputLen))
	for _, a := range b.kind.Schema.Attrs {
		switch a.Name {
		case inputLen, outputLen, prefixLen, pathName:
			continue
		}
		if o.Known(a.Name) {
			if d.spec.Options == nil {
				d.spec.Options = map[string]any{}
			}
			d.spec.Options[a.Name] = plain(o.Value(a.Name), "")
		}
	}
}

// sum sets the checksum of a dataset's file. It does not report a missing file: callers know whether the run
// needs it.
func (e *evaluator) sum(d *dataset, o object) {
	if d.spec.Path == "" {
		return
	}
	if sum, stored := e.prog.sums[d.spec.Path]; stored {
		d.spec.Sum = sum
		return
	}
	sum, err := e.files.Sum(d.spec.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.report(problem(codeValue, o.at(pathName), "the file of the dataset cannot be read", diag.Sentence(err)))
		d.ok = false
	}
	d.spec.Sum = sum
}

// fileAccess opens the files of datasets: those beside the pipeline file and those that the machine's owner
// allows.
func fileAccess(dir string, opt Options) *datasets.Files {
	files := &datasets.Files{Kinds: opt.Datasets, Dir: dir}
	if opt.Env != nil {
		for _, v := range opt.Env() {
			if dirs, ok := strings.CutPrefix(v, datasets.DirsEnv+"="); ok {
				files.Dirs = datasets.Dirs(dirs)
			}
		}
	}
	return files
}

// maxTokens is the longest length accepted, in tokens.
const maxTokens = 100_000_000

// lengths reads a length in tokens: a number, or { min, max }. It returns 0, 0 if nothing is set.
func lengths(v cty.Value) (low, high int, err error) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return 0, 0, nil
	}
	if v.Type() == cty.Number {
		n, err := whole(v, 1, maxTokens)
		return n, n, err
	}
	if !isMap(v) || len(v.AsValueMap()) != 2 {
		return 0, 0, fmt.Errorf("it must be a number of tokens or { min = …, max = … }")
	}
	ends := v.AsValueMap()
	if ends["min"] == cty.NilVal || ends["max"] == cty.NilVal {
		return 0, 0, fmt.Errorf("it needs min and max and nothing else")
	}
	if low, err = whole(ends["min"], 1, maxTokens); err == nil {
		high, err = whole(ends["max"], 1, maxTokens)
	}
	if err == nil && low > high {
		err = fmt.Errorf("its min is above its max")
	}
	return low, high, err
}

// whole reads an integer between two bounds, both included.
func whole(v cty.Value, low, high int64) (int, error) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() || v.Type() != cty.Number {
		return 0, fmt.Errorf("it must be a whole number")
	}
	f := v.AsBigFloat()
	i, exact := f.Int64()
	if exact != 0 || i < low || i > high {
		bound := fmt.Sprintf("of at least %d", low)
		if high < math.MaxInt64 {
			bound = fmt.Sprintf("from %d to %d", low, high)
		}
		return 0, fmt.Errorf("it must be a whole number %s, not %s", bound, f.Text('g', 10))
	}
	return int(i), nil
}

// datasetOf finds the dataset that the value of an argument names.
func (e *evaluator) datasetOf(v cty.Value, at hcl.Range) (*dataset, *hcl.Diagnostic) {
	id, ok := e.refID(v)
	if ok && e.datasets[id] != nil {
		return e.datasets[id], nil
	}
	var names []string
	for addr := range e.datasets {
		names = append(names, addr)
	}
	return nil, problem(codeLoad, at, "dataset must name a dataset block", listNames(names, "datasets of the file"))
}
