package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Options configures a plan.
type Options struct {
	// File is the user's name for the pipeline.
	File string
	// Only keeps the cells whose label or address matches one of these globs.
	Only []string
	// Repeat overrides the number of repeats if it is above 0.
	Repeat int
	// Simulated is "" or SimulateProcess, SimulateContainer or SimulateVirtual; TimeScale 1 is real time.
	Simulated string
	TimeScale float64
	// Noise returns the known spread of a metric of a cell, false if it is unknown. It may be nil.
	Noise func(cell, metric string) (Noise, bool)
	// Calibration returns the calibration that a file's variance block selects for cells (hashes). If there is
	// none, note explains why none is used. It returns an error if the file cannot be judged as it asks. It may
	// be nil.
	Calibration func(spec *config.Variance, cells []string) (c *Calibration, note string, err error)
	// LaunchTime returns how long launches of a target took that measured these cells (hashes), in seconds; 0
	// if unknown. It may be nil, and is not called for simulated targets.
	LaunchTime func(cells []string) float64
	// Attempt counts the attempts at the same change; see Plan.Attempt.
	Attempt int
	// Notes are further warnings, beside those that the plan itself causes.
	Notes []string
	// IgnoreNoise plans gates whose noise is above their margin, too.
	IgnoreNoise bool
	// RefuseIdentical makes sides that do not differ an error: their comparison always passes.
	RefuseIdentical bool
	// AnySimulation counts differences of simulate blocks even if nothing is simulated.
	AnySimulation bool
	// Argv renders a server's command line for display; it may be nil.
	Argv func(s *config.Server) ([]string, error)
	// Launch describes the processes of a target for display; it may be nil.
	Launch func(cfg *config.Config, addr string) ([]Process, error)
}

// Build makes the plan of a configuration. Errors carry the place in the file.
func Build(cfg *config.Config, opt Options) (*Plan, hcl.Diagnostics) {
	b := builder{cfg: cfg, opt: opt}
	p := &Plan{
		Config:    cfg,
		Schema:    Schema,
		File:      opt.File,
		Title:     cfg.Settings.Description,
		Alpha:     cfg.Settings.Alpha,
		Simulated: opt.Simulated,
		TimeScale: max(opt.TimeScale, 1),
		Timeout:   cfg.Settings.Timeout.Seconds(),
		Variables: variables(cfg.Variables),
		Only:      opt.Only,
		Attempt:   opt.Attempt,
	}
	for _, s := range cfg.Steps {
		p.Steps = append(p.Steps, Step{Addr: s.Addr, Kind: s.Kind.Name, Range: Range(s.Range)})
	}
	p.Measures = cfg.Measures
	p.Benchmarks = b.benchmarks()
	p.cells = cellsOf(p.Benchmarks)
	p.Targets = b.targets(p.Benchmarks)
	p.Gates = b.gates(p)
	p.Sides = b.sides(p)
	p.FamilySize = p.familySize()
	p.Cluster = b.cluster(p)
	p.Machines = b.machines(p)
	p.Resident = b.resident(p)
	p.Repeats = schedule(p)
	p.Looks = looks(p.Benchmarks)
	var notes []string
	p.Variance, notes = b.variance(p)
	b.launchTimes(p)
	p.Price = b.price()
	p.Estimate, p.Profile = estimate(p), b.profile(p)
	b.fit(p)
	b.decide(p)
	p.Notes = slices.Concat(notes, b.traces, b.sharedCaches(p), b.filledFirst(p), opt.Notes)
	p.Warnings = warnings(p)
	p.Fingerprint = fingerprint(p)
	return p, b.diags
}

