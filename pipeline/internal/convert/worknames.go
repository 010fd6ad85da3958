package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
)

// workName has the names of one fact about the work in all formats. Tables, CSV, keys of JSON and
// printed blocks use it; the paths of a tool's own objects are in its Shape.
type workName struct {
	// key is the parameter that holds it.
	key string
	// settings are names of requested values, beside those of package comparability.
	settings []string
	// nouns are names of tokens of a request: "mean NOUN" and "NOUN per request" are measured
	// means, "total NOUN" is their sum, under the count of this name.
	nouns []string
	count string
}

// workNames is the table. Package comparability compares work under the name of key.
var workNames = []workName{
	{
		key: "input_len",
		settings: []string{"input_tokens", "prompt_tokens", "prompt_len", "prompt_length", "input_sequence_length", "input_token_length",
			"prompt_token_length", "context_tokens", "context_length", "input_seq_len", "prompt_seq_len", "tokens_in", "in_tokens", "in_len",
			"input_size", "prompt_size", "输入长度"},
		nouns: []string{"isl", "input tokens", "input length", "input len", "prompt tokens", "prompt length", "prompt len",
			"input sequence length", "input token count", "prompt token count"},
		count: "input",
	},
	{
		key: "output_len",
		settings: []string{"output_tokens", "completion_tokens", "completion_length", "output_sequence_length", "generated_tokens",
			"response_tokens", "max_tokens", "max_new_tokens", "output_seq_len", "gen_len", "generation_length", "tokens_out", "out_tokens",
			"out_len", "output_size", "response_length", "输出长度"},
		nouns: []string{"osl", "output tokens", "output length", "output len", "completion tokens", "completion length", "generated tokens",
			"response tokens", "output sequence length", "output token count"},
		count: "output",
	},
	{key: "num_prompts", settings: []string{"requests", "num_requests", "n_requests", "request_count", "number_of_requests",
		"number_of_prompts", "total_requests", "expected_number_of_requests", "n_req"}},
	{key: "request_rate", settings: []string{"target_qps", "target_rps", "target_rate", "requested_rate", "req_rate", "arrival_rate",
		"qps_target", "rps_target", "rate_target", "offered_load", "offered_rate"}},
	{key: comparability.MaxConcurrency, settings: []string{"conc", "concur", "clients", "num_clients", "users", "num_users",
		"concurrent_users", "concurrent_clients", "concurrent_requests", "num_concurrent_requests", "parallel_requests", "num_concurrent",
		"concurrency_level", "virtual_users", "vus", "number_of_concurrency", "并发", "并发数"}},
	{key: comparability.Model, settings: []string{"served_model_name", "model_path", "llm"}},
}

// longestPrompt is the most tokens that a column of lengths means for one request: more is a sum.
const longestPrompt = 1 << 20

// settingNames returns a map of other names of columns to their parameter.
var settingNames = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, w := range workNames {
		for _, name := range w.settings {
			out[name] = w.key
		}
	}
	return out
})

// workUnit matches the unit behind the name of requested work: "Prompt len (tok)", "Target [req/s]".
var workUnit = lazyregexp.New(`(?i)\s*[(\[]\s*(?:tok|toks|tokens?|req/s|reqs/s|requests/s|rps|qps|#)\s*[)\]]\s*$`)

// requested reports whether a parameter is requested work, by a name that measured rates do not have.
func requested(key string) bool {
	f := comparability.Lookup(key)
	return settingNames()[key] != "" || f != nil && f.Name != "request_rate"
}

// workFigures returns the measured means and sums of the table, by their words.
var workFigures = sync.OnceValue(func() map[string]figure {
	out := map[string]figure{}
	for _, w := range workNames {
		for _, noun := range w.nouns {
			for _, form := range []string{"mean " + noun, "avg " + noun, "average " + noun, noun + " mean", noun + " avg", noun + " average",
				noun + " per request", noun + "/request", noun + "/req"} {
				out[form] = figure{kind: each, name: w.count}
			}
			out["total "+noun] = figure{kind: count, name: w.count}
		}
	}
	return out
})

// setColumn keeps a column that is no figure as a parameter. Columns of different names never share
// a key: the second keeps its own name, or gets a number.
func (r *Run) setColumn(header, value string) {
	own := slug(strings.TrimLeft(header, "-"))
	key := canonicalKey(header)
	if name, ok := settingNames()[key]; ok && !isSum(name, value) {
		key = name
	}
	if key == "" {
		key = "column"
	}
	header = strings.TrimSpace(header)
	names := []string{key, own}
	for n := 2; n <= maxParams; n++ {
		names = append(names, fmt.Sprintf("%s_%d", cmp.Or(own, key), n))
	}
	for _, name := range names {
		if other, taken := r.columnOf[name]; name == "" || taken && other != header {
			continue
		}
		put(&r.columnOf, name, header)
		r.keep(name, value)
		return
	}
}

// isSum reports whether a number of tokens is too large for one request.
func isSum(key, value string) bool {
	v, err := parseNumber(canonicalValue(value), 0)
	return err == nil && v > longestPrompt && (key == "input_len" || key == "output_len")
}

// isKnownParam reports whether the meaning of a parameter is known.
func isKnownParam(key string) bool {
	key = canonicalKey(key)
	return settingNames()[key] != "" || comparability.Lookup(key) != nil || slices.Contains(usualKeys(), key) || volatile.MatchString(key) ||
		launchLike.MatchString(key) ||
		strings.HasSuffix(key, "_input_len") || strings.HasSuffix(key, "_output_len") || key == "side" || key == "seed"
}

// isNumberLike reports whether a cell holds a number, with or without a unit.
func isNumberLike(cell string) bool {
	cell = strings.Trim(strings.TrimSpace(cell), "`*~≈")
	if trimmed := strings.TrimSpace(cell); trimmed == "" || trimmed[0] > '9' {
		return false
	}
	_, err := parseNumber(withoutUnit(cell), 0)
	return err == nil
}
