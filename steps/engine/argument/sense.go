package argument

import (
	"fmt"
	"iter"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/flags"
	"github.com/servegate/pipeline/steps/serverblock"
	"github.com/zclconf/go-cty/cty"
)

// bound is the range of values of an argument, on any machine.
type bound struct {
	low, high float64 // high 0 means none
	open      bool    // excludes low itself
	why       string
}

// bounds are for arguments that engines only check after the start, or not at all. All engines
// share the table.
var bounds = map[string]bound{
	"kv_cache_free_gpu_memory_fraction": {0, 1, true, "It is the share of a GPU's free memory that the KV cache takes."},
	"free_gpu_memory_fraction":          {0, 1, true, "It is the share of a GPU's free memory that the KV cache takes."},
	"max_batch_size":                    {1, 0, false, "It is a number of sequences."},
	"max_num_tokens":                    {1, 0, false, "It is a number of tokens."},
	"max_seq_len":                       {1, 0, false, "It is a number of tokens."},
	"gpu_memory_utilization":            {0, 1, true, "It is the share of a GPU's memory that the engine takes."},
	"mem_fraction_static":               {0, 1, true, "It is the share of a GPU's memory that the engine takes."},
	"kv_cache_memory_bytes":             {1, 0, false, "It is a size in bytes."},
	"swap_space":                        {0, 0, false, "It is a size in GiB."},
	"cpu_offload_gb":                    {0, 0, false, "It is a size in GiB."},
	"max_model_len":                     {1, 0, false, "It is a number of tokens."},
	"context_length":                    {1, 0, false, "It is a number of tokens."},
	"ctx_size":                          {0, 0, false, "It is a number of tokens, 0 for those of the model."},
	"batch_size":                        {1, 0, false, "It is a number of tokens."}, "ubatch_size": {1, 0, false, "It is a number of tokens."},
	"max_num_seqs":           {1, 0, false, "It is a number of sequences."},
	"max_running_requests":   {1, 0, false, "It is a number of requests."},
	"max_num_batched_tokens": {1, 0, false, "It is a number of tokens."},
	"chunked_prefill_size":   {-1, 0, false, "It is a number of tokens, -1 for none."},
	"tensor_parallel_size":   {1, 0, false, "It is a number of GPUs."}, "tp_size": {1, 0, false, "It is a number of GPUs."},
	"tp":                     {1, 0, false, "It is a number of GPUs."},
	"pipeline_parallel_size": {1, 0, false, "It is a number of stages."}, "pp_size": {1, 0, false, "It is a number of stages."},
	"data_parallel_size": {1, 0, false, "It is a number of replicas."}, "dp_size": {1, 0, false, "It is a number of replicas."},
	"dp":                        {1, 0, false, "It is a number of replicas."},
	"schedule_conservativeness": {0, 0, false, "It is a factor."},
}

// CheckSense finds values that are impossible on any machine: shares above one, more GPUs than the
// server has, and invalid versions.
func (l Lists) CheckSense(o steps.Object) []steps.Problem {
	var found []steps.Problem
	parallel := map[string]float64{}
	for path, v := range l.settings(o) {
		name := path[len(path)-1]
		x, ok := numberOf(v)
		if !ok {
			continue
		}
		key := l.Full(name)
		if b, known := bounds[key]; known && (x < b.low || b.open && x == b.low || b.high != 0 && x > b.high) {
			found = append(found, steps.Problem{
				Path: path, Summary: fmt.Sprintf("%s cannot be %g", strings.Join(path, "."), x), Detail: b.why + b.text(),
			})
		}
		if axis := parallelism[key]; axis != "" {
			parallel[axis] = x
		}
	}
	found = append(found, checkGPUs(o, parallel)...)
	if v := o.Text("version"); v != "" && !version.MatchString(v) {
		found = append(found, steps.Problem{
			Path: []string{"version"}, Summary: fmt.Sprintf("%q is not a version", v),
			Detail: "Write the release of the engine that args are meant for, such as \"0.11.0\", or leave it out.",
		})
	}
	return found
}

var version = lazyregexp.New(`^(v?[0-9]+(\.[0-9]+)+([.+-]?[0-9A-Za-z.+-]+)?|b[0-9]{3,6})$`)

func (b bound) text() string {
	least := "at least"
	if b.open {
		least = "above"
	}
	if b.high == 0 {
		return fmt.Sprintf(" It is %s %g.", least, b.low)
	}
	return fmt.Sprintf(" It is %s %g and at most %g.", least, b.low, b.high)
}

// parallelism lists the arguments that multiply the GPUs of one replica.
var parallelism = map[string]string{
	"tensor_parallel_size": "tensor", "tp_size": "tensor", "tp": "tensor",
	"pipeline_parallel_size": "pipeline", "pp_size": "pipeline", "pp": "pipeline",
}

// settings returns the arguments of a server block by their paths, with the settings of files of options in place of these
// files.
func (l Lists) settings(o steps.Object) iter.Seq2[[]string, cty.Value] {
	return func(yield func([]string, cty.Value) bool) {
		for name, v := range Args(o) {
			path := []string{"args", name}
			inside, _ := v.UnmarkDeep()
			if def, _ := l.Lookup(name); def.Kind != flags.Options || inside.IsNull() || !inside.IsKnown() || !inside.CanIterateElements() {
				if !yield(path, v) {
					return
				}
				continue
			}
			for it := inside.ElementIterator(); it.Next(); {
				key, value := it.Element()
				if key.Type() == cty.String && !yield(append(path, key.AsString()), value) {
					return
				}
			}
		}
	}
}

// checkGPUs compares the GPUs that the arguments need with those of the server.
func checkGPUs(o steps.Object, parallel map[string]float64) []steps.Problem {
	need := 1.0
	for _, x := range parallel {
		need *= max(x, 1)
	}
	have := 0
	switch {
	case o.Has("url"):
		return nil
	case o.Known("gpus"):
		have = o.Int("gpus")
	default:
		for _, c := range o.Blocks["container"] {
			if spec, _ := serverblock.ReadContainer(c); spec != nil && spec.GPUs != nil && spec.GPUs.Count != steps.AllGPUs {
				have = max(spec.GPUs.Count, len(spec.GPUs.IDs))
			}
		}
	}
	if have == 0 || need <= float64(have) {
		return nil
	}
	return []steps.Problem{{
		Path: []string{"args"}, Summary: fmt.Sprintf("tensor and pipeline parallelism need %g GPUs, and the server has %d", need, have),
		Detail: "Raise gpus, or lower the parallel sizes: their product is the number of GPUs of one replica.",
	}}
}

func numberOf(v cty.Value) (float64, bool) {
	v, _ = v.UnmarkDeep()
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.Number {
		return 0, false
	}
	x, _ := v.AsBigFloat().Float64()
	return x, true
}
