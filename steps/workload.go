package steps

import (
	"time"

	"github.com/servegate/pipeline/steps/enum"
)

// Endpoints are what a workload can call.
var Endpoints = enum.Values{{Name: "completions", Doc: "OpenAI's"}, {Name: "chat", Doc: "OpenAI's"},
	{Name: "generate", Doc: "SGLang's own"}, {Name: "embeddings", Doc: "OpenAI's"},
	{Name: "rerank", Doc: "Jina's, as vLLM and SGLang have it"}}

// Pooled reports whether answers of an endpoint are made of vectors or scores, and not of tokens.
func Pooled(endpoint string) bool { return endpoint == "embeddings" || endpoint == "rerank" }

// Workload is one cell's load, completely evaluated: what is sent, when, and how much
// of it. Everything in it enters the identity of the cell, except Seed.
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
	// Driver measures in the place of our own load generator; nil is our own. With a driver
	// nothing else of the workload is set.
	Driver *Driver `json:"driver,omitempty"`
	// RequestTimeout ends a single request (failure class timeout); 0 means none.
	RequestTimeout time.Duration `json:"request_timeout"`
	// Goodput are the limits that a good request keeps; zero without.
	Goodput Goodput `json:"goodput,omitzero"`
	// Answers make a run collect what is answered, and not when; nil in a run that measures.
	Answers *Answers `json:"answers,omitempty"`
}

// Answers say what of greedy answers is collected beside their text.
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

// Dataset says where prompts come from. Kind is the label of the dataset block.
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
	// Verbatim prompts of a file are sent as they are the first time, unless the file sets rotate:
	// what is answered depends on all of a prompt.
	Verbatim bool `json:"verbatim,omitempty"`
	// Synthetic stands for prompts that are made up because the file is not there. Only a
	// simulated run has them.
	Synthetic bool `json:"synthetic,omitempty"`
	// Options of kinds that need more than the above.
	Options map[string]any `json:"options,omitempty"`
}

// Load says when requests are sent.
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
	// ThinkTime is how long a user of a closed loop waits after an answer.
	ThinkTime time.Duration `json:"think_time,omitempty"`
	// Options are the arguments of load models that need others.
	Options map[string]any `json:"options,omitempty"`
	// Search varies Rate, or the users of a closed loop, instead of a fixed load; nil without.
	Search *Search `json:"search,omitempty"`
}

// Closed reports whether MaxConcurrency users send the requests, each when its last answer is complete.
func (l Load) Closed() bool { return l.Arrival == "closed" }

// Recorded reports whether requests are sent at the times of the dataset.
func (l Load) Recorded() bool { return l.Arrival == "trace" }
