package load

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sort"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/cgroup"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/timer"
)

// Wall times of the driver.
const (
	// lead is the time before its send at which a request gets its connection, so that connecting does not
	// delay the schedule.
	lead = 50 * time.Millisecond
	// leastLead is that of the first request, whose connection is open before the run, and leadOfOne what each more of the
	// first ones adds, since each is prepared before the schedule begins.
	leastLead = 5 * time.Millisecond
	leadOfOne = 20 * time.Microsecond
	// alert is the time before a send at which the loop wakes, which takes some 50 µs. It busy-waits for the
	// rest, so that gaps between sends keep their distribution down to microseconds.
	alert = 80 * time.Microsecond
	// maxWarmConns limits the connections opened before the run.
	maxWarmConns = 16_384
)

// Run sends a workload and returns the results. Requests that fail are part of the result. An error means
// that the run could not be executed: bad options, a server that cannot be reached before the first request,
// or ctx done. In the last case the result holds the records so far, with requests in flight as cancelled,
// and the error wraps ctx's.
func Run(ctx context.Context, opt Options) (Result, error) {
	r, err := prepare(ctx, opt)
	if err != nil {
		return Result{}, err
	}
	defer r.client.pool.close()
	first := time.Now()
	warmup := r.warmup(ctx)
	if err := ctx.Err(); err != nil {
		return Result{Warmup: warmup}, fmt.Errorf("load: stopped in the warm-up: %w", context.Cause(ctx))
	}
	r.client.pool.warm(ctx, r.connections())
	if opt.Begin != nil {
		opt.Begin(ctx)
	}
	run := r.measure(ctx)
	if opt.Workload.Warmup == 0 {
		first = r.t0 // its schedule starts there
	}
	got := Result{Run: run, Warmup: warmup, Start: r.t0, First: first, Last: time.Now()}
	if ctx.Err() != nil {
		return got, fmt.Errorf("load: stopped: %w", context.Cause(ctx))
	}
	return got, nil
}

// runner is one run in progress.
type runner struct {
	opt      Options
	scale    float64
	endpoint endpoint
	client   *client
	work     *work
	schedule []time.Duration // model time; nil for a closed loop
	t0       time.Time
	live     live
	sessions *sessions // nil if no request waits for another

	mu    sync.Mutex
	recs  record.List // in the order of their ends
	sends sends
}

// attempt is one request in flight, with additional data for the audit.
type attempt struct {
	rec       record.Request
	lag       int64 // wall; sends behind the plan
	exhausted bool  // see [exhausted]
	coalesced coalesced
	said      json.RawMessage // if a later prompt repeats it
}

// add records a request that has ended.
func (r *runner) add(a *attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recs.Add(a.rec)
	r.sends.add(a)
}

// prepare checks the options and does all work that can precede the run: the corpus, the prompts, the bytes
// of all requests.
func prepare(ctx context.Context, opt Options) (*runner, error) {
	e, err := checkWorkload(opt)
	if err != nil {
		return nil, err
	}
	if opt.TimeScale == 0 {
		opt.TimeScale = 1
	}
	if !(opt.TimeScale > 0) || opt.TimeScale > 1e6 {
		return nil, fmt.Errorf("load: time scale %v must be above 0", opt.TimeScale)
	}
	t, err := parseTarget(opt.BaseURL)
	if err != nil {
		return nil, err
	}
	enc, err := newEncoder(opt, e, t)
	if err != nil {
		return nil, err
	}
	r := &runner{opt: opt, scale: opt.TimeScale, endpoint: e, client: &client{pool: &pool{target: t, tls: tlsConfig(opt, t)}}}
	r.client.clock = newClock(time.Now())
	if err := r.makeWork(ctx, enc); err != nil {
		r.client.pool.close()
		return nil, err
	}
	return r, nil
}

// checkWorkload returns an error for an invalid workload, for servers and models alike.
func checkWorkload(opt Options) (endpoint, error) {
	w := opt.Workload
	if err := opt.Arrivals.Check(w.Load); err != nil {
		return 0, err
	}
	if w.Warmup < 0 || w.RequestTimeout < 0 {
		return 0, errors.New("load: warm-up and request timeout must not be negative")
	}
	if err := opt.Files.Check(w.Dataset); err != nil {
		return 0, fmt.Errorf("load: %w", err)
	}
	if err := dataset.CheckEndpoint(w.Dataset, w.Endpoint); err != nil {
		return 0, fmt.Errorf("load: %w", err)
	}
	return parseEndpoint(w.Endpoint)
}

func (r *runner) makeWork(ctx context.Context, enc *encoder) error {
	c, err := corpus(ctx, r.client, enc)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	src, err := source(ctx, r.opt, c, func(ctx context.Context, texts []string) ([][]int, error) {
		return tokenizeAll(ctx, r.client, enc, texts)
	})
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	var n int
	if r.schedule, n, err = scheduleOf(r.opt, src); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if r.sessions, err = newSessions(src, r.opt.Workload.Load, n); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	r.work, err = newWork(src, enc, r.opt.seeds(), n)
	return err
}

func tlsConfig(opt Options, t target) *tls.Config {
	if !t.tls {
		return nil
	}
	cfg := &tls.Config{}
	if opt.TLS != nil {
		cfg = opt.TLS.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = t.server
	}
	cfg.NextProtos = []string{"http/1.1"}
	return cfg
}

// connections returns the number of connections to open before the run: those of the first requests. Of the others each
// is opened when its request is near. None is opened in advance, since some servers, such as llama.cpp's, keep a thread
// for each open connection, and requests on further ones wait for seconds.
func (r *runner) connections() int {
	n := maxWarmConns
	if planned := len(r.schedule); planned > 0 && r.schedule[planned-1] > 0 {
		n = min(max(1, r.first()), maxWarmConns)
	}
	if users := r.opt.Workload.Load.MaxConcurrency; users > 0 {
		n = min(n, users)
	}
	if r.work.n > 0 {
		n = min(n, r.work.n)
	}
	return n
}

// first returns the number of planned requests that are due within lead of the start.
func (r *runner) first() int {
	return sort.Search(len(r.schedule), func(i int) bool { return r.wall(r.schedule[i]) >= lead })
}

// firstLead returns the time between the end of the preparation and the start of the schedule. The server has nothing
// to do in it, so it is as short as the preparation of the first requests allows.
func (r *runner) firstLead() time.Duration {
	return min(lead, leastLead+time.Duration(r.connections())*leadOfOne)
}

// measure executes the run.
func (r *runner) measure(ctx context.Context) record.Run {
	plan := planOf(r.opt.Workload.Load, r.schedule, r.sessions)
	driver := r.newDriver(ctx, plan)
	runtime.GC() // collect the garbage of the preparation before the run
	audit := startAudit(cgroup.System{})
	r.t0 = time.Now().Add(r.firstLead())
	r.client.clock = newClock(r.t0)
	unwatch := r.client.clock.watch()
	stop := r.live.report(r.opt.Progress, r.work.n, r.t0, r.scale)
	driver.run()
	stop()
	unwatch()
	return r.finish(audit, plan)
}

// wall converts model time to wall time.
func (r *runner) wall(d time.Duration) time.Duration {
	return time.Duration(float64(d) / r.scale)
}

// sleepUntil reports false if ctx is done first.
func sleepUntil(ctx context.Context, t time.Time) bool { return timer.Sleep(ctx, time.Until(t)) == nil }
