package adopt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
	"github.com/servegate/pipeline/steps"
	engineargs "github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/engine/flags"
)

// engine reads the command line of one program that serves: what the kind of a server block renders, read backwards.
type engine struct {
	kind string
	// images matches the names of images whose entrypoint is the program.
	images *regexp.Regexp
	// program returns how many words are the program, 0 if it is another one. The model may follow it.
	program func(words []string) int
	// onCPU is set if the engine uses as many GPUs as it is given, and none if there are none.
	onCPU bool
	// verbatim programs keep their words: the kind knows none of their flags.
	verbatim bool
	// model, served, host and port are the names of these flags, without dashes and with underscores.
	model, served, host, port []string
}

var engines = []engine{
	{
		kind: "vllm", images: regexp.MustCompile(`(^|/)vllm[a-z0-9-]*(:|@|$)|vllm-[a-z0-9-]*release-repo`), program: vllmProgram,
		model: []string{"model", "model_tag"}, served: []string{"served_model_name"}, host: []string{"host"}, port: []string{"port"},
	},
	{
		kind: "sglang", images: regexp.MustCompile(`(^|/)sglang[a-z0-9-]*(:|@|$)`), program: sglangProgram,
		model: []string{"model_path", "model"}, served: []string{"served_model_name"}, host: []string{"host"}, port: []string{"port"},
	},
	{
		kind: "llamacpp", images: regexp.MustCompile(`(^|/)llama\.cpp(:server[a-z0-9-]*|@|$)`), program: named("llama-server"), onCPU: true,
		model: []string{"model", "hf_repo", "model_url"}, served: []string{"alias"}, host: []string{"host"}, port: []string{"port"},
	},
	{
		kind: "openai", program: trtllmProgram, verbatim: true, host: []string{"host"}, port: []string{"port"},
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
	if e.verbatim {
		s.program(slices.Concat(words[:n], e.keep(s, words[n:])))
		return nil
	}
	s.program(ownWords(e.kind, words[:n]))
	d.arguments(s, e, words[n:])
	return nil
}

// program sets the words of the program, unless the kind starts it so without them.
func (s *server) program(words []string) {
	switch line := strings.Join(words, " "); {
	case s.image == "":
		s.words = words
	case len(words) > 0 && line != "vllm" && line != "python3 -m sglang.launch_server" && line != "/app/llama-server":
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
func ownWords(kind string, words []string) []string {
	if n := len(words); n > 1 && words[n-1] == "serve" && path.Base(words[n-2]) == kind {
		words = words[:n-1]
	}
	return words
}

// keep returns the words of a program whose flags are not known, with placeholders for model, host and port.
func (e *engine) keep(s *server, words []string) []string {
	out := slices.Clone(words)
	place := func(i int, inline bool, placeholder string) string {
		if inline {
			name, value, _ := strings.Cut(out[i], "=")
			out[i] = name + "=" + placeholder
			return value
		}
		value := out[i+1]
		out[i+1] = placeholder
		return value
	}
	host, port := false, false
	for i := 0; i < len(out); i++ {
		name, _, inline := strings.Cut(out[i], "=")
		if !strings.HasPrefix(name, "-") {
			if i == 0 && len(e.model) == 0 { // trtllm-serve MODEL
				s.model, out[i] = out[i], "{model}"
			}
			continue
		}
		if !inline && i+1 >= len(out) {
			continue
		}
		switch name = argument(name); {
		case slices.Contains(e.model, name) && s.model == "":
			s.model = place(i, inline, "{model}")
		case slices.Contains(e.served, name):
			if _, s.served, inline = strings.Cut(words[i], "="); !inline {
				s.served = words[i+1]
			}
		case slices.Contains(e.host, name):
			s.leave("--host "+place(i, inline, "{host}"), "the launcher chooses the address")
			host = true
		case slices.Contains(e.port, name):
			s.port, _ = strconv.Atoi(place(i, inline, "{port}"))
			port = true
		}
	}
	if !host {
		out = append(out, "--host", "{host}")
	}
	if !port {
		out = append(out, "--port", "{port}")
	}
	return out
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
			s.port, _ = strconv.Atoi(textOf(value))
		case full == "api_key" || full == "admin_api_key":
			s.leave(engineargs.FlagName(full)+" and its value", "arguments are visible in process lists: set api_key of the "+
				"server, or leave the key out, since the server listens on the local address only")
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

// release returns the newest release that has all arguments which some release has, "" if that is the newest of all: a
// rehearsal then parses them, and a server of another release is only warned of.
func (a argv) release(args hclfile.Map) string {
	all := flags.All(a.engine.kind)
	known := slices.DeleteFunc(slices.Clone(args), func(p hclfile.Pair) bool { return len(all.Lookup(flagOfArgument(p.Name))) == 0 })
	for i, t := range slices.Backward(all.Tables) { // the newest first
		lacks := func(p hclfile.Pair) bool { return len(t.Complete(flagOfArgument(p.Name))) == 0 }
		switch {
		case slices.ContainsFunc(known, lacks):
		case i == len(all.Tables)-1:
			return ""
		default:
			return t.Version
		}
	}
	return ""
}

// flagOfArgument returns the flag of an argument of args, without the part behind a dot.
func flagOfArgument(name string) string {
	head, _, _ := strings.Cut(name, ".")
	return "--" + strings.ReplaceAll(head, "_", "-")
}

// argv reads flags from words.
type argv struct {
	engine *engine
	known  flags.Known
	rest   []string
}

// definition returns what is known of a flag.
func (a argv) definition(flag string) (flags.Def, bool) {
	head, _, _ := strings.Cut(flag, ".")
	defs := a.known.Complete(head)
	if len(defs) == 0 {
		defs = flags.All(a.engine.kind).Lookup(head)
	}
	if len(defs) == 0 || defs[0].Name != defs[len(defs)-1].Name {
		return flags.Def{}, false
	}
	return defs[0], true
}

// full returns the name that a flag of args has in full.
func (a argv) full(name string) string {
	if def, ok := a.definition(engineargs.FlagName(name)); ok {
		return argument(def.Name)
	}
	return name
}

// flagWord matches a word that argparse takes for a flag: negative numbers are values.
var flagWord = regexp.MustCompile(`^-(-[A-Za-z]|[A-Za-z])`)

// next reads a flag with its value, or a word without a flag, which has the name "". literal quotes the words for a
// message.
func (a *argv) next() (name string, value any, literal string) {
	word := a.rest[0]
	a.rest = a.rest[1:]
	if !flagWord.MatchString(word) {
		return "", word, shown(word)
	}
	flag, inline, hasInline := strings.Cut(word, "=")
	def, known := a.definition(strings.ReplaceAll(flag, "_", "-"))
	if level, ok := strings.CutPrefix(flag, "-O"); ok && a.engine.kind == "vllm" && level != "" {
		flag, inline, hasInline = a.optimization(level, inline, hasInline)
		def, known = a.definition(flag)
	}
	name = a.name(flag, def, known)
	values := []string{inline}
	if !hasInline {
		values = a.values(def, known)
	}
	literal = command{words: append([]string{flag}, values...)}.text()
	return name, typed(def, known, name, values), literal
}

// optimization returns the flag that -O3, -O.KEY=VALUE and -O.KEY VALUE are short for.
func (a argv) optimization(level, inline string, has bool) (flag, value string, hasValue bool) {
	_, named := a.definition("--optimization-level")
	switch {
	case level[0] == '.':
		return "--compilation-config" + level, inline, has
	case named:
		return "--optimization-level", level, true
	}
	return "--compilation-config", `{"level":` + level + `}`, true
}

// name returns the name of a flag in args: as it is written, in full if it is short.
func (a argv) name(flag string, def flags.Def, known bool) string {
	_, key, dotted := strings.Cut(flag, ".")
	head, _, _ := strings.Cut(argument(flag), ".")
	exact := slices.Contains(def.Names, engineargs.FlagName(head))
	if known && !exact && def.Kind != flags.Off {
		head = argument(def.Name)
	}
	if known && def.Kind == flags.Off && head == "no_"+argument(def.Name) {
		head = argument(def.Name)
	}
	if dotted {
		head += "." + key
	}
	return head
}

// values takes the words that belong to a flag.
func (a *argv) values(def flags.Def, known bool) []string {
	n := 0
	for n < len(a.rest) && !flagWord.MatchString(a.rest[n]) {
		n++
	}
	switch {
	case known && (def.Kind == flags.Switch || def.Kind == flags.OnOff || def.Kind == flags.Off):
		n = 0
	case known && def.Kind == flags.StoreBool && n > 0 && !isBool(a.rest[0]):
		n = 0
	case known && def.Kind == flags.List:
	default:
		n = min(n, 1)
	}
	if known && n == 0 && len(a.rest) > 0 && takesOne(def.Kind) && !strings.HasPrefix(a.rest[0], "--") {
		n = 1
	}
	values := a.rest[:n]
	a.rest = a.rest[n:]
	return values
}

func isBool(text string) bool { t := strings.ToLower(text); return t == "true" || t == "false" }

func takesOne(k flags.Kind) bool {
	return slices.Contains([]flags.Kind{flags.Text, flags.Int, flags.Float, flags.Size, flags.JSON, flags.Choice}, k)
}

// typed returns the value of a flag as a pipeline file has it, so that it is rendered as the words were.
func typed(def flags.Def, known bool, name string, values []string) any {
	switch {
	case known && def.Kind == flags.Off:
		return strings.HasPrefix(name, "no_")
	case known && def.Kind == flags.StoreBool && len(values) == 1:
		return strings.EqualFold(values[0], "true")
	case len(values) == 0:
		return true
	case known && def.Kind == flags.List:
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = number(v)
		}
		return list
	case len(values) > 1:
		return strings.Join(values, " ")
	}
	if v, ok := object(values[0]); ok {
		return v
	}
	if known && def.Kind == flags.Float && json.Valid([]byte(values[0])) {
		return json.Number(values[0]) // 0.90 is rendered as 0.9
	}
	return number(values[0])
}

// object decodes a JSON object, or a list of JSON, that a flag takes.
func object(text string) (any, bool) {
	if t := strings.TrimSpace(text); t == "" || t[0] != '{' && t[0] != '[' {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	v, err := decodeJSON(d, 0)
	if err != nil || d.More() {
		return nil, false
	}
	return v, true
}

// number returns a number if a pipeline file renders it with the same digits, and else the text.
func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return json.Number(text)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && strconv.FormatFloat(f, 'f', -1, 64) == text {
		return json.Number(text)
	}
	return text
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
