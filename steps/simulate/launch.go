package simulate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// launch is a server's command line and settings with all defaults resolved.
type launch struct {
	settings Settings
	// connectors that can be simulated.
	connectors kv.Table
	fail       Failures
	engine     engine
	version    string
	args       *arguments
	// raw flags as given, for log lines.
	raw      []string
	model    string
	served   string
	adapters []string // names of LoRA adapters, which have no cost
	host     string
	port     int
	config   model.Config
	eager    bool
	logStats bool
	// metrics reports whether metrics are served (SGLang needs --enable-metrics).
	metrics bool
	// accessLog reports whether requests are logged, cached whether answers count cached tokens.
	accessLog, cached bool
	devMode           bool
	// profiler of the launch; its dir is "" if there is none.
	profiler profiler
	// kv is the server's part in a KV transfer, nil without one.
	kv *kv.Part
	// part of this process in a server on several nodes.
	part nodePlan
}

// serveCommand returns the flags after "PROGRAM serve" or "-m MODULE", with any interpreter path.
func serveCommand(argv []string, program, module string) ([]string, bool) {
	for i, a := range argv {
		if a == "-m" && i+1 < len(argv) && argv[i+1] == module || a == "serve" && i > 0 && path.Base(argv[i-1]) == program {
			return argv[i+map[bool]int{true: 2, false: 1}[a == "-m"]:], true
		}
	}
	return nil, false
}

// launch resolves a command line. A usageError is the engine's own rejection.
func (p Simulator) launch(argv []string, s Settings, env func(string) string) (*launch, error) {
	e, flags, err := p.engineOf(argv)
	if err != nil {
		return nil, err
	}
	if s.Engine != "" && s.Engine != e.name() {
		return nil, fmt.Errorf("%s names engine %s, but the command line starts %s; make them agree", SettingsEnv, s.Engine, e.name())
	}
	fail, err := ParseFailures(s.Fail)
	if err != nil {
		return nil, err
	}
	parser, err := parserOf(e, s.Version)
	if err != nil {
		return nil, err
	}
	version := s.Version
	if !steps.IsRelease(version) { // "nightly" or a commit: the newest, as for its list of arguments
		version = parser.table.Version
	}
	l := &launch{settings: s, connectors: p.connectors(), fail: fail, engine: e, version: version, raw: slices.Clone(flags)}
	if l.args, err = parser.parse(flags); err != nil {
		return l, err
	}
	if err := e.resolve(l, env); err != nil {
		return l, err
	}
	if err := l.planNodes(argv, env); err != nil {
		return l, err
	}
	return l, e.transfer(l, env)
}

// engineOf returns the engine that a command line starts, and its flags.
func (p Simulator) engineOf(argv []string) (engine, []string, error) {
	for _, e := range p.known() {
		if flags, ok := e.commandLine(argv); ok {
			return e, flags, nil
		}
	}
	return nil, nil, fmt.Errorf("the command line %q starts no server that can be simulated; it must be vllm serve, python3 -m "+
		"vllm.entrypoints.openai.api_server, python3 -m sglang.launch_server, llama-server or trtllm-serve", strings.Join(argv, " "))
}

// hardware looks up profile and model, and fills in what the engines share.
func (l *launch) hardware() (model.Profile, model.ModelShape, error) {
	name := l.settings.Profile
	if name == "" {
		name = "fast"
	}
	p, err := model.ProfileByName(name)
	if err != nil {
		return p, model.ModelShape{}, err
	}
	shape, err := l.shape()
	if err != nil {
		return p, shape, err
	}
	if p.Model.Params > 0 && l.settings.Model == nil {
		length := min(shape.MaxModelLen, maxFastContext)
		shape = p.Model
		shape.Name, shape.MaxModelLen = l.model, length
	}
	shape = shape.WithKVBits(l.kvBits())
	if l.eager {
		// Without CUDA graphs the host launches each kernel. For dense models this typically
		// triples the fixed cost of a step.
		p.KernelOverhead *= 3
	}
	return p, shape, nil
}

// maxFastContext limits the context of models on a profile with its own model, because its memory
// is that of a small device.
const maxFastContext = 131072

// shape returns the shape of the model: from the file's arguments, the configuration in its folder,
// or the table of models.
func (l *launch) shape() (model.ModelShape, error) {
	if s := l.settings.Model; s != nil {
		m := s.Shape(l.model, l.formatOf(model.WeightFormat{}))
		m.Source = "the simulate block"
		return m, nil
	}
	var (
		a   model.Architecture
		ok  bool
		err error
	)
	if l.settings.Architecture != nil {
		a, ok = *l.settings.Architecture, true
	} else if a, ok, err = model.ReadArchitecture(l.model); err != nil {
		return model.ModelShape{}, fmt.Errorf("the model %s: %w", l.model, err)
	}
	if ok {
		return a.ConfiguredShape(l.model, l.formatOf), nil
	}
	return model.KnownShape(l.model, l.formatOf), nil
}

func firstInt(a *arguments, fallback int, names ...string) int {
	for _, n := range names {
		if a.has(n) {
			return a.int(n, fallback)
		}
	}
	return fallback
}

// formatOf returns the format of the weights: from the name of the checkpoint or its configuration,
// unless flags quantize 16-bit weights while loading.
func (l *launch) formatOf(published model.WeightFormat) model.WeightFormat {
	f := published
	// In checkpoints with a name such as "…-mxfp4", only the experts have four bits.
	if named, ok := model.FormatNamed(path.Base(l.model)); ok && !(published.ExpertsOnly && named.Bits == published.Bits) {
		f = named
	}
	if f.Bits != 0 {
		return f
	}
	if named, ok := model.FormatNamed(l.args.str("--quantization", "")); ok {
		return named
	}
	if dtype := l.args.str("--dtype", "auto"); dtype == "float32" || dtype == "float" {
		return model.WeightFormat{Bits: 32, Products: 32}
	}
	return f
}

// kvBits returns the bits of one number in the KV cache.
func (l *launch) kvBits() float64 {
	if strings.HasPrefix(l.args.str("--kv-cache-dtype", "auto"), "fp8") || l.args.str("--cache-type-k", "f16") == "q8_0" {
		return 8
	}
	return 16
}

// transfer returns the server's part in a KV transfer, including an injected failure.
func (l *launch) transfer() *kv.Part {
	p := *l.kv
	if l.fail.TransportFallback && p.Transport != kv.Files {
		p.Transport = kv.TCP
	}
	return &p
}

// excludeClientOverhead removes the load generator's share from the steps of a server that only decodes: in a pair
// it runs on another machine than the client and the router.
func excludeClientOverhead(h *model.Profile, p *kv.Part) {
	if p.Consumes && !p.Produces {
		h.KernelOverhead -= h.ClientOverhead
	}
}
