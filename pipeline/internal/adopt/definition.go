package adopt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
	"github.com/servegate/pipeline/steps/secret"
)

// Definition holds the servers and benchmarks that sources define, in the terms of a pipeline file.
type Definition struct {
	// Sources names each source with its form, for the head of the file.
	Sources []string
	// Left lists what could not be carried over and belongs to no server or benchmark.
	Left []Left

	servers    []*server
	benchmarks []*benchmark
	datasets   []*dataset
	variables  []variable
	slurm      hclfile.Map // pipeline.slurm
	home       string
	open       func(path string) ([]byte, error)
}

// Left is a part of a source that the pipeline file does not have, and why.
type Left struct{ What, Why string }

// server is one server block.
type server struct {
	name   string // label
	kind   string // of the block
	image  string
	words  []string // of the executable, in front of what the engine adds
	inside []string // words of the container's entrypoint

	model, served string
	version       string // "" unless the newest release lacks an argument
	port, gpus    int
	args          hclfile.Map
	env           hclfile.Map
	container     hclfile.Map
	ready         hclfile.Map
	left          []Left

	pair *pair // of a deployment, whose name and left parts are those of the server
	role string
}

// pair holds the servers of a deployment with prefill and decode apart.
type pair struct {
	transfer, router string // kinds of the blocks
	prefill, decode  []*server
}

// members returns the servers that are started: a server itself, or those of a deployment.
func (s *server) members() []*server {
	if s.pair == nil {
		return []*server{s}
	}
	return slices.Concat(s.pair.prefill, s.pair.decode)
}

// target returns the address of what a benchmark loads.
func (s *server) target() string {
	if s.pair != nil {
		return "deployment." + s.name
	}
	return "server." + s.kind + "." + s.name
}

// benchmark is one benchmark block with its dataset.
type benchmark struct {
	name, model string
	server      *server // nil for the only one
	dataset     *dataset
	attrs       hclfile.Map // of the block
	axes        hclfile.Map // beside the side
	load        hclfile.Map
	goodput     hclfile.Map
	warmup      int
	left        []Left
}

// dataset is one dataset block.
type dataset struct {
	kind, name string
	attrs      hclfile.Map
}

// variable is a variable block.
type variable struct {
	name, description string
	value             any // its default
	sensitive         bool
}

// set appends an element, or replaces the one of that name.
func set(m hclfile.Map, name string, value any) hclfile.Map {
	if i := slices.IndexFunc(m, func(p hclfile.Pair) bool { return p.Name == name }); i >= 0 {
		m[i].Value = value
		return m
	}
	return append(m, hclfile.Pair{Name: name, Value: value})
}

// get returns the element of a name.
func get(m hclfile.Map, name string) (any, bool) {
	for _, p := range m {
		if p.Name == name {
			return p.Value, true
		}
	}
	return nil, false
}

func (d *Definition) leave(what, why string) { d.Left = append(d.Left, Left{what, why}) }

func (s *server) leave(what, why string) { s.left = append(s.left, Left{what, why}) }

func (b *benchmark) leave(what, why string) { b.left = append(b.left, Left{what, why}) }

// NotCarried returns everything that the file does not have, with the block that it belongs to.
func (d *Definition) NotCarried() []Left {
	var out []Left
	in := func(block string, left []Left) {
		for _, l := range left {
			out = append(out, Left{block + l.What, l.Why})
		}
	}
	in("", d.Left)
	for _, s := range d.servers {
		if s.pair == nil {
			in("server "+s.name+": ", s.left)
			continue
		}
		in("deployment "+s.name+": ", s.left)
		for _, m := range s.members() {
			in("server "+m.name+" of "+s.name+": ", m.left)
		}
	}
	for _, b := range d.benchmarks {
		in("benchmark "+b.name+": ", b.left)
	}
	return out
}

// References to variables stand in text between two code points that Unicode keeps for such uses. Sources that contain
// them are refused.
const (
	refBegin = "\uFDD0"
	refEnd   = "\uFDD1"
)

var reference = lazyregexp.New(refBegin + "([^" + refEnd + "]*)" + refEnd)

// dollars shows references as a shell has them.
func dollars(text string) string { return reference.ReplaceAllString(text, "$$$1") }

// refer declares a variable, unless it is declared, and returns a reference to it for use in text.
func (d *Definition) refer(v variable) string {
	v.name = identifier(v.name)
	if !slices.ContainsFunc(d.variables, func(o variable) bool { return o.name == v.name }) {
		d.variables = append(d.variables, v)
	}
	return refBegin + v.name + refEnd
}

