package ab

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// engine describes what is known of an engine: how it is recognised, and what its block needs.
type engine struct {
	name string // for --engine
	kind string // of server block
	// marks are parts of the names of its images and programs.
	marks []string
	// hub reports whether its images download models from the hub into hf-cache.
	hub bool
	// parallel is the argument that spreads a model over GPUs, "" if it uses all without one.
	parallel string
	// ends reports whether its servers refuse ignore_eos: answers end where the model ends them.
	ends bool
}

// engines are the engines in the order in which names are searched: an image named after two holds the first.
var engines = []engine{
	{name: "trtllm", kind: "trtllm", marks: []string{"trtllm", "tensorrt-llm", "tensorrt_llm"}, hub: true, parallel: "tp_size"},
	{name: "sglang", kind: "sglang", marks: []string{"sglang"}, hub: true, parallel: "tp_size"},
	{name: "vllm", kind: "vllm", marks: []string{"vllm"}, hub: true, parallel: "tensor_parallel_size"},
	{name: "llama.cpp", kind: "llamacpp", marks: []string{"llama-server", "llama.cpp", "llamacpp"}},
	{name: "transformers", kind: "transformers", marks: []string{"transformers"}, hub: true, ends: true},
	{name: "openai", kind: "openai"},
}

// Engines returns the names of the engines that a request can name.
func Engines() []string {
	var names []string
	for _, e := range engines {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}

// engineOf returns the engine of both sides.
func engineOf(r Request, base, head source) (engine, error) {
	if r.Engine != "" {
		for _, e := range engines {
			if e.name == r.Engine {
				return e, nil
			}
		}
		return engine{}, fmt.Errorf("--engine %q is unknown: it is one of %s", r.Engine, strings.Join(Engines(), ", "))
	}
	if base.kind == address {
		return engines[len(engines)-1], nil // any server has the interface
	}
	was, is := recognised(r, base), recognised(r, head)
	switch {
	case was < 0 || is < 0:
		unknown := base
		if was >= 0 {
			unknown = head
		}
		return engine{}, fmt.Errorf("the name of %q does not say which engine it is: add --engine, one of %s; "+
			"openai is any server with the OpenAI interface", unknown.text, strings.Join(Engines(), ", "))
	case was != is:
		return engine{}, fmt.Errorf("BASE is %s and HEAD is %s: two engines take different arguments, "+
			"so name the form that both take by --engine", engines[was].name, engines[is].name)
	}
	return engines[was], nil
}

// recognised returns the row of the engine that a side's name contains, -1 if there is none. The last element of a
// path counts before the whole.
func recognised(r Request, s source) int {
	name := s.text
	if s.kind == executable {
		name = strings.Fields(s.text)[0]
	}
	if s.commit != "" {
		name = r.Program
	}
	for _, part := range []string{path.Base(name), name} {
		for i, e := range engines {
			if slices.ContainsFunc(e.marks, func(mark string) bool { return strings.Contains(strings.ToLower(part), mark) }) {
				return i
			}
		}
	}
	return -1
}
