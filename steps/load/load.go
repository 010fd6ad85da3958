// Package load sends a workload to a server and records what came back. It is the
// project's own load generator: an open loop on an absolute schedule (or a closed
// loop, named as such), streaming over the OpenAI completions and chat endpoints and
// SGLang's native /generate.
//
// It does not reduce records to metrics (see steps/record) and does not decide.
package load

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// Options of one run of a workload.
type Options struct {
	// BaseURL of the target, for example http://127.0.0.1:8000.
	BaseURL string
	// Model name to send.
	Model string
	// Headers are sent with every request (for example an Authorization header).
	Headers map[string]string
	// Workload to send.
	Workload steps.Workload
	// Seed of arrivals, lengths and content. The same seed gives the same bytes at the
	// same planned times; both sides of a comparison get the same one.
	Seed uint64
	// TimeScale runs the schedule this many times faster; 1 is real time. Recorded
	// times are multiplied back, so that records are in model time.
	TimeScale float64
	// Progress, if not nil, is called about five times a second.
	Progress func(Progress)
}

// Progress of a run, for a live display. Times in nanoseconds, rates per second.
type Progress struct {
	Sent, Done, Failed, Total, InFlight int
	Elapsed                             int64
	TTFTp50, TTFTp99                    int64
}

// Result of a run.
type Result struct {
	Run record.Run
	// Warmup is the record of the warm-up requests, kept apart and never judged.
	Warmup []record.Request
}
