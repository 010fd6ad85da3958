package dataset

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// fileUnsupported is why datasets that are read from a file cannot be run yet.
const fileUnsupported = "datasets from files come in a later release; use random or sonnet"

// Kinds describes the dataset blocks. Lengths can be given in the dataset or in the
// benchmark that uses it, so none is required here.
func Kinds() []steps.Kind {
	return []steps.Kind{
		kind("random", "",
			"Prompts of exact token lengths whose tokens are drawn from an embedded text, in no order.",
			inputLen, outputLen, prefixLen),
		kind("sonnet", "",
			"Prompts of lines of Shakespeare's sonnets, like the sonnet dataset that vLLM had.",
			inputLen, outputLen, prefixLen),
		kind("sharegpt", fileUnsupported,
			"Conversations in the ShareGPT format: the first turn is the prompt, the length of the second that of the answer.",
			path, outputLen, seed),
		kind("file", fileUnsupported,
			"Prompts from a file with one JSON object a line: prompt, and output_tokens if it is to differ from output_len.",
			path, outputLen, seed),
		kind("trace", fileUnsupported,
			"Requests with times and lengths from a trace, one JSON object a line: timestamp, input_length, output_length, hash_ids.",
			path, timeScale),
		kind("prefix_repetition", "prompts with several shared prefixes come in a later release; use random with prefix_len",
			"Prompts that share one of several prefixes, to measure prefix caches.",
			numPrefixes, prefixLen, suffixLen, outputLen),
	}
}

func kind(name, unsupported, doc string, attrs ...steps.Attr) steps.Kind {
	return steps.Kind{
		Block: "dataset", Name: name, Doc: doc, Unsupported: unsupported,
		Schema: steps.Schema{Attrs: attrs}, Validate: validate,
	}
}

// The arguments. A length is a number of tokens, or { min, max } for uniform ones.
var (
	inputLen    = steps.Attr{Name: "input_len", Type: cty.DynamicPseudoType, Doc: "Tokens of a prompt, its prefix included: a number, or { min = 128, max = 1024 } for uniform lengths."}
	outputLen   = steps.Attr{Name: "output_len", Type: cty.DynamicPseudoType, Doc: "Tokens to generate: a number, or { min = 16, max = 128 } for uniform lengths."}
	prefixLen   = steps.Attr{Name: "prefix_len", Type: cty.Number, Doc: "Tokens at the start that all prompts of a run share; none unless set."}
	suffixLen   = steps.Attr{Name: "suffix_len", Type: cty.Number, Doc: "Tokens of a prompt after its shared prefix."}
	numPrefixes = steps.Attr{Name: "num_prefixes", Type: cty.Number, Doc: "Number of different shared prefixes; 10 unless set."}
	path        = steps.Attr{Name: "path", Type: cty.String, Required: true, Doc: "File to read, relative to the pipeline file."}
	seed        = steps.Attr{Name: "seed", Type: cty.Number, Doc: "Seed of the choice of entries; the benchmark's unless set."}
	timeScale   = steps.Attr{Name: "time_scale", Type: cty.Number, Doc: "Factor on the trace's times: 0.5 sends twice as fast. 1 unless set."}
)

func validate(o steps.Object) []steps.Problem {
	var found []steps.Problem
	for _, name := range []string{"input_len", "output_len"} {
		if reason := checkLength(o, name); reason != "" {
			found = append(found, steps.Problem{
				Path: []string{name}, Summary: name + " " + reason,
				Detail: fmt.Sprintf("Write %s = 256, or %s = { min = 128, max = 1024 }.", name, name),
			})
		}
	}
	for _, n := range []struct {
		name string
		low  float64
	}{{"prefix_len", 0}, {"suffix_len", 1}, {"num_prefixes", 1}, {"seed", 0}} {
		if o.Known(n.name) && (o.Float(n.name) < n.low || o.Float(n.name) != float64(o.Int(n.name))) {
			found = append(found, steps.Problem{
				Path: []string{n.name}, Summary: fmt.Sprintf("%s must be a whole number of at least %g", n.name, n.low),
			})
		}
	}
	if o.Known("time_scale") && o.Float("time_scale") <= 0 {
		found = append(found, steps.Problem{Path: []string{"time_scale"}, Summary: "time_scale must be above zero"})
	}
	return found
}

// checkLength says what is wrong with a length, "" if nothing is or it is not known.
func checkLength(o steps.Object, name string) string {
	if !o.Known(name) {
		return ""
	}
	v := o.Value(name)
	if v.Type() == cty.Number {
		return checkTokens(o, name)
	}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return "must be a number of tokens or an object with min and max"
	}
	ends := steps.Object{Attrs: v.AsValueMap()}
	for key := range ends.Attrs {
		if key != "min" && key != "max" {
			return fmt.Sprintf("has %q; it has min and max and nothing else", key)
		}
	}
	if !ends.Known("min") || !ends.Known("max") {
		return "needs both min and max"
	}
	for _, key := range []string{"min", "max"} {
		if reason := checkTokens(ends, key); reason != "" {
			return key + " " + reason
		}
	}
	if ends.Int("min") > ends.Int("max") {
		return "has a min above its max"
	}
	return ""
}

func checkTokens(o steps.Object, name string) string {
	if f := o.Float(name); f < 1 || f != float64(o.Int(name)) {
		return "must be a whole number of at least 1"
	}
	return ""
}
