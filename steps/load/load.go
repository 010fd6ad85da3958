// Package load sends a workload to a server and records what came back. It is the
// project's own load generator: an open loop on an absolute schedule (or a closed
// loop, named as such), streaming over the OpenAI completions and chat endpoints and
// SGLang's native /generate, or asking for embeddings.
//
//	res, err := load.Run(ctx, load.Options{BaseURL: "http://127.0.0.1:8000", Model: "m", Workload: w, Seed: 1})
//	values := record.Reduce(res.Run)
//	cause, void := load.Limits{}.Void(res.Run.Audit) // "" unless the client was the limit
//
// Connections speak HTTP/1.1 and are opened before the run, reused, and never proxied
// or compressed. The time of every event is when the kernel received the bytes, on plain
// TCP on Linux, so that a client that is busy reads late and is not wrong; elsewhere and
// within TLS it is that of the read, taken before anything is parsed. The audit names
// the clock, and bounds the error of events that were read together (see record.Audit).
// Package calibrate measures what is left of it on a machine.
//
// It needs no local tokenizer: prompts are ids that the server's own tokenizer gave, and
// tokens are counted by the server's usage.
//
// It does not reduce records to metrics (see steps/record) and does not decide.
package load

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
)

// Options of one run of a workload. What JSON leaves out does not leave the process.
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
	// ShapeSeed draws the shape of the work, arrival times and lengths; 0 means Seed.
	// With the same ShapeSeed and another Seed in each repeat the content rotates while
	// the shape stays, so that the draw of arrivals is no part of the spread of repeats.
	ShapeSeed uint64 `json:"shape_seed,omitempty"`
	// Files opens the datasets that are read from files; nil where none is needed.
	Files *dataset.Files `json:"files,omitempty"`
	// Arrivals are the load models; nil stands for those of the program.
	Arrivals Arrivals `json:"-"`
	// TLS is the configuration for https targets; nil means the system's roots.
	TLS *tls.Config `json:"-"`
	// TimeScale runs the schedule this many times faster; 0 and 1 are real time.
	// Recorded times are multiplied back, so that records are in model time. So is what
	// the client itself needed, which then counts that much more: the audit reports lags
	// and pauses unscaled, in wall time.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Begin, if not nil, is called once between the warm-up and the first measured request,
	// which waits for it.
	Begin func(context.Context) `json:"-"`
	// Progress, if not nil, is called about five times a second.
	Progress func(Progress) `json:"-"`
	// Witness, if not nil, is called with every token-bearing event of the measured requests:
	// when it arrived and when the client saw it, in wall nanoseconds of one clock. Equal
	// without kernel stamps. It is called by many goroutines, in order for each request.
	Witness func(index int, at, seen int64) `json:"-"`
}

// Progress of a run, for a live display. Times in nanoseconds, rates per second.
type Progress struct {
	Sent, Done, Failed, Total, InFlight int
	Elapsed                             int64
	TTFTp50, TTFTp99                    int64
}

// Rate is the number of requests that were done in a second so far.
func (p Progress) Rate() float64 {
	if p.Elapsed <= 0 {
		return 0
	}
	return float64(p.Done) / (float64(p.Elapsed) / 1e9)
}

// Result of a run.
type Result struct {
	Run record.Run
	// Warmup is the record of the warm-up requests, kept apart and never judged.
	Warmup []record.Request
	// Start is the moment that the times of Run count from, zero if the run did not begin.
	Start time.Time
	// First is when the first request, of the warm-up if there is one, was about to be sent, and
	// Last when the last answer was there; both are zero for load that came from elsewhere.
	First, Last time.Time
}