// warnings returns what the user should know about a plan that has no errors.
func warnings(p *Plan) []string {
	out := slices.Concat(p.Notes, []string{p.attempted(), p.extension(), p.unpriced()}, p.unpairedOnNodes(),
		[]string{notSelectedText(p.NotSelected)})
	out = slices.DeleteFunc(out, func(text string) bool { return text == "" })
	if addr := p.unguarded(); addr != "" {
		out = append(out, addr+" expects an improvement, and no gate compares what is answered: a head that answers something else, or worse, "+
			"may be shown to be faster")
	}
	for _, s := range p.Sides {
		if text := s.Title() + ": the same in everything, so that this compares a server with itself"; s.Identical &&
			!slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, b := range p.Benchmarks {
		judged := slices.ContainsFunc(p.Gates, func(g Gate) bool { return g.Benchmark == b.Addr && g.paired() })
		if judged && b.RepeatMax < 2 {
			out = append(out, fmt.Sprintf("%s: no test is possible with 1 repeat, so no comparison can be decided", b.Addr))
		}
		if i := slices.IndexFunc(b.Cells, func(c Cell) bool { return c.Workload.Dataset.Synthetic }); i >= 0 {
			out = append(out, fmt.Sprintf("%s: %s is not there: its prompts are made up, with lengths distributed like those of ShareGPT", b.Addr,
				b.Cells[i].Workload.Dataset.Path))
		}
	}
	return out
}

// attempted explains the cost of a further attempt, "" for the first.
func (p *Plan) attempted() string {
	if p.Attempt < 2 {
		return ""
	}
	text := fmt.Sprintf("attempt %d: what earlier attempts measured is not counted, so a pass needs a level of %.3g instead of %.3g "+
		"(0.2·alpha/(k·(k − 1)) at attempt k, which sums to alpha with the 0.8·alpha of the first); --resume goes on with a run instead",
		p.Attempt, p.PassAlpha(), p.Alpha)
	if len(p.Red) > 0 {
		text += fmt.Sprintf("; inconclusive fails for %s, which an earlier attempt may have seen regress", strings.Join(p.Red, ", "))
	}
	return text
}

type builder struct {
	cfg   *config.Config
	opt   Options
	diags hcl.Diagnostics
	// traces describes the parts of recorded traces that are not replayed.
	traces []string
}

// fail reports an error at a place, once: cells of a benchmark often share it.
func (b *builder) fail(at hcl.Range, summary, detail string) {
	if slices.ContainsFunc(b.diags, func(d *hcl.Diagnostic) bool {
		return d.Summary == summary && d.Detail == detail && d.Subject != nil && *d.Subject == at
	}) {
		return
	}
	b.diags = append(b.diags, &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: at.Ptr(),
	})
}

// warn reports a warning at the first place that causes it: gates of a family often share it.
func (b *builder) warn(at hcl.Range, summary, detail string) {
	if slices.ContainsFunc(b.diags, func(d *hcl.Diagnostic) bool { return d.Summary == summary && d.Detail == detail }) {
		return
	}
	b.diags = append(b.diags, &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: summary, Detail: detail, Subject: at.Ptr()})
}

// benchmarks expands the configuration's benchmarks, without the cells that --only leaves out.
func (b *builder) benchmarks() []Benchmark {
	var out []Benchmark
	kept := 0
	for _, src := range b.cfg.Benchmarks {
		bm := Benchmark{
			Addr: src.Addr, Description: src.Description, Excluded: src.Excluded,
			RepeatMin: src.RepeatMin, RepeatMax: src.RepeatMax, Passes: src.Passes, Seed: src.Seed,
			Timeout: src.Timeout.Seconds(), Limits: src.Limits, Range: Range(src.Range),
		}
		if bm.Passes == 1 {
			bm.Passes = 0 // the default, which is not written
		}
		if b.opt.Repeat > 0 {
			bm.RepeatMin, bm.RepeatMax = b.opt.Repeat, b.opt.Repeat
		}
		for _, a := range src.Axes {
			bm.Axes = append(bm.Axes, Axis{Name: a.Name, Values: a.Values})
		}
		bm.Cells = b.kept(src)
		if bm.Timeout == 0 {
			bm.Timeout = runTimeout(bm.Cells)
		}
		kept += len(bm.Cells)
		out = append(out, bm)
	}
	if kept == 0 && len(b.opt.Only) > 0 {
		b.diags = append(b.diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "no cell is left",
			Detail: fmt.Sprintf("No cell matches --only %s. A pattern is matched against the benchmark's address, a cell's label such as \"rate=4 "+
				"input_len=256\", and each of its axis=value pairs.",
				strings.Join(b.opt.Only, ", ")),
		})
	}
	return out
}

