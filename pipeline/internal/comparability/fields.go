package comparability

import (
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/foreign"
)

// OwnTool is the name of this program as a load generator.
const OwnTool = foreign.Own

// Rule is how strictly two sides must agree in a field.
type Rule int

const (
	// Same fields must agree, unless the sides are declared to differ in them.
	Same Rule = iota
	// Shown fields may differ, and a difference is shown.
	Shown
)

// Field is a property in which two measurements can differ.
type Field struct {
	Name  string // key in Facts, and in declarations
	Label string // for people
	Rule  Rule
	// Tolerance is the relative difference up to which two numbers count as equal.
	Tolerance float64
	// Default is the value that a load generator uses if it does not mention the field. It applies if both
	// sides use the same tool; otherwise the field is unknown.
	Default string
	// Absent is the meaning of a missing field, if that is a value of its own.
	Absent string
	// Also lists other names of the same parameter in results of load generators. From lists parameters with a
	// wider meaning, used if those are absent.
	Also, From []string
	// Load fields define the load on a server. Results that differ in one belong to different cells, and one that
	// lacks a field is not compared with one that has it.
	Load bool
	// ShownBy names an outcome by which the same load is known if one side lacks the field.
	ShownBy string
	// PerRepeat fields may change from repeat to repeat, but not between the sides of one.
	PerRepeat bool
	// Session fields describe a session and its servers; no parameter contains them.
	Session bool
	// Outcome fields follow from the others. If the sides are declared to differ in their work, they are
	// ignored.
	Outcome bool
	// read normalises a value for comparisons; nil leaves it unchanged.
	read func(string) string
}

// workTolerance is how far the tokens per request may differ between two sides if only totals are known.
// Tokenizers count the same prompts alike, but another load generator may draw new prompts for each run.
const workTolerance = 0.01

// Names of fields that code uses.
const (
	Model          = "model"
	Tokenizer      = "tokenizer"
	Tool           = "tool"
	Seed           = "seed"
	MaxConcurrency = "max_concurrency"
	Engine         = "engine"
	GPUs           = "gpus"
	Simulated      = "simulated"
	Nodes          = "nodes"
	Transport      = "transport"
)

// Fields lists all fields in which two measurements are compared, except facts of the machine, whose table is
// in package probe.
var Fields = []Field{
	// Who measured.
	{Name: Tool, Label: "load generator"},
	{Name: "tool_version", Label: "version of the load generator", Rule: Shown},
	{Name: Simulated, Label: "simulation", Session: true, Absent: "none"},

	// The requested work.
	{Name: Model, Label: "model", Also: []string{"model_id", "model_name"}, read: trimSlash},
	{Name: Tokenizer, Label: "tokenizer", Also: []string{"tokenizer_id"}, read: trimSlash},
	{Name: "tokenizer_mode", Label: "tokenizer mode"},
	{Name: "lora_modules", Label: "LoRA modules"},
	{Name: "dataset_name", Label: "dataset", Also: []string{"dataset"}, Load: true, ShownBy: "input_tokens", read: datasetName},
	{Name: "dataset_path", Label: "dataset file", read: path.Base},
	{Name: "dataset_sum", Label: "content of the dataset file"},
	{Name: "dataset_options", Label: "options of the dataset"},
	{Name: "input_len", Label: "input length", Also: []string{"isl", "input_length"}, Load: true, ShownBy: "input_tokens"},
	{Name: "output_len", Label: "output length", Also: []string{"osl", "output_length"}, Load: true, ShownBy: "output_tokens"},
	{Name: "seq_length", Label: "sequence length", Load: true, ShownBy: "input_tokens"},
	{Name: "prefix_len", Label: "prefix length"},
	{Name: "range_ratio", Label: "range of lengths"},
	{Name: "arrival", Label: "arrivals"},
	{Name: "request_rate", Label: "request rate", Also: []string{"qps", "rps", "rate", "traffic_request_rate"}, Load: true},
	{Name: MaxConcurrency, Label: "max concurrency", Also: []string{"concurrency", "maximum_request_concurrency", "max_request_concurrency"},
		Default: "unlimited", Load: true},
	{Name: "prompts_per_request", Label: "prompts in a request", Default: "1", From: []string{"random_batch_size"}},
	{Name: "num_prompts", Label: "number of prompts", Also: []string{"num_prompt", "prompts"}, Load: true, ShownBy: "requests"},
	{Name: "batch_size", Label: "batch size", Also: []string{"batch", "bs", "batchsize", "n_batch", "num_batch"}, Load: true},
	{Name: "threads", Label: "threads", Also: []string{"n_threads", "num_threads", "thread_count", "cpu_threads"}, Load: true},
	{Name: "time_limit", Label: "length of the run", From: []string{"max_seconds", "max_duration"}},
	{Name: "burstiness", Label: "burstiness", Also: []string{"burstiness_factor"}, Default: "1"},
	{Name: "ramp_up_strategy", Label: "ramp-up"},
	{Name: "ramp_up_start_rps", Label: "rate at the start of the ramp-up"},
	{Name: "ramp_up_end_rps", Label: "rate at the end of the ramp-up"},
	{Name: "ramp", Label: "ramp-up"},
	{Name: "search", Label: "search"},
	{Name: "think_time", Label: "think time"},
	{Name: "load_options", Label: "options of the load"},
	{Name: "warmup", Label: "warm-up requests", Rule: Shown, From: []string{"num_warmups", "warmup_requests"}},
	{Name: "request_timeout", Label: "request timeout"},
	{Name: goodputLimits, Label: "limits of a good request"},
	{Name: "driver", Label: "command of the driver"},
	{Name: Seed, Label: "seed", PerRepeat: true, From: []string{"random_seed"}},

	// The endpoint and the sampling.
	{Name: "endpoint", Label: "endpoint", From: []string{"endpoint_type", "backend", "api_type"}, read: endpoint},
	{Name: "no_stream", Label: "answers in one piece", Default: "false", From: []string{"disable_stream"}},
	{Name: "ignore_eos", Label: "ignore_eos"},
	{Name: "disable_ignore_eos", Label: "disable_ignore_eos", Default: "false"},
	{Name: "temperature", Label: "temperature"},
	{Name: "top_p", Label: "top_p"},
	{Name: "top_k", Label: "top_k"},
	{Name: "min_p", Label: "min_p"},
	{Name: "frequency_penalty", Label: "frequency penalty"},
	{Name: "presence_penalty", Label: "presence penalty"},
	{Name: "repetition_penalty", Label: "repetition penalty"},
	{Name: "use_beam_search", Label: "beam search", Default: "false"},
	{Name: "logprobs", Label: "logprobs"},
	{Name: "apply_chat_template", Label: "chat template", Default: "false"},
	{Name: "extra_body", Label: "extra fields of the request", From: []string{"extra_request_body"}},

	// The outcome.
	{Name: "schedule_hash", Label: "arrival times", Absent: "none", PerRepeat: true, Outcome: true},
	{Name: "work_hash", Label: "requests sent", Absent: "none", PerRepeat: true, Outcome: true},
	{Name: "requests", Label: "requests", PerRepeat: true, Outcome: true},
	{Name: "input_tokens", Label: "input tokens per request", Tolerance: workTolerance, PerRepeat: true, Outcome: true},
	{Name: "output_tokens", Label: "output tokens per request", Tolerance: workTolerance, PerRepeat: true, Outcome: true},
	// Means over the answered requests of a session. Other sessions draw other prompts if their seed differs.
	{Name: promptTokens, Label: "prompt tokens per request", Tolerance: 0.5, Session: true, Outcome: true},
	{Name: answerTokens, Label: "output tokens per request", Tolerance: 0.5, Session: true, Outcome: true},
	{Name: answerCharacters, Label: "characters of text per token", Tolerance: 0.25, Session: true, Outcome: true},

	// The server, its place and the transport.
	{Name: GPUs, Label: "GPUs", Rule: Shown, Also: []string{"num_gpus", "gpu_count"}},
	{Name: Engine, Label: "engine", Session: true},
	{Name: Nodes, Label: "nodes", Session: true, Absent: "this machine", PerRepeat: true},
	{Name: Transport, Label: "KV transport", Session: true},
}

