// Package record holds what the load generator wrote down about every request of a
// run, and reduces it to metric values. All metrics are computed here and only here,
// from records, so that a live run, a stored run and an imported file share one
// definition of each metric.
//
//	values := record.Reduce(run)         // values["ttft.p99"] in seconds
//	err := record.Write(file, record.Header{}, run)
//
// All times are nanoseconds on one monotonic clock whose zero is the start of the run.
// The package does not send requests (see steps/load), does not compare runs (see gates)
// and opens no files.
package record

import "github.com/servegate/pipeline/steps"

// Request is one request as the client saw it. Times are nanoseconds since the start
// of the run; -1 means that the event never happened.
type Request struct {
	Index int `json:"i"`
	// Planned is the arrival time of the schedule.
	Planned int64 `json:"planned"`
	// Sent is just before the first byte was written, after any wait for a free
	// concurrency slot (the clock start of `vllm bench serve`).
	Sent int64 `json:"sent"`
	// Headers is the arrival of the response's status line.
	Headers int64 `json:"headers"`
	// Done is the end of the response (last byte, or the failure).
	Done int64 `json:"done"`
	// Resent is whether it was sent again because a connection that had been idle was closed
	// without an answer.
	Resent bool `json:"resent,omitempty"`
	// Events are the token-bearing stream events, in order. An answer that is not made of
	// tokens (an embedding) is one event without a token: it has an end, and no first token.
	Events []Event `json:"ev"`

	PromptTokens int `json:"prompt"`
	// WantTokens is the requested output length.
	WantTokens int `json:"want"`
	// OutputTokens is the server's own count (usage); 0 when it gave none.
	OutputTokens int `json:"output"`
	// CachedTokens as reported by the server, -1 if it does not say.
	CachedTokens int `json:"cached"`

	Status int `json:"status"`
	// Finish is the finish reason ("length", "stop", ...), "" if none was seen.
	Finish string `json:"finish,omitempty"`
	// Failure is "" for a success, otherwise a class (see Failure constants).
	Failure Failure `json:"failure,omitempty"`
	// Error is a short text for people, bounded in length.
	Error string `json:"error,omitempty"`
	// Asked is a hash of the prompt, 0 where it is not known. Continues is whether the prompt
	// repeats what the server answered before, so that its length is the server's doing.
	Asked     uint32 `json:"asked,omitempty"`
	Continues bool   `json:"continues,omitempty"`
	// Text describes the text of a streamed answer; nil where it is not known.
	Text *Text `json:"text,omitempty"`
	// Answer is what was answered, where that was collected.
	Answer *Answer `json:"answer,omitempty"`
	// Session is the number of the session that it is part of; nil outside of sessions, and of
	// those that the end of the run cut.
	Session *int `json:"session,omitempty"`
}

// Text describes the text of an answer: content, reasoning and tool calls in the order of their
// events. The text itself is not kept.
type Text struct {
	// Chars is the number of characters that are visible: neither space nor control.
	Chars int `json:"n"`
	// Sum is a hash of the text, Begin one of its first bytes (see BeginBytes), and First one of the very first
	// (see FirstBytes).
	Sum   uint32 `json:"sum"`
	Begin uint32 `json:"begin"`
	First uint32 `json:"first"`
	// Blank is the number of events before the first one with a visible character.
	Blank int `json:"blank,omitempty"`
}

// BeginBytes is the number of bytes of a text that Text.Begin covers.
const BeginBytes = 32

// FirstBytes is the number of bytes of a text that Text.First covers: those of the first token, mostly.
const FirstBytes = 4

// First returns the event that ends the time to first token: the first one with visible text. An
// answer of which no text is known, or that has none, is timed by its first event. A request without
// events has no First.
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

// Answer is what was answered to a request.
type Answer struct {
	// Ask is the end of the prompt, where it is a text.
	Ask  string `json:"ask,omitempty"`
	Text string `json:"text"`
	// Sum is a hash of a text of which Text is only the beginning.
	Sum string `json:"sum,omitempty"`
	// Ended is whether the model ended the answer itself, before the limit of its length.
	Ended bool `json:"ended,omitempty"`
	// Tokens are the chosen tokens as the server names them, by their texts or ids, and Logprobs
	// their log-probabilities; nil where it gives none.
	Tokens   []string  `json:"tokens,omitempty"`
	Logprobs []float64 `json:"logprobs,omitempty"`
}

// Event is one stream event that carried tokens.
type Event struct {
	// At is the arrival time in nanoseconds since the start of the run.
	At int64 `json:"t"`
	// Tokens is the cumulative number of output tokens after this event, when the
	// server says so (continuous usage), otherwise the count of events so far.
	Tokens int `json:"n"`
}

// Failure classes a request's failure. The empty value is success.
type Failure string

