package dataset

import (
	"encoding/json"

	"github.com/servegate/pipeline/steps"
)

// limits of the options of datasets that are whole numbers: their default, and the
// values that make sense.
var options = map[string]struct{ unset, low, high int }{
	"num_prefixes": {10, 1, 10_000},
	"suffix_len":   {256, 1, maxLength},
	"system_len":   {0, 0, maxLength},
	"turns":        {4, 1, 1000},
	"users":        {16, 1, 100_000},
	"max_input":    {1024, 1, maxLength}, // as `vllm bench serve` filters ShareGPT
	"max_total":    {2048, 2, maxLength},
	"block_size":   {512, 1, 1 << 20}, // of Mooncake's traces
}

// option is a whole number of a dataset's options, or its default.
func option(d steps.Dataset, name string) int {
	if n, ok := wholeOption(d.Options[name]); ok {
		return n
	}
	return options[name].unset
}

// timeScaleOf is the factor on the times of a trace.
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

// number is a number of the language or of JSON, -1 where it is none: no option is
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
