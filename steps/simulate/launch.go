package simulate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps/kv"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// launch is a server's command line and settings with every default resolved.
type launch struct {
	settings Settings
	fail     Failures
	engine   string
	version  string
	args     *arguments
	// raw flags as given, for log lines.
	raw    []string
	model  string
	served string
	host   string
	port   int
	config model.Config
	// legacy is vLLM before V1 (0.8): other names of metrics, log lines and error bodies.
	legacy   bool
	eager    bool
	logStats bool
	// metrics are served (SGLang needs --enable-metrics).
	metrics bool
	devMode bool
	// kv is the server's part in a KV transfer, nil without one.
	kv *kv.Part
	// part of this process in a server that is spread over nodes.
	part nodePlan
}

// commandLine says which engine a command line starts and where its flags begin.
// It knows the forms that the engines' documentation uses, with any interpreter path.
func commandLine(argv []string) (engine string, flags []string, err error) {
	modules := map[string]string{
		"vllm.entrypoints.openai.api_server": engineVLLM, "sglang.launch_server": engineSGLang,
	}
	for i, a := range argv {
		if a == "-m" && i+1 < len(argv) {
			if e, ok := modules[argv[i+1]]; ok {
				return e, argv[i+2:], nil
			}
		}
		if a == "serve" && i > 0 {
			switch path.Base(argv[i-1]) {
			case "vllm":
				return engineVLLM, argv[i+1:], nil
			case "sglang":
				return engineSGLang, argv[i+1:], nil
			}
		}
	}
	return "", nil, fmt.Errorf("the command line %q starts no server that can be simulated; it must be vllm serve, python3 -m vllm.entrypoints.openai.api_server or python3 -m sglang.launch_server", strings.Join(argv, " "))
}

// newLaunch resolves a command line. A usageError is the engine's own refusal.
func newLaunch(argv []string, s Settings, env func(string) string) (*launch, error) {
	engine, flags, err := commandLine(argv)
	if err != nil {
		return nil, err
	}
	if s.Engine != "" && s.Engine != engine {
		return nil, fmt.Errorf("%s names engine %s, but the command line starts %s; make them agree", SettingsEnv, s.Engine, engine)
	}
	fail, err := ParseFailures(s.Fail)
	if err != nil {
		return nil, err
	}
	table, err := loadFlags(engine, s.Version)
	if err != nil {
		return nil, err
	}
	l := &launch{settings: s, fail: fail, engine: engine, version: s.Version, raw: slices.Clone(flags)}
	if l.version == "" {
		l.version = table.version
	}
	l.legacy = engine == engineVLLM && compareVersions(l.version, "0.8") < 0
	if l.args, err = table.parseArgs(flags); err != nil {
		return l, err
	}
	if engine == engineVLLM {
		err = l.resolveVLLM(env)
	} else {
		err = l.resolveSGLang()
	}
	if err != nil {
		return l, err
	}
	if err := l.planNodes(argv, env); err != nil {
		return l, err
	}
	if engine == engineVLLM {
		return l, l.planVLLM(env)
	}
	return l, l.planSGLang(env)
}

// hardware looks up profile and model, and fills what the engines share.
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
		// Without CUDA graphs each kernel is launched from the host: three times the
		// fixed cost of a step is the usual order of magnitude for dense models.
		p.KernelOverhead *= 3
	}
	return p, shape, nil
}

// maxFastContext bounds the context of models on a profile with a model of its own, whose
// memory is that of a small device.
const maxFastContext = 131072

// shape of the model: from the file's own arguments, the configuration in its folder, or
// the table of models.
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

func (l *launch) resolveVLLM(env func(string) string) error {
	a := l.args
	l.model = a.str("--model", "facebook/opt-125m")
	if compareVersions(l.version, "0.11") >= 0 {
		l.model = a.str("--model", "Qwen/Qwen3-0.6B")
	}
	switch len(a.positional) {
	case 0:
	case 1:
		l.model = a.positional[0]
	default:
		return usageError{"unrecognized arguments: " + strings.Join(a.positional[1:], " ")}
	}
	l.served = a.str("--served-model-name", l.model)
	l.host, l.port = a.str("--host", "0.0.0.0"), a.int("--port", 8000)
	l.eager = a.bool("--enforce-eager", false)
	l.logStats = !a.bool("--disable-log-stats", false)
	l.metrics = true
	l.devMode = env("VLLM_SERVER_DEV_MODE") == "1"
	p, shape, err := l.hardware()
	if err != nil {
		return err
	}
	stages := max(a.int("--pipeline-parallel-size", 1), 1)
	c := model.Config{Profile: p, Shape: shape, GPUs: max(a.int("--tensor-parallel-size", 1), 1) * stages, Stages: stages, BlockSize: a.int("--block-size", 16), Noise: l.settings.noise()}
	c.MaxModelLen = a.int("--max-model-len", shape.MaxModelLen)
	l.schedulerVLLM(&c)
	l.memoryVLLM(&c)
	l.config = c
	return nil
}

