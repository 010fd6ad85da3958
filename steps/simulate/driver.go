package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// driver runs an engine against a clock and passes its tokens to the streams of the requests.
type driver struct {
	clock clock.Clock
	fail  Failures
	log   *logger
	stats *metrics

	mu      sync.Mutex
	engine  *model.Engine
	streams map[int]*stream
	// accepted counts the requests for tokens; it is also the next request's id.
	accepted int
	// frontend is the time from the arrival of a request to the scheduler's queue.
	frontend time.Duration
	answers  int
	drops    *rand.Rand
	// made is the time when the engine was created, begun the start of its newest step.
	made, begun time.Duration
	profiling   bool

	// patience is the extra wait for messages in transit when a step begins; late records those
	// that came later.
	patience time.Duration
	late     *clock.Lateness

	wake  chan struct{} // a request was submitted, or KV arrived
	crash chan struct{} // closed when the engine dies
	dying sync.Once
	// kv moves KV between servers; nil for a single server.
	kv *transfer.Side
	// nodes holds the other nodes of a server on several nodes, else nil.
	nodes *nodes
}

// errEngineDead ends a server whose engine crashed.
var errEngineDead = errors.New("the simulated engine died as planned (crash_after)")

// errCut and errInStream end a single request for the failure "drop".
var (
	errCut      = errors.New("the stream is cut")
	errInStream = errors.New("the stream ends with an error object")
)

// token is what a step adds to an answer, on its way to a client: one token, and with speculation
// those before it.
type token struct {
	model.Event
	before []int
	at     time.Duration
}

// ids returns all tokens of the step.
func (t token) ids() []int { return append(slices.Clip(t.before), t.Token) }

// push adds an output token to the queue of the client. Tokens of one step form one event.
func (st *stream) push(ev model.Event, at time.Duration) {
	if n := len(st.queue) - 1; n >= 0 && st.queue[n].at == at {
		last := &st.queue[n]
		last.before = append(last.before, last.Token)
		last.Event = ev
		return
	}
	st.queue = append(st.queue, token{Event: ev, at: at})
}

// stream collects the tokens of one request until its handler takes them.
type stream struct {
	arrived time.Duration
	last    time.Duration
	input   int
	queue   []token
	// drop is the error that ends the stream at token dropAt, nil for none.
	drop   error
	dropAt int
	// ready holds one signal that queue has grown or the request has failed.
	ready  chan struct{}
	failed error
	// exchange of KV, nil for none.
	exchange *transfer.Exchange
}

func newDriver(cfg model.Config, seed uint64, at clock.Clock, fail Failures, log *logger, stats *metrics) (*driver, error) {
	engine, err := model.NewEngine(cfg, seed)
	if err != nil {
		return nil, err
	}
	return &driver{
		clock: at, fail: fail, log: log, stats: stats, engine: engine, frontend: cfg.Profile.Frontend, streams: make(map[int]*stream),
		made: at.Now(), patience: clock.PatienceOf(cfg, at), late: clock.NewLateness(at),
		drops: rand.New(rand.NewPCG(seed, 0x64726f70)), wake: make(chan struct{}, 1), crash: make(chan struct{}),
	}, nil
}

// run drives the engine until ctx ends or the engine dies.
func (d *driver) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-d.crash:
			cancel(errEngineDead)
		case <-ctx.Done():
		}
	}()
	free := d.made
	var events []model.Event
	for {
		step, busy, err := d.begin(ctx, free)
		if err == nil && busy {
			early := d.late.Early(d.clock, clock.Span{Start: step.Start, End: step.End})
			if err = early.SleepUntil(ctx, step.End); err == nil {
				free = step.End
				events = d.end(step, events[:0])
			}
		} else if err == nil {
			free, err = d.idle(ctx, free)
		}
		if err != nil {
			return err
		}
	}
}

// begin assembles the next step, false if there is none. The engine is free from the given time on.
// Steps begin in model time, once their requests have arrived. begin waits for messages in transit
// between processes.
func (d *driver) begin(ctx context.Context, free time.Duration) (model.Step, bool, error) {
	d.mu.Lock()
	at, ok := d.engine.NextStart(free)
	d.mu.Unlock()
	if !ok {
		return model.Step{}, false, nil
	}
	if err := d.clock.SleepUntil(ctx, at+d.patience); err != nil {
		return model.Step{}, false, err
	}
	d.mu.Lock()
	if at, ok = d.engine.NextStart(free); !ok { // its client is gone
		d.mu.Unlock()
		return model.Step{}, false, nil
	}
	step, busy := d.engine.Begin(at)
	d.begun = at
	fetches := d.engine.TakeFetches()
	d.mu.Unlock()
	d.startFetches(at, fetches)
	return step, busy, nil
}

