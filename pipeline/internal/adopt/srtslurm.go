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

// srtSlurm is a recipe of srt-slurm, schema 2, of one aggregated server or of prefill and decode: with engine and roles, or
// with backend and resources as before.
var srtSlurm = form{
	name: "srt-slurm", title: "an srt-slurm recipe",
	matches: func(s *source) bool {
		v := s.first()
		return at(v, "model", "path") != nil && at(v, "resources") != nil && (at(v, "roles") != nil || at(v, "backend") != nil)
	},
	read: (*Definition).srtSlurm,
}

// srtEngine describes an engine of its recipes.
type srtEngine struct {
	program []string
	// connector of prefill and decode workers unless the recipe names one, and their router; "" if no deployment models them.
	connector, router string
}

var srtEngines = map[string]srtEngine{
	"vllm":   {[]string{"vllm", "serve"}, "nixl", "nixl"},
	"sglang": {[]string{"python3", "-m", "sglang.launch_server", "--model-path"}, "mooncake", "sglang"},
	"trtllm": {program: []string{"trtllm-serve"}},
}

// srtRole describes the workers of one role that a recipe asks for.
type srtRole struct {
	args, env            hclfile.Map
	workers, gpus, nodes int
	rest                 *fields
}

// srtRecipe holds the roles of a recipe: aggregated workers, or prefill and decode workers.
type srtRecipe struct {
	engine, connector string
	roles             map[string]srtRole // agg, or prefill and decode
	resources         *fields
}

func (d *Definition) srtSlurm(s *source) error {
	root := fieldsOf(s.first(), "")
	root.take("schema")
	name := textOf(root.take("name"))
	model := fieldsOf(root.take("model"), "model.")
	recipe, err := srtRolesOf(root)
	if err != nil {
		return err
	}
	engine, known := srtEngines[recipe.engine]
	if !known {
		return fmt.Errorf("its engine %q is unknown: start it by a command line, as kind openai", recipe.engine)
	}
	if _, paired := recipe.roles["prefill"]; paired && engine.router == "" {
		return fmt.Errorf("a deployment does not model the prefill and decode workers of %s: start srtctl by the commands of a "+
			"server \"stack\", see docs/stacks.md", recipe.engine)
	}
	path, image := textOf(model.take("path")), textOf(model.take("container"))
	switch {
	case strings.ContainsAny(image, "/:") && !strings.HasSuffix(image, ".sqsh"):
		d.slurm = set(d.slurm, "runtime", "pyxis")
	case image != "":
		d.leave("model.container = "+image, "its file of settings knows what it stands for: set image, and runtime of pipeline.slurm")
		image = ""
	}
	made := map[string][]*server{}
	for _, role := range []string{"agg", "prefill", "decode"} {
		if r, ok := recipe.roles[role]; ok {
			if made[role], err = d.srtServers(engine.program, role, path, image, r); err != nil {
				return err
			}
		}
	}
	frontend := root.take("frontend")
	var sv *server
	if agg := made["agg"]; agg != nil {
		sv = agg[0]
		sv.name = name
		if frontend != nil {
			d.leave("frontend = "+compact(frontend), "the server is asked directly: see deployment and its router")
		}
	} else {
		sv = d.srtPair(name, recipe.connector, engine, made["prefill"], made["decode"])
		sv.leave("frontend = "+compact(frontend), "the router of this program stands in front of them")
	}
	model.rest(map[string]string{"precision": "it is for people"}, d.leave)
	d.srtJob(fieldsOf(root.take("slurm"), "slurm."), recipe.resources)
	d.srtLoad(fieldsOf(root.take("benchmark"), "benchmark."), d.addServer(sv))
	root.rest(nil, d.leave)
	return nil
}

