package steps

import (
	"time"

	"github.com/servegate/pipeline/steps/enum"
)

// Endpoints are the endpoints that a workload can call.
var Endpoints = enum.Values{{Name: "completions", Doc: "OpenAI's"}, {Name: "chat", Doc: "OpenAI's"},
	{Name: "generate", Doc: "SGLang's own"}, {Name: "embeddings", Doc: "OpenAI's"},
	{Name: "rerank", Doc: "Jina's, as vLLM and SGLang have it"}}

// Pooled reports whether an endpoint answers with vectors or scores instead of tokens.
func Pooled(endpoint string) bool { return endpoint == "embeddings" || endpoint == "rerank" }

// Workload is the completely evaluated load of one cell: content, times and number of requests. All fields
// except the seed are part of the cell's identity.
type Workload struct {
	Endpoint  string  `json:"endpoint"` // one of Endpoints
	Dataset   Dataset `json:"dataset"`
	Load      Load    `json:"load"`
	IgnoreEOS bool    `json:"ignore_eos"`
	// Temperature that is sent; 0 is sent as 0, never left to the server's default.
	Temperature float64 `json:"temperature"`
	// Body holds extra fields of the request body, JSON values.
	Body map[string]any `json:"body,omitempty"`
	// Models are the names that requests are sent to and how often each is drawn beside the others: adapters
	// (LoRA) and the model itself. Without any all go to the model.
	Models map[string]float64 `json:"models,omitempty"`
	// Warmup is the number of requests before the measured ones: the same shapes, other content.
	Warmup int `json:"warmup"`
	// Driver measures in place of the built-in load generator; nil selects the built-in one. With a driver
	// all other fields are empty.
	Driver *Driver `json:"driver,omitempty"`
	// RequestTimeout ends a single request (failure class timeout); 0 means none.
	RequestTimeout time.Duration `json:"request_timeout"`
	// Goodput holds the limits that a good request meets; zero if unset.
	Goodput Goodput `json:"goodput,omitzero"`
	// Answers makes a run collect the answers instead of their times; nil in a run that measures.
	Answers *Answers `json:"answers,omitempty"`
}

// Answers selects the data that is collected beside the text of greedy answers.
type Answers struct {
	// Logprobs asks for the log-probability of every token.
	Logprobs bool `json:"logprobs"`
}

// Goodput are service level objectives of one request: a good one succeeds and is within
// all that are set. 0 sets none.
type Goodput struct {
	TTFT time.Duration `json:"ttft,omitempty"`
	TPOT time.Duration `json:"tpot,omitempty"`
	E2EL time.Duration `json:"e2el,omitempty"`
}

// Dataset describes the source of prompts. Kind is the label of the dataset block.
type Dataset struct {
	Kind string `json:"kind"`
	// Lengths in tokens. InputMin..InputMax uniform; equal values mean fixed.
	InputMin  int `json:"input_min,omitempty"`
	InputMax  int `json:"input_max,omitempty"`
	OutputMin int `json:"output_min,omitempty"`
	OutputMax int `json:"output_max,omitempty"`
	// PrefixLen tokens at the start of every prompt are the same for all requests of a run.
	PrefixLen int `json:"prefix_len,omitempty"`
	// Path of a file, for kinds that read one, as the pipeline file writes it.
	Path string `json:"path,omitempty"`
	// Sum is the SHA-256 of the file's content in hex, "" where the file is not there. It
	// makes the content part of the cell's identity, and a run refuses a file that has
	// changed since.
	Sum string `json:"sum,omitempty"`
	// Verbatim prompts of a file are sent unchanged the first time, unless the file sets rotate: the answer
	// depends on the whole prompt.
	Verbatim bool `json:"verbatim,omitempty"`
	// Synthetic marks generated prompts that replace a missing file. Only simulated runs use them.
	Synthetic bool `json:"synthetic,omitempty"`
	// Options of kinds that need more than the above.
	Options map[string]any `json:"options,omitempty"`
}

// Load describes when requests are sent.
type Load struct {
	// Arrival names the load model, one of those in package load.
	Arrival string `json:"arrival"`
	// Rate in requests per second; 0 for unlimited and closed.
	Rate float64 `json:"rate,omitempty"`
	// Burstiness is the shape of the gamma distribution of gaps (vLLM's meaning): 1 is
	// Poisson, below 1 burstier, above 1 more even.
	Burstiness float64 `json:"burstiness,omitempty"`
	// MaxConcurrency bounds the requests in flight; 0 means no bound.
	MaxConcurrency int `json:"max_concurrency,omitempty"`
	// Requests is the number of measured requests; 0 when Duration bounds the run.
	Requests int `json:"requests,omitempty"`
	// Duration bounds the schedule by time instead of by number.
	Duration time.Duration `json:"duration,omitempty"`
	// Ramp, when set, raises the rate linearly from RampFrom to Rate over its time.
	Ramp     time.Duration `json:"ramp,omitempty"`
	RampFrom float64       `json:"ramp_from,omitempty"`
	// ThinkTime is the time that a user of a closed loop waits after an answer.
	ThinkTime time.Duration `json:"think_time,omitempty"`
	// Options are the arguments of load models that need others. Number reads one.
	Options map[string]any `json:"options,omitempty"`
	// Search varies Rate, or the users of a closed loop, instead of a fixed load; nil without.
	Search *Search `json:"search,omitempty"`
}

// Number returns an option that is a number, 0 without it. Whole numbers are integers in a load of a file, and floats
// in one that was read from JSON.
func (l Load) Number(option string) float64 {
	switch n := l.Options[option].(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// Closed reports whether MaxConcurrency users send the requests, each when its last answer is complete.
func (l Load) Closed() bool { return l.Arrival == "closed" }

// Recorded reports whether requests are sent at the times of the dataset.
func (l Load) Recorded() bool { return l.Arrival == "trace" }
