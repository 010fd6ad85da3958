package adopt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// srtSlurm is a recipe of srt-slurm, schema 2, of one aggregated server: with engine and roles, or with backend and
// resources as before.
var srtSlurm = form{
	name: "srt-slurm", title: "an srt-slurm recipe",
	matches: func(s *source) bool {
		v := s.first()
		return at(v, "model", "path") != nil && at(v, "resources") != nil && (at(v, "roles") != nil || at(v, "backend") != nil)
	},
	read: (*Definition).srtSlurm,
}

// srtEngines are the programs of its engines. TensorRT-LLM takes its arguments in a file that srt-slurm writes.
var srtEngines = map[string][]string{
	"vllm": {"vllm", "serve"}, "sglang": {"python3", "-m", "sglang.launch_server", "--model-path"},
}

// srtRole describes the workers that a recipe asks for.
type srtRole struct {
	engine               string
	args, env            hclfile.Map
	workers, gpus, nodes int
	rest, resources      *fields
}

func (d *Definition) srtSlurm(s *source) error {
	root := fieldsOf(s.first(), "")
	root.take("schema")
	name := textOf(root.take("name"))
	model := fieldsOf(root.take("model"), "model.")
	role, err := d.srtRole(root)
	if err != nil {
		return err
	}
	program, known := srtEngines[role.engine]
	if !known {
		return fmt.Errorf("its engine %q takes its arguments in a file: start it by a command line, as kind openai", role.engine)
	}
	sv := &server{name: name, gpus: role.gpus}
	if image := textOf(model.take("container")); strings.ContainsAny(image, "/:") && !strings.HasSuffix(image, ".sqsh") {
		sv.image = image
		d.slurm = set(d.slurm, "runtime", "pyxis")
	} else if image != "" {
		d.leave("model.container = "+image, "its file of settings knows what it stands for: set image, and runtime of pipeline.slurm")
	}
	for _, e := range pairsOf(role.env) {
		d.environment(sv, e.name, e.value)
	}
	words := append(slices.Clone(program), textOf(model.take("path")))
	for _, p := range role.args {
		words = append(words, flagWords(p)...)
	}
	if err := d.read(sv, words); err != nil {
		return err
	}
	if role.workers > 1 {
		sv.leave(fmt.Sprintf("%d workers", role.workers), "one of them is measured: see deployment and its router for several")
	}
	if role.nodes > 1 {
		sv.leave(fmt.Sprintf("%d nodes", role.nodes), "see nodes of the server")
	}
	role.rest.rest(nil, sv.leave)
	model.rest(map[string]string{"precision": "it is for people"}, d.leave)
	d.srtJob(fieldsOf(root.take("slurm"), "slurm."), role.resources)
	if frontend := root.take("frontend"); frontend != nil {
		d.leave("frontend = "+compact(frontend), "the server is asked directly: see deployment and its router")
	}
	d.srtLoad(fieldsOf(root.take("benchmark"), "benchmark."), d.addServer(sv))
	root.rest(nil, d.leave)
	return nil
}

// srtRole finds the aggregated workers in either shape of a recipe.
func (d *Definition) srtRole(root *fields) (srtRole, error) {
	resources := fieldsOf(root.take("resources"), "resources.")
	if roles := root.take("roles"); roles != nil {
		agg := at(roles, "agg")
		if agg == nil {
			return srtRole{}, fmt.Errorf("has separate prefill and decode workers, which are not written: see deployment in docs/servers.md")
		}
		engine := root.take("engine")
		f := fieldsOf(agg, "roles.agg.")
		args, _ := f.take("args").(hclfile.Map)
		env, _ := f.take("env").(hclfile.Map)
		named := textOf(engine) + textOf(at(engine, "type"))
		return srtRole{
			engine: named, args: args, env: env, workers: wholeOf(f.take("workers")), gpus: wholeOf(f.take("gpus")),
			nodes: wholeOf(f.take("nodes")), rest: f, resources: resources,
		}, nil
	}
	f := fieldsOf(root.take("backend"), "backend.")
	kind := textOf(f.take("type"))
	args, _ := at(f.take(kind+"_config"), "aggregated").(hclfile.Map)
	if args == nil {
		return srtRole{}, fmt.Errorf("has separate prefill and decode workers, which are not written: see deployment in docs/servers.md")
	}
	env, _ := f.take("aggregated_environment").(hclfile.Map)
	return srtRole{
		engine: kind, args: args, env: env, workers: wholeOf(resources.take("agg_workers")), gpus: wholeOf(resources.take("gpus_per_agg")),
		nodes: wholeOf(resources.take("agg_nodes")), rest: f, resources: resources,
	}, nil
}

// srtJob reads what the job asks of the cluster.
func (d *Definition) srtJob(job, resources *fields) {
	d.slurm = set(d.slurm, "gpus_per_node", wholeOf(resources.take("gpus_per_node")))
	if seconds := clockTime(textOf(job.take("time_limit"))); seconds > 0 {
		d.slurm = set(d.slurm, "time", strconv.Itoa(seconds/60)+"m")
	}
	for _, name := range []string{"partition", "account"} {
		if v := textOf(job.take(name)); v != "" {
			d.slurm = set(d.slurm, name, v)
		}
	}
	job.rest(nil, d.leave)
	resources.rest(map[string]string{"gpu_type": "see constraint of pipeline.slurm"}, d.leave)
}

// clockTime returns the seconds of H:M:S, or 0.
func clockTime(text string) int {
	total := 0
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0
		}
		total = 60*total + n
	}
	return total
}

// srtPrompts is the number of requests that sa-bench sends for each of its concurrent users.
const srtPrompts = 10

func (d *Definition) srtLoad(f *fields, sv *server) {
	kind := textOf(f.take("type"))
	if kind != "sa-bench" {
		if kind != "" {
			d.leave("benchmark = "+compact(f.m), "only sa-bench is read")
		}
		return
	}
	b := &benchmark{name: "serving", server: sv, load: hclfile.Map{}}
	in, out := wholeOf(f.take("isl")), wholeOf(f.take("osl"))
	lengths := hclfile.Map{{Name: "input_len", Value: in}, {Name: "output_len", Value: out}}
	b.dataset = d.addDataset(&dataset{kind: "random", name: "serving", attrs: lengths})
	concurrencies := f.take("concurrencies")
	values := listOf(concurrencies)
	if text := textOf(concurrencies); text != "" {
		for one := range strings.SplitSeq(text, "x") {
			values = append(values, json.Number(one))
		}
	}
	b.axis("concurrency", "max_concurrency", values)
	if rate := textOf(f.take("req_rate")); rate != "" && rate != "inf" {
		b.load = set(b.load, "rate", number(rate))
	}
	prompts := srtPrompts
	if n := wholeOf(f.take("num_prompts_mult")); n > 0 {
		prompts = n
	}
	if len(values) == 1 {
		b.load = set(b.load, "requests", prompts*wholeOf(values[0]))
	} else {
		b.load = set(b.load, "requests", hclfile.Expr(fmt.Sprintf("%d * matrix.concurrency", prompts)))
	}
	f.rest(nil, b.leave)
	d.addBenchmark(b)
}
