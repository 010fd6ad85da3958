package adopt

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
	"github.com/servegate/pipeline/steps"
	engineargs "github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/engine/flags"
)

// engine reads the command line of one program that serves: what the kind of a server block renders, read backwards.
type engine struct {
	kind string
	// images matches the names of images whose entrypoint is the program.
	images *lazyregexp.Regexp
	// program returns how many words are the program, 0 if it is another one. The model may follow it.
	program func(words []string) int
	// onCPU is set if the engine uses as many GPUs as it is given, and none if there are none.
	onCPU bool
	// command is the program that takes the word serve; "" means one called like the kind.
	command string
	// options is the flag of a file of settings whose content args has, "" if there is none.
	options string
	// model, served, host and port are the names of these flags, without dashes and with underscores.
	model, served, host, port []string
}

var engines = []engine{
	{
		kind: "vllm", images: lazyregexp.New(`(^|/)vllm[a-z0-9-]*(:|@|$)|vllm-[a-z0-9-]*release-repo`), program: vllmProgram,
		model: []string{"model", "model_tag"}, served: []string{"served_model_name"}, host: []string{"host"}, port: []string{"port"},
	},
	{
		kind: "sglang", images: lazyregexp.New(`(^|/)sglang[a-z0-9-]*(:|@|$)`), program: sglangProgram,
		model: []string{"model_path", "model"}, served: []string{"served_model_name"}, host: []string{"host"}, port: []string{"port"},
	},
	{
		kind: "llamacpp", images: lazyregexp.New(`(^|/)llama\.cpp(:server[a-z0-9-]*|@|$)`), program: named("llama-server"), onCPU: true,
		model: []string{"model", "hf_repo", "model_url"}, served: []string{"alias"}, host: []string{"host"}, port: []string{"port"},
	},
	{
		kind: "trtllm", images: lazyregexp.New(`tensorrt[-_]llm(/release)?(:|@|$)`), program: trtllmProgram, command: "trtllm-serve",
		options: "config",
		host:    []string{"host"}, port: []string{"port"},
	},
}

// named recognises a program by the name of its file, wherever it stands behind a launcher.
func named(name string) func([]string) int {
	return func(words []string) int {
		return 1 + slices.IndexFunc(words, func(w string) bool { return path.Base(w) == name })
	}
}

func vllmProgram(words []string) int {
	for i, w := range words {
		switch {
		case path.Base(w) == "vllm" && i+1 < len(words) && words[i+1] == "serve":
			return i + 2
		case w == "-m" && i+1 < len(words) && words[i+1] == "vllm.entrypoints.openai.api_server":
			return i + 2
		case w == "-m" && i+2 < len(words) && words[i+1] == "vllm.entrypoints.cli.main" && words[i+2] == "serve":
			return i + 3
		}
	}
	return 0
}

func sglangProgram(words []string) int {
	for i, w := range words {
		switch {
		case w == "-m" && i+1 < len(words) && words[i+1] == "sglang.launch_server":
			return i + 2
		case path.Base(w) == "sglang" && i+1 < len(words) && words[i+1] == "serve":
			return i + 2
		}
	}
	return 0
}

func trtllmProgram(words []string) int {
	n := named("trtllm-serve")(words)
	if n > 0 && n < len(words) && words[n] == "serve" {
		n++
	}
	return n
}

// serving returns the engine of a command line and the number of words of its program.
func serving(words []string) (*engine, int) {
	for i := range engines {
		if n := engines[i].program(words); n > 0 {
			return &engines[i], n
		}
	}
	return nil, 0
}

// engineOf returns the engine whose program is the entrypoint of an image, or nil.
func engineOf(image string) *engine {
	for i := range engines {
		if e := &engines[i]; e.images != nil && e.images.MatchString(image) {
			return e
		}
	}
	return nil
}

// read fills a server from a command line: the program, then its arguments. Words of a container without a program are
// arguments of the image's own.
func (d *Definition) read(s *server, words []string) error {
	e, n := serving(words)
	if e == nil {
		if e = engineOf(s.image); e == nil || s.image == "" {
			return fmt.Errorf("no server is started by %q: known are vllm serve, python -m sglang.launch_server, llama-server and "+
				"trtllm-serve, and their images", command{words: words}.text())
		}
	}
	s.kind = e.kind
	s.program(e.ownWords(words[:n]))
	d.arguments(s, e, words[n:])
	return nil
}

