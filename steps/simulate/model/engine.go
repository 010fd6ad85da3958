package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Engine simulates the scheduler of one server in virtual time. The caller drives it: Submit
// requests, Begin a step, let its time pass, End it.
//
// It is not safe for concurrent use.
type Engine struct {
	cfg   Config
	noise *noiseSource
	pool  *blockPool
	draws *rand.Rand // decide which drafts are accepted
	// now is the start of the last step, or the time of the last attempt to begin one.
	now time.Duration
	// pending requests are in the front end, in order of readiness.
	pending []*sequence
	// waiting requests are in order of arrival; preempted ones go to the front.
	waiting []*sequence
	// running sequences are in order of admission.
	running []*sequence
	// fetching sequences have their blocks and wait for KV from another server.
	fetching []*sequence
	// fetched sequences have their KV, or get it at their ready time, and wait for admission to the
	// batch.
	fetched []*sequence
	// held sequences are complete, but another server has not yet fetched their KV.
	held []*sequence
	// wanted holds the requests whose transfer must start; see TakeFetches.
	wanted []int
	// plan of the current step, nil between steps.
	plan  []slice
	stats Stats
	// record of the steps in a span of time, nil if none is recorded.
	record *record
}

// Request is a request to serve.
type Request struct {
	ID int
	// Input is the length of the prompt in tokens, Output the number of tokens to generate.
	Input, Output int
	// IDs are the prompt's tokens (length Input). Without them the content counts as unique and
	// bypasses the prefix cache.
	IDs []int
	// Remote requests get the KV of their prompt from another server: see TakeFetches and, with
	// Config.BlockingTransfer, Step.Fetches.
	Remote bool
	// Hold retains the KV after the last token until Release.
	Hold bool
}

// Event is one token that a step generated.
type Event struct {
	ID int
	// Index of the token in its output, from 0.
	Index int
	// Token is the token's ID; 0 for requests without IDs.
	Token int
	// Cached is the number of the request's prompt tokens from the prefix cache.
	Cached int
	// Waited is the time from the request's arrival at the scheduler to its first step.
	Waited time.Duration
	// Last is true for the last token of the request.
	Last bool
	// Blocks holds the KV blocks of a complete request with Hold, before they are released.
	Blocks []int32
}

// Step is one forward pass.
type Step struct {
	Start, End time.Duration
	// PrefillTokens and DecodeTokens are the numbers of tokens computed in the step.
	PrefillTokens, DecodeTokens int
	// Sequences is the number of sequences in the step.
	Sequences int
	// Fetches are the requests of this step whose KV must arrive before the step can end (only with
	// Config.BlockingTransfer). Fetched must follow.
	Fetches []int
	// Prompts are the requests whose prompt is complete at the end of this step.
	Prompts []int
}

// Shift moves a step to now if it was planned for an earlier start.
func (s Step) Shift(now time.Duration) Step {
	if late := now - s.Start; late > 0 {
		s.Start, s.End = s.Start+late, s.End+late
	}
	return s
}

// Stats holds counters since the start, unless a field describes the current state.
type Stats struct {
	// Running and Waiting are the current numbers of sequences.
	Running, Waiting int
	// Held is the number of complete sequences whose KV has not been fetched.
	Held int
	// KVUsage is the share of KV blocks in use now.
	KVUsage      float64
	PromptTokens int // of complete first prefills, including cached tokens
	OutputTokens int
	Preemptions  int
	// PrefixQueries and PrefixHits count prompt tokens at admission.
	PrefixQueries, PrefixHits int
	// Queued counts requests at their first admission, and QueueTime is the sum of their waiting
	// times.
	Queued    int
	QueueTime time.Duration
	// ExternalQueries and ExternalHits count prompt tokens that were requested from, and received
	// from, another server.
	ExternalQueries, ExternalHits int
	Steps                         int
	// Busy is the total time of all steps.
	Busy   time.Duration
	Drafts Drafts
}

// sequence is a request with its state.
type sequence struct {
	req   Request
	ready time.Duration
	// ids holds the end of the prompt, as much as a block or the next token depends on, and the output; nil if the content
	// is unknown.
	ids    []int
	hashes []uint64 // of the full blocks of prompt and output
	blocks []int32
	// computed is the number of tokens whose KV is in blocks.
	computed int
	produced int
	turns    turns // of ids
	// cached is the number of cached prompt tokens at the first admission, -1 before it.
	cached  int
	waited  time.Duration
	planned bool
	aborted bool
}

func (s *sequence) total() int { return s.req.Input + s.produced }