// unset returns the text for a shell variable that its script does not set.
func (d *Definition) unset(name string, fallback *string) string {
	switch {
	case strings.HasPrefix(name, "$"):
		short := d.computed(name)
		d.leave(name, "the shell computes it: set the variable "+short)
		return d.refer(variable{name: short, description: name + " of the source, which the shell computes.", value: short})
	case secret.Name(name):
		return d.hidden(name)
	case name == "HOME":
		return d.refer(variable{name: "home", description: "Home folder of the machine that runs the servers.", value: d.home})
	case fallback != nil:
		return d.refer(variable{name: name, description: "$" + name + " of the source.", value: *fallback})
	}
	d.leave("$"+name, "the source does not set it: set the variable "+identifier(name))
	return d.refer(variable{name: name, description: "$" + name + ", which the source does not set.", value: unsetValue(name)})
}

// unsetValue returns what stands for a variable without a value: its name, which no number is.
func unsetValue(name string) string {
	if _, err := strconv.Atoi(name); err == nil {
		return identifier(name)
	}
	return name
}

// computed returns the name of a variable for what the shell computes: of its first words, and with a number if that is taken.
func (d *Definition) computed(text string) string {
	const words = 2
	name := identifier(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("$(){} \t\n|", r) }), " "))
	if parts := strings.Split(name, "_"); len(parts) > words {
		name = strings.Join(parts[:words], "_")
	}
	out := name
	for n := 2; slices.ContainsFunc(d.variables, func(v variable) bool {
		return v.name == out && v.description != text+" of the source, which the shell computes."
	}); n++ {
		out = name + "_" + strconv.Itoa(n)
	}
	return out
}

// hidden returns a reference to a sensitive variable for the secret of this name.
func (d *Definition) hidden(name string) string {
	if reference.MatchString(name) {
		return name
	}
	return d.refer(variable{name: name, value: "", sensitive: true,
		description: name + ": PIPELINE_VAR_" + identifier(name) + " in the environment."})
}

// environment adds a variable to a server's environment. The value of a secret becomes a variable of the file.
func (d *Definition) environment(s *server, name, value string) {
	if secret.Name(name) && !reference.MatchString(value) {
		if value != "" {
			s.leave("the value of "+name, "secrets do not belong in the file: set PIPELINE_VAR_"+identifier(name))
		}
		value = d.hidden(name)
	}
	s.env = set(s.env, name, value)
}

// homes replaces a leading ~ of a path.
func (d *Definition) homes(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return d.unset("HOME", nil) + "/" + rest
	}
	return path
}

var notIdentifier = lazyregexp.New(`[^A-Za-z0-9_]+`)

// identifier makes the label of a block, or the name of a variable, from a name of the source.
func identifier(name string) string {
	name = strings.ToLower(strings.Trim(notIdentifier.ReplaceAllString(dollars(name), "_"), "_"))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "x" + name
	}
	return name
}

// free returns a label that no block of the list has, with a number behind it if needed.
func free[B any](name string, blocks []B, label func(B) string) string {
	name = identifier(name)
	out := name
	for n := 2; slices.ContainsFunc(blocks, func(b B) bool { return label(b) == out }); n++ {
		out = name + "_" + strconv.Itoa(n)
	}
	return out
}

// addServer adds a server under a label that is free. A server that equals another is that one.
func (d *Definition) addServer(s *server) *server {
	for _, o := range d.servers {
		if sameServer(o, s) {
			return o
		}
	}
	s.name = free(s.name, d.servers, func(o *server) string { return o.name })
	d.servers = append(d.servers, s)
	return s
}

func (d *Definition) addBenchmark(b *benchmark) {
	b.name = free(b.name, d.benchmarks, func(o *benchmark) string { return o.name })
	d.benchmarks = append(d.benchmarks, b)
}

// addDataset adds a dataset. One that equals another is that one.
func (d *Definition) addDataset(set *dataset) *dataset {
	for _, o := range d.datasets {
		if o.kind == set.kind && hclfile.Value(o.attrs, 0) == hclfile.Value(set.attrs, 0) {
			return o
		}
	}
	same := slices.DeleteFunc(slices.Clone(d.datasets), func(o *dataset) bool { return o.kind != set.kind })
	set.name = free(set.name, same, func(o *dataset) string { return o.name })
	d.datasets = append(d.datasets, set)
	return set
}

func sameServer(a, b *server) bool {
	text := func(s *server) string {
		if s.pair != nil {
			return s.name // no two deployments are equal
		}
		return hclfile.Value([]any{s.kind, s.image, s.words, s.inside, s.model, s.served, s.port, s.gpus, s.args, s.env, s.container, s.ready}, 0)
	}
	return text(a) == text(b)
}