// kept returns the cells that --only selects, and the cells that a gate compares them with.
func (b *builder) kept(src *config.Benchmark) []Cell {
	all := make([]Cell, len(src.Cells))
	keep := map[string]bool{}
	for i, c := range src.Cells {
		all[i] = b.cell(src, c)
		keep[all[i].Hash] = b.selected(src.Addr, all[i])
	}
	for _, g := range b.cfg.Gates {
		base := b.cfg.BaselineAt(g.Baseline)
		if g.Benchmark != src.Addr || base == nil || base.Kind != result.BaselinePaired {
			continue
		}
		bases := basesOf(all, base.Axis, base.Value)
		for _, i := range g.Cells {
			_, rest := result.SplitAxis(all[i].Values, base.Axis)
			if partner := bases[result.CoordinatesKey(rest)]; keep[all[i].Hash] && partner != "" {
				keep[partner] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(c Cell) bool { return !keep[c.Hash] })
}

func (b *builder) cell(src *config.Benchmark, c config.Cell) Cell {
	name := strings.TrimPrefix(src.Addr, "benchmark.")
	if b.opt.Simulated != "" {
		c.Workload.Dataset = b.cfg.Files.Rehearsed(c.Workload.Dataset)
	}
	return Cell{
		Hash:     Hash(name, c.Values, c.Workload),
		WorkKey:  workKey(name, c.Workload),
		Values:   c.Values,
		Target:   c.Target,
		Workload: c.Workload,
		Seconds:  b.seconds(src, c.Workload),
	}
}

// selected reports whether --only selects a cell.
func (b *builder) selected(addr string, c Cell) bool {
	return len(b.opt.Only) == 0 || matches(b.opt.Only, addr, c)
}

// matches reports whether a pattern matches the benchmark's address, the whole label, or one
// axis=value pair of a cell.
func matches(patterns []string, addr string, c Cell) bool {
	names := []string{addr, strings.TrimPrefix(addr, "benchmark."), result.Coordinates(c.Values, " "), addr + "[" +
		result.Coordinates(c.Values, " ") + "]"}
	for _, v := range c.Values {
		names = append(names, v.Name+"="+v.Value)
	}
	for _, pattern := range patterns {
		for _, name := range names {
			// A malformed pattern can only match literally.
			if ok, err := path.Match(pattern, name); pattern == name || (err == nil && ok) {
				return true
			}
		}
	}
	return false
}

// targets lists the targets of the cells, in the order of first use.
func (b *builder) targets(benchmarks []Benchmark) []Target {
	var out []Target
	seen := map[string]bool{}
	for _, bm := range benchmarks {
		for _, c := range bm.Cells {
			if seen[c.Target] || c.handedOver() {
				continue
			}
			seen[c.Target] = true
			out = append(out, b.target(c.Target, bm.Range))
		}
	}
	return out
}

func (b *builder) target(addr string, at result.Range) Target {
	if s := b.cfg.ServerAt(addr); s != nil {
		t := Target{
			Addr: addr, Engine: s.Kind.Name, Model: s.Spec.Model, Source: source(s), Attached: s.Spec.URL != "",
			Settings: settings(s.Spec, b.cfg.Settings.Docker), Range: Range(s.Range),
			Images: images(s.Spec.Image),
		}
		if t.Attached {
			return t
		}
		t.GPUs, t.Machines, t.Work = s.Spec.GPUs, machines(s.Spec), workOf("", s.Spec)
		if b.opt.Argv == nil {
			return t
		}
		argv, err := b.opt.Argv(s)
		if err != nil {
			b.fail(s.Range, "server cannot be rendered", diag.Sentence(err))
		}
		t.Argv, t.Launch = argv, b.launch(s.Range, addr)
		return t
	}
	if d := b.cfg.DeploymentAt(addr); d != nil {
		t := deploymentTarget(d, b.cfg.Settings.Docker)
		t.Launch = b.launch(d.Range, addr)
		return t
	}
	return Target{Addr: addr, Source: "unknown", Range: at}
}

// workOf returns the arguments and variables of a server that decide its work, without secrets.
func workOf(prefix string, spec steps.ServerSpec) map[string]string {
	spec.Env = withoutSecrets(spec.Env)
	out := map[string]string{}
	for name, value := range argument.Work(spec) {
		out[prefix+name] = value
	}
	return out
}

// images returns the names that are not empty, each once.
func images(names ...string) []string {
	var out []string
	for _, name := range names {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// launchTimes sets how long the launches of each target took before, or take in the model of simulated ones.
func (b *builder) launchTimes(p *Plan) {
	for i := range p.Targets {
		if p.Simulated != "" {
			p.Targets[i].StartSeconds = modelledStart(p.Targets[i].Launch) / p.TimeScale
			continue
		}
		if b.opt.LaunchTime == nil {
			continue
		}
		var cells []string
		for _, bm := range p.Benchmarks {
			for _, c := range bm.Cells {
				if c.Target == p.Targets[i].Addr {
					cells = append(cells, c.Hash)
				}
			}
		}
		p.Targets[i].StartSeconds = b.opt.LaunchTime(cells)
	}
}

// launch describes the processes of a target.
func (b *builder) launch(at hcl.Range, addr string) []Process {
	if b.opt.Launch == nil {
		return nil
	}
	processes, err := b.opt.Launch(b.cfg, addr)
	if err != nil {
		b.fail(at, addr+" cannot be rendered", diag.Sentence(err))
	}
	return processes
}

// withoutSecrets returns an environment without the values of secrets.
func withoutSecrets(vars []steps.EnvVar) []steps.EnvVar {
	env := make([]steps.EnvVar, len(vars))
	for i, e := range vars {
		if env[i] = e; e.Secret {
			env[i].Value = ""
		}
	}
	return env
}

// settings returns a hash of what a launch depends on besides its command line. It excludes secrets: the hash
// of a short one would reveal it.
func settings(s steps.ServerSpec, hosts *steps.DockerSpec) string {
	return digest(struct {
		Env       []steps.EnvVar
		Container *steps.ContainerSpec
		GPUs      int
		Simulate  map[string]any
		Node      int           `json:",omitempty"`
		Nodes     int           `json:",omitempty"`
		Hosts     []string      `json:",omitempty"`
		Caches    []steps.Cache `json:",omitempty"`
	}{withoutSecrets(s.Env), s.Container, s.GPUs, s.Simulate, s.Node, s.Nodes, hostsOf(s, hosts), s.Caches})[:16]
}

// hostsOf returns the Docker hosts of the file on which a server runs.
func hostsOf(s steps.ServerSpec, hosts *steps.DockerSpec) []string {
	if hosts == nil || s.URL != "" || s.Image == "" {
		return nil
	}
	var out []string
	for i := s.Node; i < min(s.Node+max(s.Nodes, 1), len(hosts.Hosts)); i++ {
		out = append(out, hosts.Hosts[i].URL+" "+hosts.Hosts[i].Address)
	}
	return out
}

func source(s *config.Server) string {
	if s.Spec.Stack != nil {
		return strings.Join(s.Spec.Stack.Up, " ")
	}
	return cmp.Or(s.Spec.URL, s.Spec.Image, strings.Join(s.Spec.Executable, " "))
}

// variables returns the values of the file's variables for people, secrets as "(sensitive)".
func variables(vars []config.Variable) map[string]string {
	out := make(map[string]string, len(vars))
	for _, v := range vars {
		switch value := v.Value; {
		case value.IsNull() && v.Origin == "default":
			// Text cannot express null. A file that is read again with these has the same default.
		case v.Sensitive || value.ContainsMarked():
			out[v.Name] = "(sensitive)"
		case !value.IsWhollyKnown():
			out[v.Name] = "(known at run time)"
		case value.Type() == cty.String && !value.IsNull():
			out[v.Name] = value.AsString()
		default:
			text, _ := json.Marshal(ctyjson.SimpleJSONValue{Value: value}) // known values can be encoded
			out[v.Name] = string(text)
		}
	}
	return out
}

// Range converts a place in a file.
func Range(r hcl.Range) result.Range {
	return result.Range{File: r.Filename, Line: r.Start.Line, Col: r.Start.Column, EndLine: r.End.Line}
}