// idle waits until something happens. Requests that lacked blocks begin at that moment, others when
// they arrived.
func (d *driver) idle(ctx context.Context, free time.Duration) (time.Duration, error) {
	d.mu.Lock()
	blocked := d.engine.Blocked()
	d.mu.Unlock()
	select {
	case <-d.wake:
	case <-ctx.Done():
		return free, context.Cause(ctx)
	}
	if blocked {
		free = max(free, d.clock.Now())
	}
	return free, nil
}

// end applies a step and delivers its tokens.
func (d *driver) end(step model.Step, events []model.Event) []model.Event {
	d.mu.Lock()
	events = d.engine.End(events)
	var done []completed
	for _, ev := range events {
		if st := d.streams[ev.ID]; ev.Last && st != nil && st.exchange != nil {
			done = append(done, completed{ev.ID, st, ev})
		} else if st == nil && ev.Blocks != nil {
			d.engine.Release(ev.ID) // its client is gone, and no peer will ask
		}
	}
	d.mu.Unlock()
	d.handOver(step.End, done)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, ev := range events {
		st, ok := d.streams[ev.ID]
		if !ok {
			continue
		}
		d.stats.observe(ev, st, step.End)
		st.last = step.End
		st.push(ev, step.End)
		if ev.Last {
			delete(d.streams, ev.ID)
		}
		st.signal()
	}
	d.log.step(step, d.engine.Stats())
	return events
}

// generate serves one prompt that came at the given time and calls each for every token, in order,
// on the caller's goroutine. It stops at the first error of each, at the end of ctx, or at an
// injected failure.
func (d *driver) generate(ctx context.Context, at time.Duration, prompt []int, output int, x *transfer.Exchange,
	each func(token) error) error {
	id, st, err := d.submit(at, prompt, output, x)
	if err != nil {
		return err
	}
	defer d.abandon(id)
	for {
		select {
		case <-st.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-d.crash:
			return errEngineDead
		}
		d.mu.Lock()
		tokens, failed := st.queue, st.failed
		st.queue = nil
		d.mu.Unlock()
		if failed != nil {
			return failed
		}
		for _, t := range tokens {
			if st.drop != nil && t.Index >= st.dropAt {
				return st.drop
			}
			if err := each(t); err != nil {
				return err
			}
			d.late.Left(d.clock.Now() - t.at)
			if t.Last {
				return nil
			}
		}
	}
}

// submit passes a request to the engine, and draws whether and where to drop it.
func (d *driver) submit(at time.Duration, prompt []int, output int, x *transfer.Exchange) (id int, st *stream, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id = d.accepted
	request := model.Request{ID: id, Input: len(prompt), Output: output, IDs: prompt}
	if x != nil {
		request.Remote, request.Hold = x.From != nil, x.Hold
	}
	if err = d.engine.Submit(at, request); err != nil {
		return 0, nil, err
	}
	d.accepted++
	if d.accepted == d.fail.CrashAfter {
		d.die()
	}
	if d.accepted == d.fail.NodeDies {
		d.nodes.die()
	}
	if ready := at + d.frontend; ready <= d.begun {
		d.late.Miss(d.clock.Now() - ready - d.patience)
	}
	st = &stream{arrived: at, input: len(prompt), ready: make(chan struct{}, 1), exchange: x}
	if d.drops.Float64() < d.fail.Drop {
		st.dropAt, st.drop = d.drops.IntN(output), errCut
		if d.drops.IntN(2) == 0 {
			st.drop = errInStream
		}
	}
	d.streams[id] = st
	d.signal()
	return id, st, nil
}

// abandon drops a request whose handler has ended; completed ones are already unknown.
func (d *driver) abandon(id int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, open := d.streams[id]; open {
		delete(d.streams, id)
		d.engine.Abort(id)
	}
}

func (d *driver) resetPrefixCache() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.engine.ResetPrefixCache()
}

func (d *driver) snapshot() model.Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.engine.Stats()
}

// nextAnswer returns the number of the next answer, for its id.
func (d *driver) nextAnswer() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers++
	return d.answers
}

// throughput returns the value of SGLang's last decode line, in output tokens per second of model
// time.
func (d *driver) throughput() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.throughput
}
