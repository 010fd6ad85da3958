package adopt

import (
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// perfEval is a workload of vllm-project/perf-eval: a server, and the configurations of vllm bench serve.
var perfEval = form{
	name: "perf-eval", title: "a workload of perf-eval",
	matches: func(s *source) bool {
		v := s.first()
		return textOf(at(v, "vllm", "model")) != "" && at(v, "gpu") != nil
	},
	read: (*Definition).perfEval,
}

// perfEvalImage is the image of a workload without one, as its scripts choose it.
const perfEvalImage = "vllm/vllm-openai:nightly"

var perfEvalReasons = map[string]string{
	"lm_eval": "see driver \"evaluation\" of a benchmark", "bfcl": "see driver \"evaluation\" of a benchmark",
	"nightly": "a schedule belongs to the workflow", "gpu": "see the labels of the runner",
	"attention_backends": "write one of them into args, or make it an axis of the matrix",
	"moe_backends":       "write one of them into args, or make it an axis of the matrix",
}

func (d *Definition) perfEval(s *source) error {
	root := fieldsOf(s.first(), "")
	name := textOf(root.take("name"))
	vllm := fieldsOf(root.take("vllm"), "vllm.")
	sv := &server{name: name, image: perfEvalImage, gpus: wholeOf(root.take("num_gpus"))}
	if image := textOf(vllm.take("image")); image != "" {
		sv.image = image
	} else {
		sv.leave("the image", "the workload names none: VLLM_IMAGE or VLLM_COMMIT choose it, and the default is a nightly")
	}
	for _, e := range pairsOf(vllm.take("env")) {
		d.environment(sv, e.name, e.value)
	}
	// Its script splits the arguments at blanks, without a shell's quotes.
	words := append([]string{"vllm", "serve", textOf(vllm.take("model"))}, strings.Fields(textOf(vllm.take("serve_args")))...)
	if err := d.read(sv, words); err != nil {
		return err
	}
	sv.container = hclfile.Map{{Name: "ipc", Value: "host"}}
	vllm.rest(perfEvalReasons, sv.leave)
	sv = d.addServer(sv)
	bench := fieldsOf(root.take("vllm_bench"), "vllm_bench.")
	for _, c := range listOf(bench.take("configs")) {
		d.perfEvalLoad(fieldsOf(c, ""), sv)
	}
	bench.rest(map[string]string{"repetitions": "see repeat: each repeat starts the server anew", "metadata": "it is for people"}, d.leave)
	root.rest(perfEvalReasons, d.leave)
	return nil
}

// perfEvalLoad reads one configuration as the flags that its script makes of it.
func (d *Definition) perfEvalLoad(f *fields, sv *server) {
	b := &benchmark{name: textOf(f.take("name")), server: sv}
	flags := hclfile.Map{{Name: "dataset_name", Value: "random"}}
	for _, its := range []struct{ field, flag string }{
		{"dataset", "dataset_name"}, {"input_len", "random_input_len"}, {"output_len", "random_output_len"}, {"num_prompts", "num_prompts"},
		{"max_concurrency", "max_concurrency"}, {"backend", "backend"},
	} {
		if v := f.take(its.field); v != nil {
			flags = set(flags, its.flag, v)
		}
	}
	more, _ := f.take("args").(hclfile.Map)
	for _, p := range more {
		flags = set(flags, argument(p.Name), p.Value)
	}
	if d.workload(b, flags) {
		f.rest(nil, b.leave)
		d.addBenchmark(b)
	}
}
