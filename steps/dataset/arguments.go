package dataset

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

func withDoc(a steps.Attr, doc string) steps.Attr {
	a.Doc = doc
	return a
}

// The arguments. A length is a number of tokens, or { min, max } for uniform lengths.
var (
	inputLen = steps.Attr{Name: "input_len", Type: cty.DynamicPseudoType,
		Doc: "Tokens of a prompt, its prefix included: a number, or { min = 128, max = 1024 } for uniform lengths."}
	outputLen = steps.Attr{Name: "output_len", Type: cty.DynamicPseudoType,
		Doc: "Tokens to generate: a number, or { min = 16, max = 128 } for uniform lengths."}
	prefixLen = steps.Attr{Name: "prefix_len", Type: cty.Number,
		Doc: "Tokens at the start that all prompts of a run share; none unless set."}
	suffixLen    = steps.Attr{Name: "suffix_len", Type: cty.Number, Doc: "Tokens of a prompt after its shared prefix; 256 unless set."}
	numPrefixes  = steps.Attr{Name: "num_prefixes", Type: cty.Number, Doc: "Number of different shared prefixes; 10 unless set."}
	turns        = steps.Attr{Name: "turns", Type: cty.Number, Doc: "Requests of a conversation; 4 unless set."}
	queryLen     = steps.Attr{Name: "query_len", Type: cty.Number, Doc: "Tokens of a query; 32 unless set."}
	documents    = steps.Attr{Name: "documents", Type: cty.Number, Doc: "Documents of a query; 10 unless set."}
	images       = steps.Attr{Name: "images", Type: cty.Number, Doc: "Pictures of a request; 1 unless set."}
	imageWidth   = steps.Attr{Name: "image_width", Type: cty.Number, Doc: "Width of a picture in pixels; 256 unless set."}
	imageHeight  = steps.Attr{Name: "image_height", Type: cty.Number, Doc: "Height of a picture in pixels; 256 unless set."}
	sounds       = steps.Attr{Name: "sounds", Type: cty.Number, Doc: "Sounds of a request; none unless set."}
	soundSeconds = steps.Attr{Name: "sound_seconds", Type: cty.Number,
		Doc: "Length of a sound in seconds, of 16,000 samples each; 5 unless set."}
	users     = steps.Attr{Name: "users", Type: cty.Number, Doc: "Conversations that go on at once; 16 unless set."}
	systemLen = steps.Attr{Name: "system_len", Type: cty.Number,
		Doc: "Tokens of a system prompt that all conversations share; none unless set."}
	realAnswers = steps.Attr{Name: "real_answers", Type: cty.Bool, Doc: "Put what the server answered into the turns that follow, instead " +
		"of made-up answers of the wanted lengths; a turn then waits for the answer before it. Needs endpoint = \"chat\". Sides of a " +
		"comparison whose models answer differently no longer send the same prompts. false unless set."}
	path = steps.Attr{Name: "path", Type: cty.String, Required: true, Doc: "File to read, relative to the pipeline file and in its " +
		"folder or below it; an absolute path must lie in a folder that the environment variable PIPELINE_DATA names."}
	maxInput = steps.Attr{Name: "max_input", Type: cty.Number, Doc: "Longest prompt that is kept, in tokens; 1024 unless set, as in vLLM."}
	maxTotal = steps.Attr{Name: "max_total", Type: cty.Number,
		Doc: "Most tokens of prompt and answer together; 2048 unless set, as in vLLM."}
	rotate = steps.Attr{Name: "rotate", Type: cty.Bool, Doc: "Change the beginning of every prompt from repeat to repeat, at equal " +
		"lengths, so that no repeat finds the prompts of another in a prefix cache; true unless set. Without it `answers` ask the prompts as " +
		"they are."}
	blockSize = steps.Attr{Name: "block_size", Type: cty.Number,
		Doc: "Tokens of a block that hash_ids name; 512 unless set, as in Mooncake's traces."}
	seed      = steps.Attr{Name: "seed", Type: cty.Number, Doc: "Seed of the choice of entries; the benchmark's unless set."}
	timeScale = steps.Attr{Name: "time_scale", Type: cty.Number, Doc: "Factor on the trace's times: 0.5 sends twice as fast. 1 unless set."}
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
	found = append(found, checkWhole(o, "prefix_len", 0, maxLength)...)
	for _, name := range slices.Sorted(maps.Keys(options)) {
		bound := options[name]
		found = append(found, checkWhole(o, name, bound.low, bound.high)...)
	}
	found = append(found, checkWhole(o, "seed", 0, math.MaxInt32)...)
	if o.Known("time_scale") && o.Float("time_scale") <= 0 {
		found = append(found, steps.Problem{Path: []string{"time_scale"}, Summary: "time_scale must be above zero"})
	}
	return found
}

func checkWhole(o steps.Object, name string, low, high int) []steps.Problem {
	if !o.Known(name) {
		return nil
	}
	if f := o.Float(name); f == float64(o.Int(name)) && f >= float64(low) && f <= float64(high) {
		return nil
	}
	return []steps.Problem{{Path: []string{name}, Summary: fmt.Sprintf("%s must be a whole number from %d to %d", name, low, high)}}
}

// checkLength returns what is wrong with a length, "" if it is valid or unknown.
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

// options holds the default and the range of each integer option.
var options = map[string]struct{ unset, low, high int }{
	"num_prefixes":  {10, 1, 10_000},
	"suffix_len":    {256, 1, maxLength},
	"system_len":    {0, 0, maxLength},
	"turns":         {4, 1, 1000},
	"query_len":     {32, 1, maxLength},
	"images":        {1, 0, 64},
	"image_width":   {256, 1, 16_384},
	"image_height":  {256, 1, 16_384},
	"sounds":        {0, 0, 64},
	"sound_seconds": {5, 1, 3600},
	"documents":     {10, 1, 1000},
	"users":         {16, 1, 100_000},
	"max_input":     {1024, 1, maxLength}, // as `vllm bench serve` filters ShareGPT
	"max_total":     {2048, 2, maxLength},
	"block_size":    {512, 1, 1 << 20}, // as in Mooncake's traces
}

// option returns an integer option of a dataset, or its default.
func option(d steps.Dataset, name string) int {
	if n, ok := wholeOption(d.Options[name]); ok {
		return n
	}
	return options[name].unset
}

// timeScaleOf returns the factor applied to the times of a trace.
func timeScaleOf(d steps.Dataset) float64 {
	if v, set := d.Options["time_scale"]; set {
		return number(v)
	}
	return 1
}

func checkOptions(d steps.Dataset) error {
	for name, bound := range options {
		v, set := d.Options[name]
		if n, ok := wholeOption(v); set && (!ok || n < bound.low || n > bound.high) {
			return invalid("%s = %v must be a whole number from %d to %d", name, v, bound.low, bound.high)
		}
	}
	if v, set := d.Options["time_scale"]; set && !(number(v) > 0) {
		return invalid("time_scale = %v must be above zero", v)
	}
	return nil
}

func wholeOption(v any) (int, bool) {
	f := number(v)
	n := int(f)
	return n, v != nil && float64(n) == f
}

// number converts a number of the language or of JSON. It returns -1 for anything else, since no option is
// negative.
func number(v any) float64 {
	switch n := v.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case uint64:
		return float64(n)
	case float64:
		return n
	case json.Number:
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	return -1
}
