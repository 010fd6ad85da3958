package ab

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
	engineargs "github.com/servegate/pipeline/steps/engine/argument"
)

const (
	// users is the number of users if a request sets no load.
	users = "8"
	// warmup is the number of requests before those of a run.
	warmup = 20
	// leastRepeats is the number of repeats before the first look.
	leastRepeats = 4
	// imageCache is the folder to which an image that runs as root downloads models.
	imageCache = "/root/.cache/huggingface"
	// checkouts is the folder in which commits are built.
	checkouts = ".pipeline/builds/"
)

// comparison is a request with all that was found out about it.
type comparison struct {
	Request
	engine
	base, head source
	names      [2]string // of the sides
	args       []argument
	gpus       int
	local      bool // the model is a file or folder of this machine
	token      bool
	hubCache   string // of this machine
}

// Write returns the pipeline file of a request.
func Write(r Request, m Machine) ([]byte, error) {
	c, err := r.resolve(m)
	if err != nil {
		return nil, err
	}
	var f hclfile.Body
	f.Comment("Is " + c.names[1] + " slower than " + c.names[0] + "? Written by\n\n  " + r.Command)
	f.Gap()
	c.settings(&f)
	if c.token {
		token := f.Block("variable", "hf_token")
		token.Set("description", "Token of the model hub.")
		token.Set("default", "")
		token.Set("sensitive", true)
	}
	c.build(&f)
	c.server(&f)
	c.work(&f)
	c.gate(&f)
	return f.Bytes(), nil
}

// resolve checks a request and finds out what it leaves open.
func (r Request) resolve(m Machine) (comparison, error) {
	c := comparison{Request: r}
	err := r.check()
	if err == nil {
		c.base, c.head, err = r.sides(m)
	}
	if err == nil {
		err = r.checkModel(m, c.base)
	}
	if err == nil {
		c.engine, err = engineOf(r, c.base, c.head)
	}
	if err == nil {
		c.args, err = arguments(r.Args, r.HeadArgs)
	}
	if err != nil {
		return c, err
	}
	c.local, c.hubCache = m.Local(r.Model), m.HubCache
	c.token = m.Token && c.base.kind != address && c.hub && !c.local
	if c.gpus = gpusOf(r, c.engine, c.base); c.gpus > 1 && c.parallel != "" && !spread(c.args) {
		c.args = slices.Insert(c.args, 0, argument{c.parallel, c.gpus, c.gpus})
	}
	c.names[0], c.names[1] = names(c.base, c.head, c.differing())
	return c, nil
}

// gpusOf returns the number of GPUs of each server.
func gpusOf(r Request, e engine, s source) int {
	switch {
	case s.kind == address:
		return 0
	case r.GPUs != nil:
		return *r.GPUs
	case e.hub:
		return 1
	}
	return 0
}

// spread reports whether arguments say how a model is spread over GPUs.
func spread(args []argument) bool {
	return slices.ContainsFunc(args, func(a argument) bool {
		return slices.ContainsFunc(engineargs.Parallelism, func(names []string) bool { return slices.Contains(names, a.name) })
	})
}

// differing returns the arguments in which the sides differ.
func (c comparison) differing() []argument {
	return slices.DeleteFunc(slices.Clone(c.args), func(a argument) bool { return !a.differs() })
}

func (c comparison) settings(f *hclfile.Body) {
	if c.Budget == "" && c.Slurm == "" && c.Kubernetes == "" {
		return
	}
	settings := f.Block("pipeline")
	if c.Budget != "" {
		settings.Block("budget").Set("time", c.Budget)
	}
	if c.Slurm != "" {
		job := settings.Block("slurm")
		job.Set("partition", c.Slurm)
		if c.gpus > 0 {
			job.Set("gpus_per_node", c.gpus)
		}
		if c.base.kind == image {
			job.Set("runtime", "pyxis")
		}
	}
	if c.Kubernetes != "" {
		settings.Block("kubernetes").SetWithComment("image", c.Kubernetes, "holds this program")
	}
}

// build writes the step that builds the commits of both sides.
func (c comparison) build(f *hclfile.Body) {
	if c.Build == "" {
		return
	}
	commits := []string{c.base.commit}
	if c.head.commit != c.base.commit {
		commits = append(commits, c.head.commit)
	}
	escape := strings.NewReplacer("${", "$${", "%{", "%%{")
	lines := []string{
		`dir="$PWD/` + checkouts + `${each.value}"`,
		`test -x "$dir/` + c.Program + `" && exit`,
		`rm -rf "$dir"`,
		`git clone --quiet --shared "$(git rev-parse --show-toplevel)" "$dir"`,
		`cd "$dir"`,
		`git checkout --quiet --detach ${each.value}`,
	}
	for line := range strings.Lines(strings.TrimSpace(c.Build)) {
		lines = append(lines, escape.Replace(strings.TrimRight(line, "\n")))
	}
	lines = append(lines, "test -x "+c.Program)
	step := f.Block("step", "exec", "build")
	step.Set("for_each", hclfile.Expr("toset("+text(commits)+")"))
	step.Set("command", hclfile.Expr("[\"sh\", \"-ec\", <<-EOT\n  "+strings.Join(lines, "\n  ")+"\nEOT\n]"))
	step.Set("timeout", "2h")
}