// program sets the words of the program, unless the kind starts it so without them.
func (s *server) program(words []string) {
	ofKind := []string{"", "vllm", "python3 -m sglang.launch_server", "/app/llama-server", "trtllm-serve"}
	switch {
	case s.image == "":
		s.words = words
	case !slices.Contains(ofKind, strings.Join(words, " ")):
		s.inside = words
	}
}

// varied returns the index of the word of an executable that differs between the sides: the engine or its interpreter,
// behind a launcher such as numactl.
func varied(words []string) int {
	for i, w := range words {
		module := i+1 < len(words) && words[i+1] == "-m"
		if module || slices.Contains([]string{"vllm", "sglang", "llama-server", "trtllm-serve"}, path.Base(w)) {
			return i
		}
	}
	return 0
}

// ownWords drops the word that a kind adds itself: vllm serve is the executable vllm.
func (e *engine) ownWords(words []string) []string {
	if n := len(words); n > 1 && words[n-1] == "serve" && path.Base(words[n-2]) == cmp.Or(e.command, e.kind) {
		words = words[:n-1]
	}
	return words
}

// argument returns the name of a flag as args has it.
func argument(flag string) string {
	return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_")
}

// arguments reads the flags of an engine.
func (d *Definition) arguments(s *server, e *engine, words []string) {
	a := argv{engine: e, known: flags.For(e.kind, imageRelease(s.image)), rest: words}
	for len(a.rest) > 0 {
		name, value, literal := a.next()
		switch full := a.full(name); {
		case name == "":
			if s.model != "" {
				s.leave(literal, "the program takes one model")
				continue
			}
			s.model = textOf(value)
		case slices.Contains(e.model, full):
			s.model = textOf(value)
		case slices.Contains(e.served, full):
			names := textsOf(value)
			s.served = names[0]
			for _, more := range names[1:] {
				s.leave("--served-model-name "+more, "the load uses the first name only")
			}
		case slices.Contains(e.host, full):
			s.leave(literal, "the launcher chooses the address")
		case slices.Contains(e.port, full):
			port, err := strconv.Atoi(d.plain(textOf(value)))
			if err != nil {
				s.leave(literal, "the launcher chooses the port")
			}
			s.port = port
		case full == "api_key" || full == "admin_api_key":
			s.leave(engineargs.FlagName(full)+" and its value", "arguments are visible in process lists: set api_key of the "+
				"server, or leave the key out, since the server listens on the local address only")
		case e.options != "" && (full == e.options || full == "extra_llm_api_options"):
			s.leave(literal, "write its content: args."+full+" = yamldecode(file(\"NAME\"))")
		case full == "config":
			s.leave(literal, "write the flags of that file into args, so that reports show them")
		default:
			if before, twice := get(s.args, name); twice && name != "middleware" { // given once for each element
				s.leave(engineargs.FlagName(name)+" "+compact(before), "the flag is given again, and the last one counts")
			} else if twice {
				value = append(listOf(before), listOf(value)...)
			}
			s.args = set(s.args, name, value)
		}
	}
	if !e.onCPU {
		s.gpus = max(s.gpus, gpusOf(s))
	}
	if imageRelease(s.image) == "" {
		s.version = a.release(s.args)
	}
}

// imageRelease returns the release in the tag of any image, "" if it has none.
func imageRelease(image string) string { return steps.ImageVersion(image, []string{"*"}) }

// gpusOf returns the number of GPUs that the arguments ask for; 0 for a server on processors.
func gpusOf(s *server) int {
	onCPU := func(p hclfile.Pair) bool { return strings.HasPrefix(p.Name, "VLLM_CPU_") }
	if strings.Contains(s.image, "cpu") || slices.ContainsFunc(s.env, onCPU) {
		return 0
	}
	if v, ok := get(s.args, "device"); ok && v == "cpu" {
		return 0
	}
	product, kinds := 1, engineargs.Parallelism
	if v, _ := get(s.args, "enable_dp_attention"); v == true { // SGLang: the data parallel ranks share the GPUs
		kinds = kinds[:2]
	}
	for _, names := range kinds {
		for _, name := range names {
			if v, ok := get(s.args, name); ok && wholeOf(v) > 0 {
				product *= wholeOf(v)
				break
			}
		}
	}
	return product
}

// pairsOf returns an object as a list of settings.
func pairsOf(v any) []setting {
	m, _ := v.(hclfile.Map)
	out := make([]setting, len(m))
	for i, p := range m {
		out[i] = setting{p.Name, textOf(p.Value)}
	}
	return out
}
