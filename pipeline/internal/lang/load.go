package lang

import (
	"io"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/steps"
	datasets "github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/zclconf/go-cty/cty"
)

// Options configures how a pipeline is loaded.
type Options struct {
	// Paths are files and folders, which make one pipeline together; "-" is Stdin.
	Paths []string
	Stdin io.Reader
	// Text is the pipeline in place of Paths, nil to read those.
	Text *Text
	// Vars are values of variables; the last of a name wins. They take precedence over VarFiles, and those over
	// Env.
	Vars     []VarArg
	VarFiles []string
	// Env gives the environment as os.Environ does; nil means none.
	Env func() []string
	// Registry holds the kinds of blocks.
	Registry *steps.Registry
	// Datasets are the kinds of datasets, whose blocks are in Registry; nil means the program's own.
	Datasets datasets.Kinds
	// Arrivals are the load models; nil means the program's own.
	Arrivals load.Arrivals
	// Formats are the names of the formats of a report of kind file.
	Formats []string
	// Tests are the significance tests that a gate can name; nil means the standard ones.
	Tests gates.Tests
	// Version is the program's version, for required_version; "" or an invalid one passes all.
	Version string
	// MaxCells limits the cells of one matrix; 0 means defaultMaxCells.
	MaxCells int
	// Stored holds a stored run's copy of the files beside its pipeline; nil reads the files themselves.
	Stored *config.Stored
}

// Text is a pipeline that a command wrote, as the file of a name that need not exist.
type Text struct {
	Name  string
	Bytes []byte
}

// sources reads and parses the pipeline.
func (o Options) sources() (*syntax.Sources, hcl.Diagnostics) {
	if o.Text != nil {
		return syntax.LoadText(o.Text.Name, o.Text.Bytes)
	}
	return syntax.Load(o.Paths, o.Stdin)
}

// VarArg is one value of a variable: a string as it is, anything else as HCL or JSON.
type VarArg struct {
	Name, Text string
	// Origin names the source of the value in messages: "--var".
	Origin string
}

// Load reads and evaluates a pipeline. It returns all problems at once, sorted by place. The Config is never
// nil, so that sources can be shown beside the problems. After errors it is partial.
func Load(opt Options) (*Config, hcl.Diagnostics) {
	src, diags := opt.sources()
	cfg := newConfig(src, opt)
	if diags.HasErrors() {
		return cfg, diag.Sorted(diags)
	}
	rep := &reporter{}
	rep.report(diags...)
	prog := parse(src, opt, rep)
	e := newEvaluator(prog, map[string]cty.Value{}, rep)
	// For a file that needs another version, this is the only problem reported.
	if d := newEvaluator(prog, nil, rep).checkVersion(opt.Version); d != nil {
		return cfg, hcl.Diagnostics{d}
	}
	if d := prog.empty(src); d != nil && !rep.diags.HasErrors() {
		return cfg, diag.Sorted(append(rep.diags, d))
	}
	e.load(cfg, opt)
	cfg.prog, cfg.values, cfg.Secrets, cfg.Read = prog, e.vars, secretList(e.secrets), prog.read
	prog.read = nil // later evaluations may run in several goroutines
	redact(e.diags, cfg.Secrets)
	return cfg, diag.Sorted(e.all())
}

// Declared lists the variables that a pipeline declares. It ignores all problems except those of reading and
// syntax.
func Declared(opt Options) ([]string, hcl.Diagnostics) {
	src, diags := opt.sources()
	if diags.HasErrors() {
		return nil, diags
	}
	var names []string
	for _, b := range parse(src, opt, &reporter{}).variables {
		names = append(names, b.label())
	}
	return names, nil
}

// load evaluates everything, in the order of dependencies.
func (e *evaluator) load(cfg *Config, opt Options) {
	cfg.Variables = e.resolveVariables(opt)
	cfg.Settings = e.pipelineSettings()
	cfg.Measures = e.measures()
	e.evaluateNames()
	e.files = fileAccess(e.prog.dir, opt)
	cfg.Files = e.files
	for _, ent := range e.prog.of("dataset") {
		e.dataset(ent)
	}
	for _, ent := range e.prog.of("benchmark") {
		e.benchmark(ent)
	}
	for _, ent := range e.prog.of(answersRoot) {
		e.benchmark(ent)
	}
	for _, ent := range e.prog.of("baseline") {
		e.baseline(ent)
	}
	for _, ent := range e.prog.of("gate") {
		list, _ := e.instances(ent.block, ent.addr)
		for _, inst := range list {
			g := e.gate(inst, ent.block)
			cfg.Gates, cfg.gates = append(cfg.Gates, g.Gate), append(cfg.gates, g)
		}
	}
	for _, ent := range slices.Concat(e.prog.of("benchmark"), e.prog.of(answersRoot)) {
		if bm := e.benchmarks[ent.addr]; bm != nil {
			e.warnOfUnusedAxes(bm, ent.block)
		}
	}
	e.checkShares(cfg.gates, cfg.Settings.Alpha)
	e.fill(cfg)
	e.checkLoadNode()
	var axes []string
	for _, b := range cfg.Benchmarks {
		for _, a := range b.Axes {
			axes = append(axes, a.Name)
		}
	}
	for _, ent := range e.prog.of("report") {
		if r := e.reportBlock(ent, axes); r != nil {
			cfg.Reports = append(cfg.Reports, r)
		}
	}
}

// evaluateNames evaluates everything that can be referred to by value, used or not. A mistake is reported even
// if nothing depends on it.
func (e *evaluator) evaluateNames() {
	for _, addr := range slices.Sorted(maps.Keys(e.prog.locals)) {
		e.value(addr, e.prog.locals[addr].NameRange)
	}
	for _, ent := range e.prog.order {
		e.value(ent.addr, ent.block.header)
	}
}

// of lists the usable blocks of a type in source order.
func (p *program) of(typ string) []*entity {
	var out []*entity
	for _, ent := range p.order {
		if ent.block.typ.name == typ && !ent.block.hasErrors {
			out = append(out, ent)
		}
	}
	return out
}

// fill copies the results to cfg in source order, instances in the order of their keys.
func (e *evaluator) fill(cfg *Config) {
	for _, ent := range e.prog.order {
		list, _ := e.instances(ent.block, ent.addr)
		for _, inst := range list {
			if s := e.steps[inst.addr]; s != nil {
				cfg.Steps = append(cfg.Steps, s)
			}
			if s := e.servers[inst.addr]; s != nil && !e.abstract[inst.addr] {
				cfg.Servers = append(cfg.Servers, s)
			}
			if d := e.deployments[inst.addr]; d != nil {
				cfg.Deployments = append(cfg.Deployments, d)
			}
		}
		if bm := e.benchmarks[ent.addr]; bm != nil {
			cfg.Benchmarks = append(cfg.Benchmarks, bm)
		}
		if b := e.baselines[ent.addr]; b != nil {
			cfg.Baselines = append(cfg.Baselines, b)
		}
	}
	cfg.Steps = inOrder(cfg.Steps)
}
