package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
	engineargs "github.com/servegate/pipeline/steps/engine/argument"
)

// servingTests is a suite of vLLM's performance benchmarks, .buildkite/performance-benchmarks/tests/serving-tests*.json, with
// the rules of run-performance-benchmarks.sh beside it.
var servingTests = form{
	name: "serving-tests", title: "a suite of vLLM's serving tests",
	matches: func(s *source) bool {
		return slices.ContainsFunc(testsOf(s.first()), func(t any) bool { return at(t, "server_parameters") != nil })
	},
	read: (*Definition).servingTests,
}

// testsOf returns the tests of a suite: a list, or the field tests.
func testsOf(v any) []any {
	if tests := listOf(at(v, "tests")); tests != nil {
		return tests
	}
	return listOf(v)
}

func (d *Definition) servingTests(s *source) error {
	root := fieldsOf(s.first(), "")
	root.take("tests")
	defaults := root.take("defaults")
	root.rest(nil, d.leave)
	known := []string{"qps_list", "max_concurrency_list", "server_environment_variables", "server_parameters", "client_parameters"}
	all, _ := defaults.(hclfile.Map)
	for _, p := range all {
		if !slices.Contains(known, p.Name) {
			d.leave("defaults."+p.Name+" = "+compact(p.Value), "vLLM's script does not read it either")
		}
	}
	for i, t := range testsOf(s.first()) {
		name := textOf(at(t, "test_name"))
		if name == "" {
			d.leave(fmt.Sprintf("test %d without test_name: %s", i+1, compact(t)), "vLLM's script stops at it")
			continue
		}
		if err := d.servingTest(name, defaults, t); err != nil {
			return fmt.Errorf("test %s: %w", name, err)
		}
	}
	return nil
}

// merged returns an object of a test over the defaults of the suite.
func merged(defaults, test any, name string) hclfile.Map {
	out, _ := at(defaults, name).(hclfile.Map)
	out = slices.Clone(out)
	own, _ := at(test, name).(hclfile.Map)
	for _, p := range own {
		out = set(out, p.Name, p.Value)
	}
	return out
}

func (d *Definition) servingTest(name string, defaults, test any) error {
	f := fieldsOf(test, "")
	f.take("test_name")
	parameters := merged(defaults, test, "server_parameters")
	s := &server{name: shortName(name, parameters)}
	for _, e := range pairsOf(merged(defaults, test, "server_environment_variables")) {
		d.environment(s, e.name, e.value)
	}
	model, _ := get(parameters, "model")
	words := []string{"vllm", "serve", textOf(model)}
	if words[2] == "" {
		return fmt.Errorf("has no server_parameters.model")
	}
	for _, p := range parameters {
		if p.Name != "model" {
			words = append(words, flagWords(p)...)
		}
	}
	if err := d.read(s, words); err != nil {
		return err
	}
	b := &benchmark{name: strings.TrimPrefix(name, "serving_")}
	client := merged(defaults, test, "client_parameters")
	if m, ok := get(client, "model"); ok && textOf(m) != s.model {
		d.leave("the test "+name, "its client asks for the model "+textOf(m)+" of a server with "+s.model)
		return nil
	}
	if !d.workload(b, client) {
		return nil
	}
	for _, l := range []struct{ list, axis, argument string }{
		{"qps_list", "rate", "rate"}, {"max_concurrency_list", "concurrency", "max_concurrency"},
	} {
		values := f.take(l.list)
		if values == nil {
			values = at(defaults, l.list)
		}
		b.axis(l.axis, l.argument, listOf(values))
	}
	if _, bounded := get(b.load, "max_concurrency"); !bounded { // as the script has it
		n, _ := get(b.load, "requests")
		b.load = set(b.load, "max_concurrency", n)
	}
	for _, read := range []string{"server_environment_variables", "server_parameters", "client_parameters"} {
		f.take(read)
	}
	f.rest(nil, b.leave)
	b.server = d.addServer(s)
	d.addBenchmark(b)
	return nil
}

// shortName names a server by its model and its number of GPUs.
func shortName(test string, parameters hclfile.Map) string {
	if parts := strings.Split(strings.TrimPrefix(test, "serving_"), "_"); len(parts) > 1 && strings.HasPrefix(parts[1], "tp") {
		return parts[0] + "_" + parts[1]
	} else if len(parts) > 2 && strings.HasPrefix(parts[2], "tp") {
		return strings.Join(parts[:3], "_")
	}
	model, _ := get(parameters, "model")
	name := textOf(model)
	return name[strings.LastIndexByte(name, '/')+1:]
}

// flagWords returns a parameter as the words of a flag: "" and true have none behind it.
func flagWords(p hclfile.Pair) []string {
	flag := engineargs.FlagName(p.Name)
	switch v := p.Value.(type) {
	case nil:
		return nil
	case bool:
		if v {
			return []string{flag}
		}
		return []string{"--no-" + strings.TrimPrefix(flag, "--")}
	case hclfile.Map:
		return []string{flag, jsonText(v)}
	case []any:
		return append([]string{flag}, textsOf(v)...)
	}
	switch text := textOf(p.Value); {
	case text == "":
		return []string{flag}
	case strings.HasPrefix(text, "-"):
		return []string{flag + "=" + text}
	default:
		return []string{flag, text}
	}
}

// engineTests are the suites beside it that measure an engine without a server.
var engineTests = form{
	name: "engine-tests", title: "a suite of vLLM's latency, throughput or startup tests",
	matches: func(s *source) bool {
		return slices.ContainsFunc(testsOf(s.first()), func(t any) bool { return at(t, "parameters") != nil && at(t, "test_name") != nil })
	},
	read: func(d *Definition, s *source) error {
		for _, t := range testsOf(s.first()) {
			name := textOf(at(t, "test_name"))
			what, _, _ := strings.Cut(name, "_")
			d.leave("the test "+name+" = "+compact(at(t, "parameters")), "vllm bench "+what+" measures an engine inside of its own process: "+
				"a benchmark measures servers. Start-up times are measured for each launch, as metric.startup.time")
		}
		return nil
	},
}
