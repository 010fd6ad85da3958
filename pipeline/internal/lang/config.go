package lang

import (
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/zclconf/go-cty/cty"
)

// Config is an evaluated pipeline with what its expressions need at run time. It is the [config.Late] of its
// own configuration.
type Config struct {
	*config.Config
	Sources *Sources

	// prog and values are used to evaluate expressions again at run time.
	prog   *program
	values map[string]cty.Value // of variables, by address
	gates  []*gate
	// taken maps servers of the head's side, by address, to the file that describes them; see TakeHead.
	taken map[string]*Config
	// files caches comparisons of models and other files of work with those of taken.
	files *sameFiles
}

// Sources are the files that a pipeline was loaded from.
type Sources = syntax.Sources

// gate is a gate with what evaluates it.
type gate struct {
	*config.Gate
	instance   instance  // of the block, with its key and value
	alphaRange hcl.Range // the value of alpha, or the block without one
	// condition and message are the expressions of an assert, nil without one. EvalAssert evaluates them after
	// the run.
	condition, message hcl.Expression
}

// newConfig returns the configuration of files that are not evaluated yet.
func newConfig(src *Sources, opt Options) *Config {
	out := &Config{Sources: src, Config: &config.Config{
		Tests: opt.Tests, Settings: config.Settings{Alpha: defaultAlpha}, Folder: folderOf(src), Arrivals: opt.Arrivals,
		Stored: opt.Stored != nil,
	}}
	for _, f := range src.Files {
		in := config.Input{Name: f.Name, Bytes: f.Bytes}
		if f.Name == syntax.StdinName {
			in.Name = "stdin.pipeline.hcl"
			if f.JSON != nil {
				in.Name = "stdin.pipeline.json"
			}
		}
		out.Inputs = append(out.Inputs, in)
	}
	out.Late = out
	return out
}

// folderOf returns the folder in which relative paths of the first file start.
func folderOf(src *Sources) string {
	dir := baseDir(src)
	if len(src.Files) == 0 || src.Files[0].Name == syntax.StdinName {
		return dir
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