// decoding reports whether only the newest token is left to compute.
func (s *sequence) decoding() bool { return s.produced > 0 && s.computed == s.total()-1 }

// slice is the part of a step that belongs to one sequence.
type slice struct {
	seq    *sequence
	tokens int
	// drafts is the number of draft tokens that the step verifies after them.
	drafts int
	// prefill distinguishes a chunk of a prompt from a decode, also if the prefix cache left one
	// token of it.
	prefill bool
	// fetch marks a prompt whose KV arrives from another server within the step.
	fetch bool
}

// ErrTooLong reports that a request exceeds the model's maximum length.
var ErrTooLong = errors.New("the request is longer than the model's maximum length")

// NewEngine returns an idle engine. launchSeed seeds the noise of this launch.
func NewEngine(cfg Config, launchSeed uint64) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("simulated engine: %w", err)
	}
	return &Engine{cfg: cfg, noise: newNoiseSource(cfg.Noise, launchSeed), pool: newBlockPool(cfg.KVBlocks, cfg.PrefixCache),
		draws: newDraws(launchSeed)}, nil
}

// Submit adds a request that arrives at the given time. It reaches the scheduler after the
// profile's Frontend time.
func (e *Engine) Submit(at time.Duration, r Request) error {
	if r.Input < 1 || r.Output < 1 {
		return fmt.Errorf("request %d: input (%d) and output (%d) must be at least one token", r.ID, r.Input, r.Output)
	}
	if r.Input+r.Output > e.cfg.MaxModelLen {
		return fmt.Errorf("request %d: %w (%d + %d > %d)", r.ID, ErrTooLong, r.Input, r.Output, e.cfg.MaxModelLen)
	}
	if r.IDs != nil && len(r.IDs) != r.Input {
		return fmt.Errorf("request %d: %d token ids given for an input of %d", r.ID, len(r.IDs), r.Input)
	}
	s := &sequence{req: r, ready: at + e.cfg.Profile.Frontend, cached: -1}
	if r.IDs != nil {
		end := r.IDs[max(0, len(r.IDs)-max(e.cfg.BlockSize, near)):]
		s.ids = append(make([]int, 0, len(end)+r.Output), end...)
		if e.cfg.PrefixCache {
			s.hashes = hashBlocks(0, r.IDs, e.cfg.BlockSize)
		}
	}
	e.pending = insertReady(e.pending, s)
	return nil
}

// insertReady inserts s in the order of readiness, after sequences of the same time.
func insertReady(queue []*sequence, s *sequence) []*sequence {
	i := len(queue)
	for i > 0 && queue[i-1].ready > s.ready {
		i--
	}
	return slices.Insert(queue, i, s)
}

// NextReady returns the time when the next request reaches the scheduler, or its KV arrives. It
// returns false if there is none.
func (e *Engine) NextReady() (next time.Duration, ok bool) {
	if len(e.pending) > 0 {
		next, ok = e.pending[0].ready, true
	}
	if len(e.fetched) > 0 && (!ok || e.fetched[0].ready < next) {
		next, ok = e.fetched[0].ready, true
	}
	return next, ok
}

// NextStart returns when the next step can begin on an engine that is free from the given time: at
// once if requests wait, else when the next one is ready. It returns false if there is none.
func (e *Engine) NextStart(free time.Duration) (time.Duration, bool) {
	if len(e.running)+len(e.waiting) > 0 {
		return free, true
	}
	next, ok := e.NextReady()
	return max(free, next), ok
}

// Blocked reports whether requests wait. If no step can start, the blocks are held by others.
func (e *Engine) Blocked() bool { return len(e.running)+len(e.waiting) > 0 }

// Begin schedules a step at now. It returns false if there is no work. End must follow.
func (e *Engine) Begin(now time.Duration) (Step, bool) {
	e.now = now
	for len(e.pending) > 0 && e.pending[0].ready <= now {
		e.waiting = append(e.waiting, e.pending[0])
		e.pending = e.pending[1:]
	}
	e.schedule()
	if len(e.plan) == 0 {
		return Step{}, false
	}
	step := Step{Start: now, Sequences: len(e.plan)}
	w := work{window: e.cfg.Shape.Window}
	for _, sl := range e.plan {
		if sl.seq.produced == 0 && sl.seq.computed+sl.tokens == sl.seq.total() {
			step.Prompts = append(step.Prompts, sl.seq.req.ID)
		}
		switch {
		case sl.fetch:
			step.Fetches = append(step.Fetches, sl.seq.req.ID)
		case sl.prefill:
			w.addPrefill(sl.seq.computed, sl.tokens)
		default:
			w.addDecode(sl.seq.computed, sl.tokens+sl.drafts)
		}
	}
	// If all KV comes from another server, the model does not run: only the host's time remains.
	d := e.cfg.Profile.KernelOverhead + time.Duration(len(e.plan))*e.cfg.Profile.SequenceOverhead
	if w.sequences > 0 {
		d = e.cfg.stepTime(w) + e.cfg.draftTime(e.plan)
	}
	d = time.Duration(float64(d) * e.noise.factor(now))
	e.stats.Steps++
	e.stats.Busy += d
	step.End, step.PrefillTokens, step.DecodeTokens = now+d, w.prefillTokens, w.decodeTokens
	e.record.add(e.cfg, step, w)
	return step, true
}

