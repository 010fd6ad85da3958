package adopt

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// HCL returns the definition as a pipeline file that compares a base with a head. file is its name, for the comments.
func (d *Definition) HCL(file string) []byte {
	w := writer{d: d}
	w.complete()
	w.head(file)
	if len(d.slurm) > 0 {
		block(w.file.Block("pipeline"), "slurm", d.slurm)
	}
	w.variableBlocks()
	for _, s := range d.servers {
		w.server(s)
	}
	for _, s := range d.datasets {
		w.dataset(s)
	}
	for _, b := range d.benchmarks {
		w.benchmark(b)
	}
	w.gate()
	w.notCarried()
	return w.file.Bytes()
}

// writer writes one definition.
type writer struct {
	d        *Definition
	file     hclfile.Body
	programs []program
	// assumed reports whether the load is ours, because the sources describe none.
	assumed bool
}

// program holds the program that both sides launch: an image, or an executable with further words.
type program struct {
	image, executable string
	base, head        string // names of their variables
}

// complete adds what the sources leave open: a load for each server without one, and the variables of the sides.
func (w *writer) complete() {
	for _, b := range w.d.benchmarks {
		if b.server == nil {
			b.server = w.d.servers[0]
		}
		if m := b.server.members()[0]; b.model != "" && b.model != m.model && b.model != m.served {
			b.leave("model = "+dollars(b.model), "requests are sent to the server's own: see models of the benchmark")
		}
	}
	for _, s := range w.d.servers {
		if slices.ContainsFunc(w.d.benchmarks, func(b *benchmark) bool { return b.server == s }) {
			continue
		}
		w.assumed = true
		in, out := lengths(s)
		set := w.d.addDataset(&dataset{kind: "random", name: "chat",
			attrs: hclfile.Map{{Name: "input_len", Value: in}, {Name: "output_len", Value: out}}})
		w.d.addBenchmark(&benchmark{name: "chat", server: s, dataset: set, warmup: 20,
			load: hclfile.Map{{Name: "rate", Value: 4}, {Name: "requests", Value: 200}}})
	}
	for _, s := range w.d.servers {
		for _, m := range s.members() {
			w.program(m)
		}
	}
}

// lengths returns the lengths of a load that fits a server.
func lengths(s *server) (in, out int) {
	in, out = 512, 64
	for _, m := range s.members() {
		for _, name := range []string{"max_model_len", "context_length"} {
			if v, ok := get(m.args, name); ok && wholeOf(v) > 0 && wholeOf(v) < in+out {
				in, out = max(wholeOf(v)/2, 1), max(wholeOf(v)/4, 1)
			}
		}
	}
	return in, out
}

// program finds the variables of a server's sides.
func (w *writer) program(s *server) program {
	p := program{image: s.image}
	if s.image == "" {
		p.executable = s.words[varied(s.words)]
	}
	for _, o := range w.programs {
		if o.image == p.image && o.executable == p.executable {
			return o
		}
	}
	p.base, p.head = "base", "head"
	if len(w.programs) > 0 {
		p.base, p.head = "base_"+s.name, "head_"+s.name
	}
	w.programs = append(w.programs, p)
	return p
}

// rehearsed reports whether a server can be simulated.
func rehearsed(s *server) bool {
	return !slices.ContainsFunc(s.members(), func(m *server) bool {
		return !slices.Contains([]string{"vllm", "sglang", "llamacpp"}, m.kind)
	})
}

func (w *writer) head(file string) {
	w.file.Comment("Base against head, from " + strings.Join(w.d.Sources, "; and ") + ".")
	if w.assumed {
		w.file.Comment("The source describes no load: dataset and load below are a start. Replace them by your own.")
	}
	w.file.Comment("")
	if slices.ContainsFunc(w.d.servers, rehearsed) {
		w.file.Comment("  pipeline run " + file + " --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU")
	}
	p := w.programs[0]
	w.file.Comment("  pipeline plan " + file + " --launch   # the command lines\n" +
		"  pipeline run " + file + " --var " + p.head + "=" + map[bool]string{true: "IMAGE", false: "PROGRAM"}[p.image != ""])
	if left := w.d.NotCarried(); len(left) > 0 {
		w.file.Comment("")
		w.file.Comment(fmt.Sprintf("%s not carried over: see the end.", count(len(left), "part was", "parts were")))
	}
	w.file.Gap()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// plain returns text with the defaults of variables in their places: a variable's own default is a constant.
func (d *Definition) plain(text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		name := reference.FindStringSubmatch(ref)[1]
		i := slices.IndexFunc(d.variables, func(v variable) bool { return v.name == name })
		return textOf(d.variables[i].value)
	})
}

