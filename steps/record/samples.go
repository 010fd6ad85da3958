package record

import "iter"

// Samples are the pooled observations of a run for its latency metrics, in seconds and in request order. Only
// successful requests contribute. A slice is empty without observations.
type Samples struct {
	// TTFT is the first event with text − Sent, per request (see [Request.First]). A server that sends an empty
	// token early gains nothing.
	TTFT []float64
	// TPOT is (last event − first event)/(n−1) per request with n > 1 output tokens by the server's usage:
	// vLLM's (latency − ttft)/(output_len − 1). It counts time and tokens from the first event with text. It
	// excludes requests whose tokens all arrived at one time, which vLLM counts as 0.
	TPOT []float64
	// OnePiece is the number of requests with n > 1 output tokens that all arrived at one time.
	OnePiece int
	// ITL is the gap between successive token-bearing events, pooled over requests.
	ITL []float64
	// ITLToken is ITL divided evenly over the tokens of an event, once per token: with cumulative counts,
	// gap/Δn repeated Δn times, as SGLang 0.5.23 defines it. It is empty if any successful request's counts are
	// not exact.
	ITLToken []float64
	// E2EL is last token-bearing event − Sent, per request. It excludes the later usage chunk and [DONE].
	E2EL []float64
	// TTFTFromSchedule and E2ELFromSchedule count from Planned instead of Sent; Queue is Sent − Planned. Empty
	// for a closed loop, which has no plan.
	TTFTFromSchedule []float64
	E2ELFromSchedule []float64
	Queue            []float64
}

// mostInOnePiece is the largest share of multi-token requests that may get all tokens at one time before the
// token times of the others stop being representative.
const mostInOnePiece = 0.1

// Untimed reports whether too many requests got all their tokens at one time, so the times between tokens are
// unknown. A proxy, a streaming interval, or a late server or client can gather tokens, and would look like a
// fast server.
func (s *Samples) Untimed() bool {
	return float64(s.OnePiece) > mostInOnePiece*float64(s.OnePiece+len(s.TPOT))
}

// OnePiece counts the requests of a run with several tokens that all arrived at one time.
func OnePiece(run Run) int {
	n := 0
	for _, r := range run.Requests.All() {
		if r.Failure == "" && r.onePiece() {
			n++
		}
	}
	return n
}

func (r *Request) onePiece() bool {
	return len(r.Events) > 0 && r.following() > 0 && r.First().At == r.Events[len(r.Events)-1].At
}

// seconds converts a difference of record times.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Collect pools the observations of a run.
func Collect(run Run) Samples {
	s := latencies(run)
	for gap := range gaps(run) {
		s.ITL = append(s.ITL, seconds(gap))
	}
	s.ITLToken = tokenGaps(run)
	return s
}

// latencies pools the observations of a run that each request has once. Those per event, per token and per session are
// pooled one by one, since each can take much memory.
func latencies(run Run) Samples {
	var s Samples
	grow := func(lists ...*[]float64) {
		for _, list := range lists {
			*list = make([]float64, 0, run.Requests.Len())
		}
	}
	for r := range successes(run) {
		if s.E2EL == nil {
			grow(&s.TTFT, &s.TPOT, &s.E2EL)
		}
		if s.Queue == nil && r.Planned >= 0 {
			grow(&s.TTFTFromSchedule, &s.E2ELFromSchedule, &s.Queue)
		}
		s.addRequest(r)
	}
	return s
}

// successes yields the requests that contribute to samples.
func successes(run Run) iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for _, r := range run.Requests.All() {
			if r.Failure == "" && len(r.Events) > 0 && r.Sent >= 0 && !yield(r) {
				return
			}
		}
	}
}

// followingTokens counts the tokens after the first event of each request, and reports whether all counts are exact.
func followingTokens(run Run) (tokens int, exact bool) {
	for r := range successes(run) {
		if !countsExact(r) {
			return 0, false
		}
		tokens += max(0, r.Events[len(r.Events)-1].Tokens-r.Events[0].Tokens)
	}
	return tokens, true
}

