package adopt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// inferenceX is a master file of InferenceX, .github/configs/*-master.yaml: configurations by name.
var inferenceX = form{
	name: "inferencex", title: "a master file of InferenceX",
	matches: func(s *source) bool {
		m, _ := s.first().(hclfile.Map)
		return slices.ContainsFunc(m, func(p hclfile.Pair) bool {
			return at(p.Value, "framework") != nil && at(p.Value, "image") != nil && inferenceXLengths(p.Value) != nil
		})
	},
	read: (*Definition).inferenceX,
}

// inferenceXLengths returns the lengths of a configuration with their search spaces, in either place that has them.
func inferenceXLengths(v any) []any {
	if list := listOf(at(v, "seq-len-configs")); list != nil {
		return list
	}
	return listOf(at(v, "scenarios", "fixed-seq-len"))
}

// inferenceXFlags names, for each framework, the program and its flags for tensor and expert parallelism.
var inferenceXFlags = map[string]struct {
	program []string
	tp, ep  func(n int) []string
}{
	"vllm": {[]string{"vllm", "serve"}, flagOf("--tensor-parallel-size"), func(int) []string { return []string{"--enable-expert-parallel"} }},
	"sglang": {[]string{"python3", "-m", "sglang.launch_server", "--model-path"}, flagOf("--tensor-parallel-size"),
		flagOf("--expert-parallel-size")},
	"trt": {[]string{"trtllm-serve"}, flagOf("--tp_size"), flagOf("--ep_size")},
}

func flagOf(name string) func(int) []string {
	return func(n int) []string { return []string{name, strconv.Itoa(n)} }
}

// inferenceXRequests is the number of requests for each concurrent user.
const inferenceXRequests = 10

func (d *Definition) inferenceX(s *source) error {
	m, _ := s.first().(hclfile.Map)
	for _, p := range m {
		f := fieldsOf(p.Value, p.Name+".")
		framework := textOf(f.take("framework"))
		_, known := inferenceXFlags[framework]
		switch {
		case textOf(f.take("multinode")) == "true" || textOf(at(p.Value, "disagg")) == "true":
			d.leave(p.Name, "it runs on several nodes: read the recipe of srt-slurm that its CONFIG_FILE names")
			continue
		case !known:
			d.leave(p.Name, "the framework "+framework+" takes its arguments in a file: start it by a command line, as kind openai")
			continue
		}
		if err := d.inferenceXConfiguration(p.Name, framework, f); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	if len(d.servers) == 0 {
		return fmt.Errorf("has no configuration of vLLM or SGLang on one node")
	}
	return nil
}

func (d *Definition) inferenceXConfiguration(name, framework string, f *fields) error {
	// The number sign keeps the registry apart, as its launcher wants it.
	image, model := strings.ReplaceAll(textOf(f.take("image")), "#", "/"), textOf(f.take("model"))
	for _, lengths := range inferenceXLengths(f.m) {
		in, out := wholeOf(at(lengths, "isl")), wholeOf(at(lengths, "osl"))
		space := at(lengths, "search-space")
		if space == nil {
			space = at(lengths, "bmk-space")
		}
		for _, point := range listOf(space) {
			p := fieldsOf(point, fmt.Sprintf("%s isl=%d osl=%d ", name, in, out))
			if err := d.inferenceXPoint(name, framework, image, model, in, out, p); err != nil {
				return err
			}
		}
	}
	for _, read := range []string{"seq-len-configs", "scenarios", "disagg"} {
		f.take(read)
	}
	f.rest(map[string]string{
		"precision": "it is for people", "model-prefix": "it is for people", "runner": "see the labels of the runner",
	}, d.leave)
	return nil
}

// inferenceXPoint reads one point of a search space: a server by its parallel sizes, and a load with its concurrencies.
func (d *Definition) inferenceXPoint(name, framework, image, model string, in, out int, p *fields) error {
	engine := inferenceXFlags[framework]
	words := append(append([]string{}, engine.program...), model)
	label := name
	if tp := wholeOf(p.take("tp")); tp > 0 {
		words = append(words, engine.tp(tp)...)
		label += fmt.Sprintf("_tp%d", tp)
	}
	if ep := wholeOf(p.take("ep")); ep > 1 {
		words = append(words, engine.ep(ep)...)
		label += fmt.Sprintf("_ep%d", ep)
	}
	sv := &server{name: label, image: image}
	if err := d.read(sv, words); err != nil {
		return err
	}
	sv.leave("further arguments", "they are in its script benchmarks/single_node/*.sh: write them into args")
	sv = d.addServer(sv)
	b := &benchmark{name: fmt.Sprintf("%s_%d_%d", label, in, out), server: sv, load: hclfile.Map{}}
	b.dataset = d.addDataset(&dataset{kind: "random", name: fmt.Sprintf("in_%d_out_%d", in, out),
		attrs: hclfile.Map{{Name: "input_len", Value: in}, {Name: "output_len", Value: out}}})
	concurrencies := listOf(p.take("conc-list"))
	first, last := wholeOf(p.take("conc-start")), wholeOf(p.take("conc-end"))
	for n := first; n > 0 && n <= last; n *= 2 { // as its matrix is made
		concurrencies = append(concurrencies, json.Number(strconv.Itoa(n)))
	}
	b.axis("concurrency", "max_concurrency", concurrencies)
	requests := any(hclfile.Expr(fmt.Sprintf("%d * matrix.concurrency", inferenceXRequests)))
	if len(concurrencies) == 1 {
		requests = inferenceXRequests * wholeOf(concurrencies[0])
	}
	b.load = set(b.load, "requests", requests)
	p.rest(nil, b.leave)
	d.addBenchmark(b)
	return nil
}
