package adopt

import (
	"fmt"
	"slices"
	"strings"
)

// ascend is a nightly of vllm-ascend, tests/e2e/nightly/single_node/models/configs/*.yaml: a server for each test case.
var ascend = form{
	name: "vllm-ascend", title: "a nightly of vllm-ascend",
	matches: func(s *source) bool {
		return slices.ContainsFunc(listOf(at(s.first(), "test_cases")),
			func(c any) bool { return textOf(at(c, "model")) != "" && at(c, "server_cmd") != nil })
	},
	read: (*Definition).ascend,
}

var ascendReasons = map[string]string{
	"prompts": "see answers", "api_keyword_args": "see body of a benchmark", "test_content": "see answers",
}

func (d *Definition) ascend(s *source) error {
	root := fieldsOf(s.first(), "")
	for _, c := range listOf(root.take("test_cases")) {
		f := fieldsOf(c, "")
		sv := &server{name: textOf(f.take("name"))}
		if textOf(f.take("service_mode")) == "epd" {
			d.leave("the test "+sv.name, "it has separate encode, prefill and decode servers: see deployment")
			continue
		}
		variables := map[string]string{}
		for _, e := range pairsOf(f.take("envs")) {
			if e.name == "SERVER_PORT" { // of the test's own client
				variables["$"+e.name] = ""
				continue
			}
			variables["$"+e.name] = e.value
			d.environment(sv, e.name, e.value)
		}
		words := []string{"vllm", "serve", textOf(f.take("model"))}
		for _, name := range []string{"server_cmd", "server_cmd_extra"} {
			more, err := d.wordsOf(f.take(name))
			if err != nil {
				return fmt.Errorf("test %s: %s: %w", sv.name, name, err)
			}
			words = append(words, more...)
		}
		for i, w := range words {
			if value, ok := variables[w]; ok {
				words[i] = value
			}
		}
		if i := slices.Index(words, "--port"); i >= 0 && i+1 < len(words) && words[i+1] == "" { // the test chooses it
			words = slices.Delete(words, i, i+2)
		}
		if err := d.read(sv, words); err != nil {
			return fmt.Errorf("test %s: %w", sv.name, err)
		}
		benchmarks := fieldsOf(f.take("benchmarks"), "benchmarks.")
		benchmarks.rest(nil, func(what, _ string) {
			sv.leave(what, "aisbench loads it with a dataset of its own: write a dataset file and a load, or see driver \"exec\"")
		})
		f.rest(ascendReasons, sv.leave)
		d.addServer(sv)
	}
	root.rest(nil, func(what, why string) {
		if !strings.HasPrefix(what, "_") { // anchors, which the cases use
			d.leave(what, why)
		}
	})
	return nil
}

// wordsOf returns the words of a command line that is a list of words, or one text as a shell reads it.
func (d *Definition) wordsOf(v any) ([]string, error) {
	text, ok := v.(string)
	if !ok {
		return textsOf(v), nil
	}
	all, err := commands(text, d.unset)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].words, nil
}
