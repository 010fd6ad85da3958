// Package load sends a workload to a server and records the responses. It is the
// project's load generator: an open loop on an absolute schedule, or a closed loop. It streams
// over the OpenAI completions and chat endpoints and SGLang's native /generate, or requests
// embeddings and rankings.
//
//	res, err := load.Run(ctx, load.Options{BaseURL: "http://127.0.0.1:8000", Model: "m", Workload: w, Seed: 1})
//	values := record.Reduce(res.Run)
//	cause, void := load.Limits{}.Void(res.Run.Audit) // "" unless the client was the bottleneck
//
// Connections speak HTTP/1.1 and are opened before the run, reused, and never proxied
// or compressed. On plain TCP on Linux, the time of every event is the time when the kernel
// received the bytes, so that it is right even if a busy client reads late. On other systems
// and under TLS it is the time of the read, taken before parsing. The audit names the clock,
// and bounds the error of events that were read together (see record.Audit). Package calibrate
// measures the remaining error on a machine.
//
// The package does not need a local tokenizer: the server's tokenizer provides the token IDs of
// prompts, and the server's usage provides the counts of tokens.
//
// It neither reduces records to metrics (see steps/record) nor decides.
package load

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
)

// Options of one run of a workload. Fields left out of JSON do not leave the process.
type Options struct {
	// BaseURL of the target, for example http://127.0.0.1:8000.
	BaseURL string `json:"base_url"`
	// Model name to send.
	Model string `json:"model"`
	// Headers are sent with every request (for example an Authorization header).
	Headers map[string]string `json:"-"`
	// Workload to send.
	Workload steps.Workload `json:"workload"`
	// Seed of arrivals, lengths and content. The same seed gives the same bytes at the
	// same planned times; both sides of a comparison get the same one.
	Seed uint64 `json:"seed"`
	// ShapeSeed draws the shape of the work, arrival times and lengths; 0 means Seed. With the same ShapeSeed
	// and another Seed in each repeat the content changes while the shape stays, so that the draw of arrivals
	// does not add to the spread of repeats.
	ShapeSeed uint64 `json:"shape_seed,omitempty"`
	// Files opens the datasets that are read from files; nil if none is needed.
	Files *dataset.Files `json:"files,omitempty"`
	// Arrivals are the load models; nil selects those of the program.
	Arrivals Arrivals `json:"-"`
	// TLS is the configuration for https targets; nil means the system's roots.
	TLS *tls.Config `json:"-"`
	// TimeScale runs the schedule this many times faster; 0 and 1 are real time. Recorded times are
	// multiplied by it, so that records are in model time. This includes the client's time, which then weighs
	// that much more: the audit reports lags and pauses unscaled, in wall time.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Begin, if not nil, is called once between the warm-up and the first measured request,
	// which waits for it.
	Begin func(context.Context) `json:"-"`
	// Progress, if not nil, is called about five times a second.
	Progress func(Progress) `json:"-"`
	// Witness, if not nil, is called with every token-bearing event of the measured requests: the times when
	// it arrived and when the client saw it, in wall nanoseconds of one clock. They are equal without kernel
	// stamps. Many goroutines call it, in order for each request.
	Witness func(index int, at, seen int64) `json:"-"`
}

// Progress of a run, for a live display. Times are in nanoseconds, rates per second.
type Progress struct {
	Sent, Done, Failed, Total, InFlight int
	Elapsed                             int64
	TTFTp50, TTFTp99                    int64
}

// Rate returns the number of completed requests per second so far.
func (p Progress) Rate() float64 {
	if p.Elapsed <= 0 {
		return 0
	}
	return float64(p.Done) / (float64(p.Elapsed) / 1e9)
}

// Result of a run.
type Result struct {
	Run record.Run
	// Warmup is the record of the warm-up requests, which are never judged.
	Warmup record.List
	// Start is the origin of the times of Run, zero if the run did not begin.
	Start time.Time
	// First is the time before the first send, of the warm-up if there is one, and Last the time after the
	// last answer. Both are zero for load that was measured elsewhere.
	First, Last time.Time
}