// The failure classes. Success is judged strictly: 2xx, no error object in the
// stream, a finish reason, at least one token, no more tokens than asked for, and the full
// length with ignore_eos.
const (
	FailConnect     Failure = "connect"      // could not connect, or reset before headers
	FailStatus      Failure = "status"       // not 2xx
	FailStreamError Failure = "stream_error" // an error object inside a 200
	FailCut         Failure = "cut"          // the stream ended without finish reason or [DONE]
	FailEmpty       Failure = "empty"        // finished without a token
	FailShort       Failure = "short"        // fewer tokens than asked for, with ignore_eos
	FailLong        Failure = "long"         // more tokens than asked for
	FailGarbage     Failure = "garbage"      // not the protocol that was asked for
	FailTimeout     Failure = "timeout"      // the request's own deadline passed
	FailAborted     Failure = "aborted"      // the engine aborted it (finish reason abort)
	FailCancelled   Failure = "cancelled"    // we stopped the run
)

// Audit is the client's account of itself: whether the client, not the server, was
// the limit. Times in nanoseconds.
type Audit struct {
	// Clock names where arrival times come from: "kernel" (receive time stamps of the
	// socket) or "user" (time of the read).
	Clock string `json:"clock"`
	// UserReads is the number of reads that had no kernel stamp where Clock is "kernel",
	// of Reads in all. Their time is that of the read.
	UserReads int `json:"user_reads,omitempty"`
	Reads     int `json:"reads,omitempty"`
	// ReadLag is how long after the kernel's stamp the client read, to an eighth. With
	// the kernel's clock it is no error of the times, but says how busy the client was.
	ReadLagP50 int64 `json:"read_lag_p50,omitempty"`
	ReadLagP99 int64 `json:"read_lag_p99,omitempty"`
	ReadLagMax int64 `json:"read_lag_max,omitempty"`
	// Lag of sends behind the plan (open loop; waits for a concurrency slot, or for the
	// answer that a turn repeats, excluded).
	LagP50 int64 `json:"lag_p50"`
	LagP99 int64 `json:"lag_p99"`
	LagMax int64 `json:"lag_max"`
	// PlannedRate and RealisedRate in requests per second; 0 for an unlimited rate.
	PlannedRate  float64 `json:"planned_rate"`
	RealisedRate float64 `json:"realised_rate"`
	// CoalescedReads is the number of stream events that shared a read with an earlier
	// one (their times are equal, so gaps are understated), of Events in all.
	CoalescedReads int `json:"coalesced_reads"`
	Events         int `json:"events"`
	// CoalescedMean and CoalescedMax bound the error that this causes: how long before
	// its time such an event can have arrived.
	CoalescedMean int64 `json:"coalesced_mean,omitempty"`
	CoalescedMax  int64 `json:"coalesced_max,omitempty"`
	// GCPauseTotal and GCPauseMax during the run.
	GCPauseTotal int64 `json:"gc_pause_total"`
	GCPauseMax   int64 `json:"gc_pause_max"`
	// CPUSeconds is the client's CPU use (user and system) during the run.
	CPUSeconds float64 `json:"cpu_seconds"`
	// WallSeconds is the time that the run took on the client's clock, unscaled.
	WallSeconds float64 `json:"wall_seconds,omitempty"`
	// SocketErrors is the number of requests that a connection failed: not made, reset
	// or cut.
	SocketErrors int `json:"socket_errors,omitempty"`
	// ClockStep is the largest change of wall clock minus monotonic clock, sampled over
	// the run.
	ClockStep int64 `json:"clock_step"`
	// PeakConcurrency by event sweep over sends and ends, exact.
	PeakConcurrency int `json:"peak_concurrency"`
	// Overloaded is true when the backlog grew over the run (see load).
	Overloaded bool `json:"overloaded"`
	// ScheduleHash is a hash of the arrival schedule, WorkHash of the prompts' lengths
	// and content, so that two sides can be shown to have had the same work.
	ScheduleHash string `json:"schedule_hash"`
	WorkHash     string `json:"work_hash"`
	// TimeScale is how many times faster than the records say the run was sent; lags,
	// GC pauses and ClockStep are wall time. 0 and 1 mean real time.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Dials is the number of connections opened, Redials those opened because a connection that
	// had been idle was closed by the server before the first byte of an answer (see Request.Resent).
	Dials   int `json:"dials,omitempty"`
	Redials int `json:"redials,omitempty"`
}

// Run is everything recorded in one pass of one cell.
type Run struct {
	// Duration from the first send to the last response's end, in nanoseconds.
	Duration int64     `json:"duration"`
	Requests []Request `json:"requests"`
	Audit    Audit     `json:"audit"`
	// Goodput are the limits that good requests keep; zero without.
	Goodput steps.Goodput `json:"goodput,omitzero"`
}