var byName = index()

// index maps all names to fields.
func index() map[string]*Field {
	out := map[string]*Field{}
	for i := range Fields {
		f := &Fields[i]
		out[f.Name] = f
		for _, name := range slices.Concat(f.Also, f.From) {
			out[name] = f
		}
	}
	return out
}

// Lookup returns the field with a name in snake case, or with another name used by load generators; nil for
// none.
func Lookup(name string) *Field { return byName[name] }

// Synonyms maps other names of parameters to the names of their fields.
func Synonyms() map[string]string {
	out := map[string]string{}
	for _, f := range Fields {
		for _, name := range f.Also {
			out[name] = f.Name
		}
	}
	return out
}

// Load lists the fields that define the load on a server.
func Load() []string {
	var out []string
	for _, f := range Fields {
		if f.Load {
			out = append(out, f.Name)
		}
	}
	return out
}

// Declarable lists the fields in which sides can be declared to differ.
func Declarable() []string {
	var out []string
	for _, f := range Fields {
		if f.Rule == Same && !f.Outcome {
			out = append(out, f.Name)
		}
	}
	slices.Sort(out)
	return out
}

func trimSlash(v string) string { return strings.TrimRight(v, "/") }

// datasetName unifies the names of a dataset.
func datasetName(v string) string {
	if v = strings.ReplaceAll(strings.ToLower(v), "_", "-"); v == "random-ids" {
		return "random"
	}
	return v
}

// endpoint returns the kind of request for a path, or for a load generator's name of its client.
func endpoint(v string) string {
	v = strings.ToLower(strings.TrimRight(v, "/"))
	switch {
	case strings.HasSuffix(v, "chat"), strings.HasSuffix(v, "chat/completions"), strings.HasSuffix(v, "chat_completions"):
		return "chat"
	case strings.HasSuffix(v, "/completions"), slices.Contains([]string{"completions", "openai", "openai-comp", "vllm", "sglang-oai",
		"lmdeploy", "text_completions"}, v):
		return "completions"
	case strings.HasSuffix(v, "/generate"), slices.Contains([]string{"generate", "sglang", "sglang-native"}, v):
		return "generate"
	case strings.Contains(v, "embedding"):
		return "embeddings"
	case strings.Contains(v, "rerank"):
		return "rerank"
	}
	return v
}