// srtServers makes the servers of a role: one of aggregated workers, every one of the others.
func (d *Definition) srtServers(program []string, role, path, image string, r srtRole) ([]*server, error) {
	n := max(r.workers, 1)
	if role == "agg" {
		n = 1
	}
	var out []*server
	for i := range n {
		sv := &server{name: role, image: image, gpus: r.gpus}
		if n > 1 {
			sv.name = fmt.Sprintf("%s_%d", role, i+1)
		}
		for _, e := range pairsOf(r.env) {
			d.environment(sv, e.name, e.value)
		}
		words := append(slices.Clone(program), path)
		options := ""
		if e, _ := serving(words); e != nil {
			options = e.options
		}
		if options == "" {
			for _, p := range r.args {
				words = append(words, flagWords(p)...)
			}
		}
		if err := d.read(sv, words); err != nil {
			return nil, err
		}
		if options != "" && len(r.args) > 0 {
			sv.args = set(sv.args, options, r.args)
		}
		if role == "agg" && r.workers > 1 {
			sv.leave(fmt.Sprintf("%d workers", r.workers), "one of them is measured: see deployment and its router for several")
		}
		if r.nodes > 1 {
			sv.leave(fmt.Sprintf("%d nodes", r.nodes), "see nodes of the server")
		}
		if i == 0 {
			r.rest.rest(nil, sv.leave)
		}
		out = append(out, sv)
	}
	return out, nil
}

// srtPair makes a deployment of prefill and decode workers. The connector adds what srt-slurm adds to their command
// lines.
func (*Definition) srtPair(name, connector string, engine srtEngine, prefill, decode []*server) *server {
	p := &pair{transfer: cmp.Or(connector, engine.connector), router: engine.router, prefill: prefill, decode: decode}
	for _, m := range slices.Concat(prefill, decode) {
		m.role = "producer"
		if slices.Contains(decode, m) {
			m.role = "consumer"
		}
		for i, a := range m.args { // the block of the connector renders it
			if a.Name == "disaggregation_transfer_backend" {
				p.transfer = textOf(a.Value)
				m.args = slices.Delete(slices.Clone(m.args), i, i+1)
				break
			}
		}
	}
	return &server{name: name, kind: prefill[0].kind, pair: p}
}

// srtRolesOf finds the workers in either shape of a recipe.
func srtRolesOf(root *fields) (srtRecipe, error) {
	out := srtRecipe{roles: map[string]srtRole{}, resources: fieldsOf(root.take("resources"), "resources.")}
	if roles := root.take("roles"); roles != nil {
		engine := root.take("engine")
		out.engine, out.connector = textOf(engine)+textOf(at(engine, "type")), textOf(at(engine, "connector"))
		for _, role := range []string{"agg", "prefill", "decode"} {
			v := at(roles, role)
			if v == nil {
				continue
			}
			f := fieldsOf(v, "roles."+role+".")
			args, _ := f.take("args").(hclfile.Map)
			env, _ := f.take("env").(hclfile.Map)
			out.roles[role] = srtRole{
				args: args, env: env, workers: wholeOf(f.take("workers")), gpus: wholeOf(f.take("gpus")), nodes: wholeOf(f.take("nodes")), rest: f,
			}
		}
		return out, out.complete()
	}
	f := fieldsOf(root.take("backend"), "backend.")
	out.engine = textOf(f.take("type"))
	config := f.take(out.engine + "_config")
	rest := f // what belongs to no role stands at the first one
	for _, its := range []struct{ role, config string }{{"agg", "aggregated"}, {"prefill", "prefill"}, {"decode", "decode"}} {
		args, _ := at(config, its.config).(hclfile.Map)
		env, _ := f.take(its.config + "_environment").(hclfile.Map)
		if args != nil {
			out.roles[its.role] = srtRole{
				args: args, env: env, workers: wholeOf(out.resources.take(its.role + "_workers")),
				gpus: wholeOf(out.resources.take("gpus_per_" + its.role)), nodes: wholeOf(out.resources.take(its.role + "_nodes")), rest: rest,
			}
			rest = fieldsOf(nil, "")
		}
	}
	return out, out.complete()
}

// complete returns an error unless there are aggregated workers, or both prefill and decode workers.
func (r srtRecipe) complete() error {
	_, prefill := r.roles["prefill"]
	_, decode := r.roles["decode"]
	if _, agg := r.roles["agg"]; !agg && (!prefill || !decode) {
		return fmt.Errorf("has neither aggregated workers nor prefill and decode workers")
	}
	return nil
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