func (c comparison) server(f *hclfile.Body) {
	differing, other := c.differing(), c.base.differs(c.head)
	single := len(differing) == 0 || len(differing) == 1 && !other
	each := func(name string) hclfile.Expr {
		if single {
			return "each.value"
		}
		return hclfile.Expr("each.value." + name)
	}
	var bases, heads hclfile.Map
	from := c.base.value()
	if other {
		name := c.base.noun()
		bases, heads = append(bases, hclfile.Pair{Name: name, Value: from}), append(heads, hclfile.Pair{Name: name, Value: c.head.value()})
		from = each(name)
	}
	args := hclfile.Map{}
	for _, a := range c.args {
		value := a.base
		if a.differs() {
			bases, heads = append(bases, hclfile.Pair{Name: a.name, Value: a.base}), append(heads, hclfile.Pair{Name: a.name, Value: a.head})
			value = each(a.name)
		}
		args = append(args, hclfile.Pair{Name: a.name, Value: value})
	}
	element := func(m hclfile.Map) any {
		if single {
			return m[0].Value
		}
		return m
	}

	s := f.Block("server", c.kind, "sut")
	s.Set("for_each", hclfile.Map{{Name: c.names[0], Value: element(bases)}, {Name: c.names[1], Value: element(heads)}})
	s.Set(string(c.base.kind), c.program(from))
	s.Set("model", c.servedModel())
	if c.gpus > 0 {
		s.Set("gpus", c.gpus)
	}
	if c.token {
		s.Set("env", hclfile.Map{{Name: "HF_TOKEN", Value: hclfile.Expr("var.hf_token")}})
	}
	if c.Build != "" {
		s.Set("depends_on", hclfile.Expr("[step.exec.build]"))
	}
	if len(args) > 0 {
		s.Set("args", args)
	}
	c.container(s)
}

// program returns the path of a program that is built, and any other source unchanged.
func (c comparison) program(from any) any {
	if c.base.commit != "" {
		commit := c.base.commit
		if reference, ok := from.(hclfile.Expr); ok {
			commit = "${" + string(reference) + "}"
		}
		from = hclfile.Expr(`"` + checkouts + commit + "/" + c.Program + `"`)
	}
	return from
}

// servedModel returns the model as the server finds it: a local one in a container is mounted.
func (c comparison) servedModel() string {
	if c.base.kind == image && c.local {
		return "/models/" + filepath.Base(c.absoluteModel())
	}
	return c.Model
}

func (c comparison) absoluteModel() string {
	if path, err := filepath.Abs(c.Model); err == nil {
		return path
	}
	return c.Model
}

func (c comparison) container(s *hclfile.Body) {
	if c.base.kind != image {
		return
	}
	container := &hclfile.Body{}
	if c.gpus > 1 && c.Slurm == "" {
		container.SetWithComment("ipc", "host", "the processes of a server share memory")
	}
	switch {
	case c.local:
		container.Set("mounts", []string{c.absoluteModel() + ":" + c.servedModel() + ":ro"})
	case !c.hub:
	case c.Slurm == "":
		container.SetWithComment("volumes", hclfile.Map{{Name: "hf-cache", Value: imageCache}}, "the model is downloaded once")
	case c.hubCache != "":
		container.SetWithComment("mounts", []string{c.hubCache + ":" + imageCache}, "the model is downloaded once")
	}
	if !container.Empty() {
		*s.Block("container") = *container
	}
}

// work writes the dataset and the benchmark.
func (c comparison) work(f *hclfile.Body) {
	prompts := f.Block("dataset", "random", "prompts")
	prompts.Set("input_len", c.InputLen)
	prompts.Set("output_len", c.OutputLen)

	b := f.Block("benchmark", "serving")
	matrix := b.Block("matrix")
	matrix.Set("side", c.names[:])
	name, axis, values := "rate", "rate", c.Rates
	if len(values) == 0 {
		name, axis, values = "max_concurrency", "concurrency", c.Concurrency
	}
	if len(values) == 0 {
		values = []string{users}
	}
	var load any = json.Number(values[0])
	if len(values) > 1 {
		loads := make([]any, len(values))
		for i, v := range values {
			loads[i] = json.Number(v)
		}
		matrix.Set(axis, loads)
		load = hclfile.Expr("matrix." + axis)
	}
	b.Set("target", hclfile.Expr("server."+c.kind+".sut[matrix.side]"))
	b.Set("dataset", hclfile.Expr("dataset.random.prompts"))
	if c.ends {
		b.Set("ignore_eos", false)
	}
	b.Block("warmup").Set("requests", warmup)
	l := b.Block("load")
	if len(c.Rates) == 0 {
		l.Set("arrival", "closed")
	}
	l.Set(name, load)
	l.Set("requests", c.Requests)
	repeat := b.Block("repeat")
	repeat.Set("min", min(leastRepeats, c.Repeats))
	repeat.Set("max", c.Repeats)
}

func (c comparison) gate(f *hclfile.Body) {
	base := f.Block("baseline", "paired", "base")
	base.Set("axis", "side")
	base.Set("value", c.names[0])
	gate := f.Block("gate", "latency")
	gate.Set("benchmark", hclfile.Expr("benchmark.serving"))
	gate.Set("baseline", hclfile.Expr("baseline.paired.base"))
	gate.Set("metrics", hclfile.Expr("[metric.ttft.p50, metric.tpot.p50]"))
	gate.Set("margin", c.Margin)
}