// schedulerVLLM resolves the scheduler's defaults: EngineArgs of 0.6.4 (chunked prefill
// only for contexts above 32K, budget 512 with it) and get_batch_defaults of 0.11 and
// later (by the memory of the GPU).
func (l *launch) schedulerVLLM(c *model.Config) {
	a := l.args
	if l.legacy {
		c.Chunked = a.bool("--enable-chunked-prefill", c.MaxModelLen > 32768)
		c.Mixed = c.Chunked
		c.Watermark = 0.01
		c.PrefixCache = a.bool("--enable-prefix-caching", false)
		c.MaxSeqs = a.int("--max-num-seqs", 256)
		budget := max(c.MaxModelLen, 2048)
		if c.Chunked {
			budget = 512
		}
		c.Budget = a.int("--max-num-batched-tokens", budget)
		return
	}
	budget, seqs := 2048, 256
	switch gib := c.Profile.MemBytes / (1 << 30); {
	case gib >= 160 && compareVersions(l.version, "0.20") >= 0:
		budget, seqs = 16384, 1024
	case gib >= 70:
		budget, seqs = 8192, 1024
	}
	c.Chunked, c.Mixed = a.bool("--enable-chunked-prefill", true), true
	c.PrefixCache = a.bool("--enable-prefix-caching", true)
	c.MaxSeqs = a.int("--max-num-seqs", seqs)
	if !c.Chunked {
		budget = max(budget, c.MaxModelLen)
	}
	c.Budget = a.int("--max-num-batched-tokens", budget)
	if !a.has("--max-num-seqs") {
		c.MaxSeqs = min(c.MaxSeqs, c.Budget)
	}
}

func (l *launch) memoryVLLM(c *model.Config) {
	utilization := 0.9
	if compareVersions(l.version, "0.20") >= 0 {
		utilization = 0.92
	}
	utilization = l.args.float("--gpu-memory-utilization", utilization)
	c.KVBlocks = c.KVBlocksFor(utilization)
	if bytes := l.args.int("--kv-cache-memory-bytes", 0); bytes > 0 {
		c.KVBlocks = int(float64(bytes*c.GPUs) / (c.KVTokenBytes() * float64(c.BlockSize)))
	}
	c.KVBlocks = l.args.int("--num-gpu-blocks-override", c.KVBlocks)
}

func (l *launch) resolveSGLang() error {
	a := l.args
	if len(a.positional) > 0 {
		return usageError{"unrecognized arguments: " + strings.Join(a.positional, " ")}
	}
	if l.model = a.str("--model-path", ""); l.model == "" {
		return usageError{"the following arguments are required: --model-path/--model"}
	}
	l.served = a.str("--served-model-name", l.model)
	l.host, l.port = a.str("--host", "127.0.0.1"), a.int("--port", 30000)
	l.eager = a.bool("--disable-cuda-graph", false)
	l.logStats = true
	l.metrics = a.bool("--enable-metrics", false)
	p, shape, err := l.hardware()
	if err != nil {
		return err
	}
	stages := max(firstInt(a, 1, "--pipeline-parallel-size", "--pp-size"), 1)
	gpus := max(firstInt(a, 1, "--tensor-parallel-size", "--tp-size"), 1) * stages
	// SGLang pages are single tokens unless asked otherwise; blocks of 16 tokens change
	// only how finely the cache is counted, and keep the simulation cheap.
	c := model.Config{Profile: p, Shape: shape, GPUs: gpus, Stages: stages, BlockSize: max(16, a.int("--page-size", 1)), Noise: l.settings.noise()}
	c.MaxModelLen = a.int("--context-length", shape.MaxModelLen)
	c.PrefixCache = !a.bool("--disable-radix-cache", false)
	c.Mixed = a.bool("--enable-mixed-chunk", false)
	c.MaxSeqs = a.int("--max-running-requests", 2048)
	chunk := 2048
	switch gib := p.MemBytes / (1 << 30); {
	case gib >= 60:
		chunk = 8192
	case gib >= 35:
		chunk = 4096
	}
	c.Budget = a.int("--chunked-prefill-size", chunk)
	c.Chunked = c.Budget > 0
	if !c.Chunked {
		c.Budget = max(a.int("--max-prefill-tokens", 16384), c.MaxModelLen)
	}
	if c.Mixed {
		c.MaxSeqs = min(c.MaxSeqs, c.Budget)
	}
	c.KVBlocks = c.KVBlocksFor(a.float("--mem-fraction-static", 0.88))
	if tokens := a.int("--max-total-tokens", 0); tokens > 0 {
		c.KVBlocks = min(c.KVBlocks, tokens/c.BlockSize)
	}
	l.config = c
	return nil
}

func firstInt(a *arguments, fallback int, names ...string) int {
	for _, n := range names {
		if a.has(n) {
			return a.int(n, fallback)
		}
	}
	return fallback
}

// formatOf the weights that a command line serves: what the name of the checkpoint or its
// configuration says, unless flags quantize 16 bits when they are loaded.
func (l *launch) formatOf(published model.WeightFormat) model.WeightFormat {
	f := published
	// Experts alone keep their four bits in checkpoints with a name such as "…-mxfp4".
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

// kvBits are the bits of one number in the KV cache.
func (l *launch) kvBits() float64 {
	if strings.HasPrefix(l.args.str("--kv-cache-dtype", "auto"), "fp8") {
		return 8
	}
	return 16
}
