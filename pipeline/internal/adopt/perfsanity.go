package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// perfSanity is a configuration of TensorRT-LLM's perf-sanity tests, tests/scripts/perf-sanity/aggregated/*.yaml.
var perfSanity = form{
	name: "trtllm-perf-sanity", title: "a configuration of TensorRT-LLM's perf-sanity tests",
	matches: func(s *source) bool {
		return slices.ContainsFunc(listOf(at(s.first(), "server_configs")), func(c any) bool { return at(c, "client_configs") != nil })
	},
	read: (*Definition).perfSanity,
}

// perfSanityOwn are fields of a server that its script does not write into the server's configuration file.
var perfSanityOwn = strings.Fields("mode concurrency name model_name disagg_run_type gpus gpus_per_node match_mode client_configs backend")

// perfSanityParallel are the sizes whose product is the number of GPUs.
var perfSanityParallel = []string{"tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size"}

func (d *Definition) perfSanity(s *source) error {
	root := fieldsOf(s.first(), "")
	metadata := root.take("metadata")
	for _, c := range listOf(root.take("server_configs")) {
		if err := d.perfSanityServer(fieldsOf(c, ""), textOf(at(metadata, "model_name"))); err != nil {
			return err
		}
	}
	root.rest(map[string]string{"hardware": "see the labels of the runner"}, d.leave)
	return nil
}

func (d *Definition) perfSanityServer(f *fields, model string) error {
	sv := &server{name: textOf(f.take("name")), gpus: 1}
	if model = cmp.Or(textOf(f.take("model_name")), model); model == "" {
		return fmt.Errorf("server %s has no model_name", sv.name)
	}
	for _, size := range perfSanityParallel {
		if n := wholeOf(at(f.m, size)); n > 0 {
			sv.gpus *= n
		}
	}
	backend := cmp.Or(textOf(f.take("backend")), "pytorch")
	if err := d.read(sv, []string{"trtllm-serve", model, "--backend", backend}); err != nil {
		return err
	}
	for e := range strings.FieldsSeq(textOf(f.take("server_env_var")) + " " + textOf(f.take("env_vars"))) {
		if name, value, ok := strings.Cut(e, "="); ok {
			d.environment(sv, name, value)
		}
	}
	var file hclfile.Map
	for _, p := range f.m {
		if !slices.Contains(perfSanityOwn, p.Name) && !slices.Contains(f.taken, p.Name) {
			f.take(p.Name)
			file = append(file, p)
		}
	}
	if len(file) > 0 {
		sv.args = set(sv.args, "config", file)
	}
	clients := f.take("client_configs")
	for _, own := range perfSanityOwn {
		f.take(own)
	}
	sv = d.addServer(sv)
	for _, c := range listOf(clients) {
		d.perfSanityLoad(fieldsOf(c, ""), sv)
	}
	return nil
}

// perfSanityLoad reads a client: iterations times as many requests as there are users.
func (d *Definition) perfSanityLoad(f *fields, sv *server) {
	b := &benchmark{name: textOf(f.take("name")), server: sv}
	concurrency, iterations := wholeOf(f.take("concurrency")), max(wholeOf(f.take("iterations")), 1)
	flags := hclfile.Map{{Name: "dataset_name", Value: "random"}, {Name: "ignore_eos", Value: true}}
	for _, l := range []struct {
		flag string
		n    int
	}{
		{"random_input_len", wholeOf(f.take("isl"))}, {"random_output_len", wholeOf(f.take("osl"))}, {"max_concurrency", concurrency},
		{"num_prompts", concurrency * iterations},
	} {
		flags = set(flags, l.flag, json.Number(strconv.Itoa(l.n)))
	}
	for _, name := range []string{"random_range_ratio", "backend"} {
		if v := f.take(name); v != nil {
			flags = set(flags, name, v)
		}
	}
	if d.workload(b, flags) {
		f.rest(nil, b.leave)
		d.addBenchmark(b)
	}
}
