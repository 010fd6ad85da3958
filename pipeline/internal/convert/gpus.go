package convert

import (
	"strconv"
	"strings"
)

// parallelism lists the ways to spread a server over GPUs, each with the names of its size in
// results and in server arguments.
var parallelism = [][]string{
	{"tensor_parallel_size", "tp_size", "tp"},
	{"pipeline_parallel_size", "pp_size", "pp"},
	{"data_parallel_size", "dp_size", "dp"},
}

// dataParallel is the index of the way that does not multiply GPUs if only the attention is spread
// (SGLang's --enable-dp-attention).
const dataParallel = 2

// parallelPrefixes stand before these names: of arguments of a server command, of SGLang's server
// information, and of trtllm-bench's world.
var parallelPrefixes = []string{"", serverPrefix, "server_", "world_"}

// gpus returns the number of GPUs of a server, from the sizes of its parallelism. A missing size
// counts as 1, the default of the engines. If all are missing, the number is unknown.
func (r *Run) gpus() (string, bool) {
	product, known := 1, false
	for way, names := range parallelism {
		size, ok := r.parallelSize(names)
		if !ok || way == dataParallel && r.sharesAttention() {
			continue
		}
		product, known = product*size, true
	}
	if !known || product > 1<<20 {
		return "", false
	}
	return strconv.Itoa(product), true
}

func (r *Run) parallelSize(names []string) (int, bool) {
	for _, prefix := range parallelPrefixes {
		for _, name := range names {
			if n, err := strconv.Atoi(r.Params[prefix+name]); err == nil && n > 0 && n <= 1<<20 {
				return n, true
			}
		}
	}
	return 0, false
}

// sharesAttention reports whether data parallelism divides the GPUs of tensor parallelism.
func (r *Run) sharesAttention() bool {
	for _, prefix := range parallelPrefixes {
		if strings.EqualFold(r.Params[prefix+"enable_dp_attention"], "true") {
			return true
		}
	}
	return false
}