// unused reports whether only the sides' programs name a variable, whose value stands there in its place.
func (w *writer) unused(v variable) bool {
	ref := refBegin + v.name + refEnd
	named := func(s *server) bool {
		return slices.ContainsFunc(s.members(), func(m *server) bool {
			return strings.Contains(jsonText([]any{m.words, m.inside, m.model, m.served, m.args, m.env, m.container}), ref)
		})
	}
	inBenchmark := func(b *benchmark) bool {
		return strings.Contains(jsonText([]any{b.attrs, b.load, b.dataset.attrs}), ref)
	}
	return !slices.ContainsFunc(w.d.servers, named) && !slices.ContainsFunc(w.d.benchmarks, inBenchmark)
}

func (w *writer) variableBlocks() {
	for _, p := range w.programs {
		p.image, p.executable = w.d.plain(p.image), w.d.plain(p.executable)
		base, head := p.sides()
		what := "Program"
		if p.image != "" {
			what = "Image"
		}
		b := w.file.Block("variable", p.base)
		b.Set("description", what+" from before the change.")
		b.Set("default", hcl(base))
		b = w.file.Block("variable", p.head)
		b.Set("description", what+" with the change. The default only holds its place.")
		b.Set("default", hcl(head))
	}
	if slices.ContainsFunc(w.d.servers, rehearsed) {
		b := w.file.Block("variable", "rehearsal")
		b.Set("description", "With --simulate only: how much slower the head is.")
		b.Set("default", "0%")
	}
	for _, v := range w.d.variables {
		if w.unused(v) {
			continue
		}
		b := w.file.Block("variable", v.name)
		b.Set("description", v.description)
		b.Set("default", hcl(v.value))
		if v.sensitive {
			b.Set("sensitive", true)
		}
	}
}