// sessionTimes returns the durations of the sessions of a run, each from its first send to its last event with tokens, in
// the order of their first requests. A session with a failed request has none.
func sessionTimes(run Run) []float64 {
	type span struct {
		from, to int64
		failed   bool
	}
	spans := map[int]*span{}
	var order []int
	for _, r := range run.Requests.All() {
		if r.Session == nil {
			continue
		}
		s := spans[*r.Session]
		if s == nil {
			s = &span{from: r.Sent, to: r.Sent}
			spans[*r.Session], order = s, append(order, *r.Session)
		}
		if s.failed = s.failed || r.Failure != "" || len(r.Events) == 0 || r.Sent < 0; !s.failed {
			s.from, s.to = min(s.from, r.Sent), max(s.to, r.Events[len(r.Events)-1].At)
		}
	}
	var out []float64
	for _, number := range order {
		if s := spans[number]; !s.failed {
			out = append(out, seconds(s.to-s.from))
		}
	}
	return out
}

func (s *Samples) addRequest(r *Request) {
	first, last := r.First().At, r.Events[len(r.Events)-1].At
	generated := r.First().Tokens > 0
	if generated {
		s.TTFT = append(s.TTFT, seconds(first-r.Sent))
	}
	s.E2EL = append(s.E2EL, seconds(last-r.Sent))
	switch {
	case r.following() < 1:
	case r.onePiece():
		s.OnePiece++
	default:
		s.TPOT = append(s.TPOT, seconds(last-first)/float64(r.following()))
	}
	if r.Planned >= 0 {
		if generated {
			s.TTFTFromSchedule = append(s.TTFTFromSchedule, seconds(first-r.Planned))
		}
		s.E2ELFromSchedule = append(s.E2ELFromSchedule, seconds(last-r.Planned))
		s.Queue = append(s.Queue, seconds(r.Sent-r.Planned))
	}
}

// countsExact reports whether the last cumulative count equals the server's own total. Without continuous
// usage, events are counted; then the counts are exact only if every event brought one token.
func countsExact(r *Request) bool {
	return r.OutputTokens > 0 && r.Events[len(r.Events)-1].Tokens == r.OutputTokens
}

// gaps yields the times between the events of each request in nanoseconds, see [Samples.ITL].
func gaps(run Run) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for r := range successes(run) {
			for k := 1; k < len(r.Events); k++ {
				if !yield(r.Events[k].At - r.Events[k-1].At) {
					return
				}
			}
		}
	}
}

// shape returns the number of gaps in a run and the longest gap. one reports whether the gaps between events equal the gaps
// between tokens: each event after a request's first brought one token, and the counts are exact.
func shape(run Run) (n int, longest uint64, one bool) {
	one = true
	for r := range successes(run) {
		one = one && countsExact(r)
		for k := 1; k < len(r.Events); k++ {
			before, e := r.Events[k-1], r.Events[k]
			longest = max(longest, uint64(e.At-before.At)) // a negative one is the longest
			one = one && e.Tokens == before.Tokens+1
		}
		n += len(r.Events) - 1
	}
	return n, longest, one
}

// tokenGaps pools the per-token gaps, see [Samples.ITLToken]. An event without a token does not end a gap, as in SGLang's
// client.
func tokenGaps(run Run) []float64 {
	tokens, exact := followingTokens(run)
	if !exact {
		return nil
	}
	out := make([]float64, 0, tokens)
	for r := range successes(run) {
		at, n := r.Events[0].At, r.Events[0].Tokens
		for _, e := range r.Events[1:] {
			d := e.Tokens - n
			if d <= 0 {
				continue
			}
			gap := seconds(e.At-at) / float64(d)
			for range d {
				out = append(out, gap)
			}
			at, n = e.At, e.Tokens
		}
	}
	return out
}
