// Package record holds what the load generator recorded about every request of a run, and reduces it to metric
// values. All metrics are computed here, from records, so that live, stored and imported runs share one
// definition of each metric.
//
//	values := record.Reduce(run)         // values["ttft.p99"] in seconds
//	err := record.Write(file, record.Header{}, run, nil)
//
// All times are nanoseconds on one monotonic clock that starts with the run. The package does not send requests
// (see steps/load), does not compare runs (see gates) and opens no files.
package record

import "github.com/servegate/pipeline/steps"

// Request is one request as the client saw it. Times are nanoseconds since the start
// of the run; -1 means that the event never happened.
type Request struct {
	Index int `json:"i"`
	// Planned is the arrival time in the schedule.
	Planned int64 `json:"planned"`
	// Sent is just before the first byte was written, after any wait for a free
	// concurrency slot (the clock start of `vllm bench serve`).
	Sent int64 `json:"sent"`
	// Headers is the arrival of the response's status line.
	Headers int64 `json:"headers"`
	// Done is the end of the response (last byte, or the failure).
	Done int64 `json:"done"`
	// Resent means that it was sent again, because the server had closed an idle connection without a response.
	Resent bool `json:"resent,omitempty"`
	// Events are the token-bearing stream events, in order. A response without tokens (an embedding) is one
	// event without a token: it has an end and no first token.
	Events []Event `json:"ev"`

	PromptTokens int `json:"prompt"`
	// WantTokens is the requested output length.
	WantTokens int `json:"want"`
	// OutputTokens is the server's own count (usage), 0 without one.
	OutputTokens int `json:"output"`
	// CachedTokens as reported by the server, -1 if not reported.
	CachedTokens int `json:"cached"`

	Status int `json:"status"`
	// Finish is the finish reason ("length", "stop", ...), "" if none was seen.
	Finish string `json:"finish,omitempty"`
	// Failure is "" for a success, otherwise a class (see Failure constants).
	Failure Failure `json:"failure,omitempty"`
	// Error is a short text for people, of limited length.
	Error string `json:"error,omitempty"`
	// Asked is a hash of the prompt, 0 if unknown. Continues means that the prompt repeats an earlier answer of
	// the server, so the server determines its length.
	Asked     uint32 `json:"asked,omitempty"`
	Continues bool   `json:"continues,omitempty"`
	// Text describes the text of a streamed answer, nil if unknown.
	Text *Text `json:"text,omitempty"`
	// Answer is the answer, if answers were collected.
	Answer *Answer `json:"answer,omitempty"`
	// Session is the number of its session. It is nil outside of sessions, and in sessions that the end of the
	// run interrupted.
	Session *int `json:"session,omitempty"`
}

// Text describes the text of an answer: content, reasoning and tool calls in the order of their events. The
// text itself is not stored.
type Text struct {
	// Chars is the number of visible characters: neither space nor control.
	Chars int `json:"n"`
	// Reasoning is the number of those that the server sent as reasoning, before the answer itself.
	Reasoning int `json:"reasoning,omitempty"`
	// Sum is a hash of the text, Begin a hash of its first bytes (see BeginBytes), First of even fewer (see
	// FirstBytes), and End of its last bytes (see EndBytes).
	Sum   uint32 `json:"sum"`
	Begin uint32 `json:"begin"`
	First uint32 `json:"first"`
	End   uint32 `json:"end"`
	// Blank is the number of events before the first one with a visible character.
	Blank int `json:"blank,omitempty"`
}

// BeginBytes is the number of bytes of a text that Text.Begin covers.
const BeginBytes = 32

// FirstBytes is the number of bytes of a text that Text.First covers: usually the first token.
const FirstBytes = 4

// EndBytes is the number of bytes of a text that Text.End covers.
const EndBytes = 32

// First returns the event that ends the time to first token: the first one with visible text. If no text is
// known or visible, it returns the first event. The request must have events.
func (r *Request) First() Event { return r.Events[r.blank()] }

// blank returns the number of events before the first one with text.
func (r *Request) blank() int {
	if r.Text == nil || r.Text.Blank >= len(r.Events) {
		return 0
	}
	return r.Text.Blank
}

// following returns the number of output tokens after the first one with text.
func (r *Request) following() int {
	n := r.OutputTokens - 1
	if k := r.blank(); k > 0 {
		n -= r.Events[k-1].Tokens
	}
	return n
}

// Answer is the answer to a request.
type Answer struct {
	// Ask is the end of the prompt, if it is text.
	Ask  string `json:"ask,omitempty"`
	Text string `json:"text"`
	// Sum is a hash of the whole text if Text is only its beginning.
	Sum string `json:"sum,omitempty"`
	// Ended means that the model ended the answer itself, before the length limit.
	Ended bool `json:"ended,omitempty"`
	// Tokens are the chosen tokens by the server's names, texts or IDs, and Logprobs their log-probabilities;
	// nil if not reported.
	Tokens   []string  `json:"tokens,omitempty"`
	Logprobs []float64 `json:"logprobs,omitempty"`
}

// Event is one stream event that carried tokens.
type Event struct {
	// At is the arrival time in nanoseconds since the start of the run.
	At int64 `json:"t"`
	// Tokens is the cumulative number of output tokens after this event if the server reports it (continuous
	// usage), otherwise the number of events so far.
	Tokens int `json:"n"`
}