// sides returns the base, and a place for the head beside it.
func (p program) sides() (base, head string) {
	if p.image == "" {
		return p.executable, path.Join("head/bin", path.Base(p.executable))
	}
	image, _, _ := strings.Cut(p.image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return p.image, image + ":head"
}

func left(b *hclfile.Body, list []Left) {
	for _, l := range list {
		b.Comment("Not carried over: " + l.What + " (" + l.Why + ")")
	}
}

func (w *writer) server(s *server) {
	if s.pair == nil {
		p := w.program(s)
		b := w.file.Block("server", s.kind, s.name)
		b.Set("for_each", p.forEach())
		w.serverBody(b, s)
		return
	}
	b := w.file.Block("deployment", s.name)
	b.Set("for_each", w.program(s.members()[0]).forEach())
	left(b, s.left)
	b.Block("kv_transfer", s.pair.transfer)
	for _, m := range s.members() {
		inner := b.Block("server", m.kind, m.name)
		inner.Set("role", m.role)
		w.serverBody(inner, m)
	}
	router := b.Block("router", s.pair.router)
	for _, side := range []struct {
		name    string
		members []*server
	}{{"prefill", s.pair.prefill}, {"decode", s.pair.decode}} {
		var list []any
		for _, m := range side.members {
			list = append(list, hclfile.Expr("self.server."+m.name))
		}
		router.Set(side.name, list)
	}
}

// forEach returns the sides with their programs.
func (p program) forEach() hclfile.Map {
	return hclfile.Map{{Name: "base", Value: hclfile.Expr("var." + p.base)}, {Name: "head", Value: hclfile.Expr("var." + p.head)}}
}

// serverBody writes what is inside of a server block.
func (w *writer) serverBody(b *hclfile.Body, s *server) {
	switch rest := s.words; {
	case s.image != "":
		b.Set("image", hclfile.Expr("each.value"))
	case len(rest) == 1:
		b.Set("executable", hclfile.Expr("each.value"))
	default:
		words := texts(rest)
		words[varied(rest)] = hclfile.Expr("each.value")
		b.Set("executable", hcl(words))
	}
	if s.version != "" {
		b.Set("version", s.version)
	}
	if s.model != "" {
		b.Set("model", hcl(s.model))
	}
	if s.served != "" && s.served != s.model {
		b.Set("served_name", hcl(s.served))
	}
	if s.gpus > 0 {
		b.Set("gpus", s.gpus)
	}
	if s.port > 0 {
		b.Set("port", s.port)
	}
	left(b, s.left)
	if s.args != nil {
		b.Set("args", breaks(hcl(s.args)))
	}
	if s.env != nil {
		b.Set("env", breaks(hcl(s.env)))
	}
	container := s.container
	if s.inside != nil {
		container = append(hclfile.Map{{Name: "entrypoint", Value: texts(s.inside)}}, container...)
	}
	block(b, "container", container)
	block(b, "ready", s.ready)
	if rehearsed(s) {
		inner := b.Block("simulate")
		inner.Set("profile", "fast")
		inner.Set("slowdown", hclfile.Expr(`each.key == "head" ? var.rehearsal : "0%"`))
	}
}

// block adds a block with attributes, unless there are none.
func block(b *hclfile.Body, name string, m hclfile.Map) {
	if len(m) == 0 {
		return
	}
	inner := b.Block(name)
	for _, p := range m {
		inner.Set(p.Name, hcl(p.Value))
	}
}

// inOrder returns an object with the named elements in their order.
func inOrder(m hclfile.Map, names ...string) hclfile.Map {
	var out hclfile.Map
	for _, name := range names {
		if v, ok := get(m, name); ok {
			out = set(out, name, v)
		}
	}
	return out
}

func texts(words []string) []any {
	out := make([]any, len(words))
	for i := range words {
		out[i] = words[i]
	}
	return out
}

// breaks keeps an object of more than two elements on lines of their own.
func breaks(v any) any {
	if m, ok := v.(hclfile.Map); ok && len(m) > 2 {
		return hclfile.Tall(m)
	}
	return v
}

func (w *writer) dataset(s *dataset) {
	b := w.file.Block("dataset", s.kind, s.name)
	for _, p := range s.attrs {
		b.Set(p.Name, hcl(p.Value))
	}
}

func (w *writer) benchmark(bm *benchmark) {
	b := w.file.Block("benchmark", bm.name)
	matrix := b.Block("matrix")
	matrix.Set("side", []string{"base", "head"})
	for _, p := range bm.axes {
		matrix.Set(p.Name, p.Value)
	}
	b.Set("target", hclfile.Expr(bm.server.target()+"[matrix.side]"))
	b.Set("dataset", hclfile.Expr("dataset."+bm.dataset.kind+"."+bm.dataset.name))
	for _, p := range bm.attrs {
		b.Set(p.Name, hcl(p.Value))
	}
	left(b, bm.left)
	if bm.warmup > 0 {
		b.Block("warmup").Set("requests", bm.warmup)
	}
	block(b, "load", inOrder(bm.load, "arrival", "rate", "burstiness", "max_concurrency", "requests"))
	block(b, "goodput", bm.goodput)
	repeat := b.Block("repeat")
	repeat.Set("min", 4)
	repeat.Set("max", 8)
}

func (w *writer) gate() {
	b := w.file.Block("baseline", "paired", "base")
	b.Set("axis", "side")
	b.Set("value", "base")
	g := w.file.Block("gate", "latency")
	if list := w.d.benchmarks; len(list) == 1 {
		g.Set("benchmark", hclfile.Expr("benchmark."+list[0].name))
	} else {
		var each hclfile.Map
		for _, b := range list {
			each = set(each, b.name, hclfile.Expr("benchmark."+b.name))
		}
		g.Set("for_each", hclfile.Tall(each))
		g.Set("benchmark", hclfile.Expr("each.value"))
	}
	g.Set("baseline", hclfile.Expr("baseline.paired.base"))
	g.Set("metrics", w.d.gated())
	g.Set("margin", "5%")
}

// gated returns the metrics of the gate: medians, or means where a benchmark has too few requests for them. What answers in one piece
// has no time to its first token.
func (d *Definition) gated() (out []any) {
	const forMedian = 20
	stat, groups := "p50", []string{"ttft", "tpot", "e2el"}
	for _, b := range d.benchmarks {
		if n, _ := get(b.load, "requests"); below(n, forMedian) {
			stat = "mean"
		}
		if v, _ := get(b.attrs, "endpoint"); v == "embeddings" || v == "rerank" {
			groups = groups[len(groups)-1:]
		} else if n, _ := get(b.dataset.attrs, "output_len"); below(n, 2) {
			groups = slices.DeleteFunc(groups, func(g string) bool { return g == "tpot" })
		}
	}
	for _, group := range groups {
		out = append(out, hclfile.Expr("metric."+group+"."+stat))
	}
	return out
}

// below reports whether a value is a whole number below a limit.
func below(v any, limit int) bool {
	n, whole := v.(int)
	return whole && n < limit
}

// notCarried ends the file with all that it does not have.
func (w *writer) notCarried() {
	list := w.d.NotCarried()
	if len(list) == 0 {
		return
	}
	w.file.Gap()
	w.file.Comment("Not carried over:")
	for _, l := range list {
		w.file.Comment("* " + l.What + " (" + l.Why + ")")
	}
}

// hcl returns a value with its references as expressions.
func hcl(v any) any {
	switch v := v.(type) {
	case string:
		return template(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = hcl(v[i])
		}
		return out
	case hclfile.Map:
		out := make(hclfile.Map, len(v))
		for i, p := range v {
			out[i] = hclfile.Pair{Name: p.Name, Value: hcl(p.Value), Comment: p.Comment}
		}
		return out
	}
	return v
}

// template returns text with references to variables as an expression.
func template(text string) any {
	at := reference.FindAllStringSubmatchIndex(text, -1)
	if at == nil {
		return text
	}
	if at[0][0] == 0 && at[0][1] == len(text) {
		return hclfile.Expr("var." + text[at[0][2]:at[0][3]])
	}
	var out strings.Builder
	out.WriteString(`"`)
	last := 0
	piece := func(s string) {
		quoted := hclfile.Value(s, 0)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	for _, m := range at {
		piece(text[last:m[0]])
		out.WriteString("${var." + text[m[2]:m[3]] + "}")
		last = m[1]
	}
	piece(text[last:])
	return hclfile.Expr(out.String() + `"`)
}