// End applies the step that Begin returned and appends its tokens to events.
func (e *Engine) End(events []Event) []Event {
	finished := false
	for _, sl := range e.plan {
		s := sl.seq
		s.planned = false
		if s.aborted {
			finished = true
			continue
		}
		s.computed += sl.tokens
		e.publish(s)
		if s.computed < s.total() {
			continue // a chunk in the middle of a prompt
		}
		events = append(events, e.emit(s))
		events = e.verify(s, sl.drafts, events)
		finished = finished || s.produced == s.req.Output
	}
	e.plan = e.plan[:0]
	if finished {
		e.running = slices.DeleteFunc(e.running, func(s *sequence) bool {
			if !s.aborted && s.produced < s.req.Output {
				return false
			}
			if s.req.Hold && !s.aborted {
				e.held = append(e.held, s)
				return true
			}
			e.pool.release(s.blocks)
			s.blocks = nil
			return true
		})
	}
	return events
}

// emit generates the next token of s.
func (e *Engine) emit(s *sequence) Event {
	if s.produced == 0 {
		e.stats.PromptTokens += s.req.Input
	}
	ev := Event{ID: s.req.ID, Index: s.produced, Cached: s.cached, Waited: s.waited}
	if s.ids != nil {
		if s.produced == 0 {
			s.turns = e.cfg.Voice.turnsOf(s.req.IDs, s.req.Output)
		}
		length := s.req.Input + s.produced
		ev.Token = e.cfg.Voice.next(s.ids, length, s.produced, s.turns)
		s.ids = append(s.ids, ev.Token)
		if e.cfg.PrefixCache && (length+1)%e.cfg.BlockSize == 0 {
			s.hashes = append(s.hashes, Hash(lastOf(s.hashes), s.ids[len(s.ids)-e.cfg.BlockSize:]))
		}
	}
	s.produced++
	e.stats.OutputTokens++
	ev.Last = s.produced == s.req.Output
	if ev.Last && s.req.Hold {
		ev.Blocks = slices.Clone(s.blocks)
	}
	return ev
}

// publish adds the full blocks of s to the prefix cache.
func (e *Engine) publish(s *sequence) {
	if !e.cfg.PrefixCache {
		return
	}
	full := min(s.computed/e.cfg.BlockSize, len(s.hashes))
	for i := full - 1; i >= 0 && e.pool.blocks[s.blocks[i]].hash == 0; i-- {
		e.pool.publish(s.blocks[i], s.hashes[i])
	}
}

// Abort drops a request. It returns false if the engine does not have it.
func (e *Engine) Abort(id int) bool {
	match := func(s *sequence) bool { return s.req.ID == id }
	for _, queue := range []*[]*sequence{&e.pending, &e.waiting, &e.fetching, &e.fetched, &e.held} {
		if i := slices.IndexFunc(*queue, match); i >= 0 {
			e.pool.release((*queue)[i].blocks)
			*queue = slices.Delete(*queue, i, i+1)
			return true
		}
	}
	i := slices.IndexFunc(e.running, match)
	if i < 0 || e.running[i].aborted {
		return false
	}
	s := e.running[i]
	s.aborted = true
	if !s.planned { // otherwise the end of the step removes it
		e.pool.release(s.blocks)
		e.running = slices.Delete(e.running, i, i+1)
	}
	return true
}

// ResetPrefixCache clears cached content. It returns false while requests run.
func (e *Engine) ResetPrefixCache() bool { return e.pool.reset() }

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	st := e.stats
	st.Drafts.Positions = slices.Clone(st.Drafts.Positions)
	st.Running, st.Held, st.KVUsage = len(e.running), len(e.held), e.pool.usage()
	st.Waiting = len(e.waiting) + len(e.fetching) + len(e.fetched)
	return st
}

func lastOf(hashes []uint64) uint64 {
	if len(hashes) == 0 {
		return 0
	}
	return hashes[len(hashes)-1]
}