// Failure classes a request's failure. The empty value is success.
type Failure string

// The failure classes. Success requires a 2xx status, no error object in the stream, a finish reason, at least
// one token, no more tokens than requested, and the full length with ignore_eos.
const (
	FailConnect     Failure = "connect"      // could not connect, or reset before headers
	FailStatus      Failure = "status"       // not 2xx
	FailStreamError Failure = "stream_error" // an error object inside a 200
	FailCut         Failure = "cut"          // the stream ended without finish reason or [DONE]
	FailEmpty       Failure = "empty"        // finished without a token
	FailShort       Failure = "short"        // fewer tokens than requested, with ignore_eos
	FailLong        Failure = "long"         // more tokens than requested
	FailGarbage     Failure = "garbage"      // not the requested protocol
	FailTimeout     Failure = "timeout"      // the request's own deadline passed
	FailAborted     Failure = "aborted"      // the engine aborted it (finish reason abort)
	FailCancelled   Failure = "cancelled"    // we stopped the run
)

// Audit describes how the client performed, to show whether the client limited the run. Times are in
// nanoseconds.
type Audit struct {
	// Clock is the source of arrival times: "kernel" (receive time stamps of the socket) or "user" (time of the
	// read).
	Clock string `json:"clock"`
	// UserReads is the number of reads without a kernel stamp where Clock is "kernel", out of Reads. Their time
	// is the time of the read.
	UserReads int `json:"user_reads,omitempty"`
	Reads     int `json:"reads,omitempty"`
	// ReadLag is the time from the kernel's stamp to the client's read, accurate to an eighth. With the
	// kernel's clock it does not affect times, but shows how busy the client was.
	ReadLagP50 int64 `json:"read_lag_p50,omitempty"`
	ReadLagP99 int64 `json:"read_lag_p99,omitempty"`
	ReadLagMax int64 `json:"read_lag_max,omitempty"`
	// Lag of sends behind the plan in an open loop, without waits for a concurrency slot or for the answer that
	// a turn repeats.
	LagP50 int64 `json:"lag_p50"`
	LagP99 int64 `json:"lag_p99"`
	LagMax int64 `json:"lag_max"`
	// PlannedRate and RealisedRate in requests per second; 0 for an unlimited rate.
	PlannedRate  float64 `json:"planned_rate"`
	RealisedRate float64 `json:"realised_rate"`
	// CoalescedReads is the number of stream events, out of Events, that shared a read with an earlier one.
	// Their times are equal, so gaps are understated.
	CoalescedReads int `json:"coalesced_reads"`
	Events         int `json:"events"`
	// CoalescedMean and CoalescedMax bound the resulting error: how much earlier such an event may have
	// arrived.
	CoalescedMean int64 `json:"coalesced_mean,omitempty"`
	CoalescedMax  int64 `json:"coalesced_max,omitempty"`
	// GCPauseTotal and GCPauseMax during the run.
	GCPauseTotal int64 `json:"gc_pause_total"`
	GCPauseMax   int64 `json:"gc_pause_max"`
	// CPUSeconds is the client's CPU use (user and system) during the run.
	CPUSeconds float64 `json:"cpu_seconds"`
	// WallSeconds is the duration of the run on the client's clock, unscaled.
	WallSeconds float64 `json:"wall_seconds,omitempty"`
	// SocketErrors is the number of requests that failed because a connection was not made, reset or cut.
	SocketErrors int `json:"socket_errors,omitempty"`
	// Exhausted is the number of requests that got no connection because the client's machine had no file descriptor, port or
	// memory for it.
	Exhausted int `json:"exhausted,omitempty"`
	// Stalled is the time in which the client stood still: it was stopped or frozen.
	Stalled int64 `json:"stalled,omitempty"`
	// Throttled is the time in which the client stood still because the quota of processor time of its control group was used up.
	Throttled int64 `json:"throttled,omitempty"`
	// ClockStep is the largest sampled change of wall clock minus monotonic clock during the run.
	ClockStep int64 `json:"clock_step"`
	// PeakConcurrency is exact, from a sweep over sends and ends.
	PeakConcurrency int `json:"peak_concurrency"`
	// Overloaded means that the backlog grew over the run (see the function Overloaded).
	Overloaded bool `json:"overloaded"`
	// ScheduleHash is a hash of the arrival schedule, and WorkHash of the prompts' lengths and content. They
	// show whether two sides had the same work.
	ScheduleHash string `json:"schedule_hash"`
	WorkHash     string `json:"work_hash"`
	// TimeScale is how many times faster than in the records the run was sent; lags, GC pauses and ClockStep
	// are wall time. 0 and 1 mean real time.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Dials is the number of connections opened. Redials counts those opened because the server had closed an
	// idle connection before the first byte of a response (see Request.Resent). Closed counts those that the server
	// closed after an answer, the warm-up's included.
	Dials   int `json:"dials,omitempty"`
	Redials int `json:"redials,omitempty"`
	Closed  int `json:"closed,omitempty"`
}

// Run is everything recorded in one pass of one cell.
type Run struct {
	// Duration from the first send to the last response's end, in nanoseconds.
	Duration int64 `json:"duration"`
	Requests List  `json:"requests"`
	Audit    Audit `json:"audit"`
	// Goodput holds the limits of good requests; zero without limits.
	Goodput steps.Goodput `json:"goodput,omitzero"`
}
