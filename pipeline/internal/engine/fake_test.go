package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

const (
	base = `server.fake.sut["base"]`
	head = `server.fake.sut["head"]`
	same = `server.fake.sut["same"]`

	// mirrored is a seed with which base and head are drawn in the order base, head, head, base, base, head and so on
	// for the first 12 repeats, so that tests can say what comes when.
	mirrored = 224
)

// makePlan builds the plan of one benchmark on some sides (the first is the base) with
// one cell for each rate.
func makePlan(t *testing.T, sides []string, rates []float64, repeats int) *plan.Plan {
	t.Helper()
	cfg := &config.Config{Settings: config.Settings{Alpha: 0.05, Description: "a test"}}
	bm := &config.Benchmark{
		Addr: "benchmark.serve", RepeatMin: repeats, RepeatMax: repeats, Seed: mirrored, Timeout: 10 * time.Minute,
		Axes: []config.Axis{{Name: "side", Values: sides}, {Name: "rate"}},
	}
	m, _ := metric.Lookup("ttft.p50")
	gate := &config.Gate{
		Addr: "gate.ttft", Benchmark: bm.Addr, Baseline: "baseline.paired.base", Metrics: []metric.Metric{m},
		Terms:   gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
		Actions: result.Actions{OnRegression: result.Fail, OnInconclusive: result.Warn, OnMissing: result.Fail, OnInvalid: result.Fail},
	}
	cfg.Baselines = []*config.Baseline{{Addr: gate.Baseline, Kind: "paired", Axis: "side", Value: sides[0]}}
	for _, side := range sides {
		cfg.Servers = append(cfg.Servers, &config.Server{
			Addr: side, Kind: steps.Kind{Name: "fake"},
			Spec: steps.ServerSpec{Addr: side, Engine: "fake", Executable: []string{"fake"}, Model: "m"},
		})
		for _, rate := range rates {
			gate.Cells = append(gate.Cells, len(bm.Cells))
			bm.Cells = append(bm.Cells, config.Cell{
				Values: []result.AxisValue{{Name: "side", Value: side}, {Name: "rate", Value: fmt.Sprint(rate)}},
				Target: side,
				Workload: steps.Workload{
					Endpoint: "completions", Dataset: steps.Dataset{Kind: "random", InputMin: 8, InputMax: 8, OutputMin: 2, OutputMax: 2},
					Load: steps.Load{Arrival: "poisson", Rate: rate, Requests: 4},
				},
			})
		}
	}
	cfg.Benchmarks, cfg.Gates = []*config.Benchmark{bm}, []*config.Gate{gate}
	p, diags := plan.Build(cfg, plan.Options{File: "test.hcl"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

// behaviour of one launch of a target.
type behaviour struct {
	refuse    error         // the launcher cannot start it
	startup   time.Duration // until ready; 5 s unless set
	exitAfter time.Duration // dies by itself before that
	never     bool          // never ready
	ignores   bool          // needs the whole grace to stop
	unstop    bool          // cannot be stopped
	log       string
	// paused answers the n-th question (from 1) about pauses: the first is asked when the server
	// is ready, then one before and one after each run; nil for a server that is not asked.
	paused  func(n int) (string, error)
	starved string         // what the kernel killed of it
	runs    map[int]string // what goes wrong in the n-th run (from 1) of the launch
}

// world is everything outside of the engine: launcher, engine, load generator.
type world struct {
	// behave is asked for the n-th launch (from 1) of a target.
	behave func(target string, n int) behaviour
	// onRun, if not nil, is called when a run begins.
	onRun func(n int)

	mu       sync.Mutex
	counts   map[string]int
	launched []string // target addresses in order
	loads    []string // "target seed"
	living   map[string]*fakeServer
	resets   int
}

func newWorld() *world {
	return &world{
		counts: map[string]int{}, living: map[string]*fakeServer{},
		behave: func(string, int) behaviour { return behaviour{} },
	}
}

func (w *world) target(addr string, _ config.Outputs) (engine.TargetSpec, error) {
	return single(engine.Member{
		Name: addr, Role: result.RoleServer,
		Spec: steps.ServerSpec{
			Addr: addr, Model: "m", StopGrace: 20 * time.Second,
			Ready: steps.Readiness{Timeout: 2 * time.Minute, Interval: time.Second},
		},
		Engine: fakeEngine{w}, Launcher: fakeLauncher{w, addr},
	}), nil
}

type fakeServer struct {
	behaviour
	url    string
	ready  time.Time
	runs   int
	sick   bool
	done   chan struct{}
	once   sync.Once
	state  string
	forget func()
}

// pausable is a fake server that is asked about pauses.
type pausable struct{ *fakeServer }

func (s pausable) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{Starved: s.starvedBy, WatchPauses: s.watchPauses}
}

func (s pausable) watchPauses(context.Context) func(context.Context) (string, error) {
	n := 0
	return func(context.Context) (string, error) {
		n++
		return s.paused(n)
	}
}

func (s *fakeServer) BaseURL() string       { return s.url }
func (s *fakeServer) Done() <-chan struct{} { return s.done }
func (s *fakeServer) ExitState() string     { return s.state }
func (s *fakeServer) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{Starved: s.starvedBy}
}
func (s *fakeServer) starvedBy(context.Context) string { return s.starved }
func (s *fakeServer) exit(state string) {
	s.once.Do(func() { s.state = state; s.forget(); close(s.done) })
}

func (s *fakeServer) Stop(ctx context.Context) error {
	if s.unstop {
		s.exit("a ghost") // so that the test itself leaves nothing
		return errors.New("process 7 is still there after the kill")
	}
	if s.ignores {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		s.exit("killed")
	}
	s.exit("exit status 0")
	return nil
}

type fakeLauncher struct {
	w    *world
	addr string
}

func (l fakeLauncher) Capabilities() steps.LauncherCapabilities { return steps.LauncherCapabilities{} }

func (l fakeLauncher) Start(_ context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.counts[l.addr]++
	l.w.launched = append(l.w.launched, l.addr)
	b := l.w.behave(l.addr, l.w.counts[l.addr])
	if b.refuse != nil {
		return nil, b.refuse
	}
	if b.startup == 0 {
		b.startup = 5 * time.Second
	}
	fmt.Fprintln(log, "starting", strings.Join(p.Argv, " "))
	if b.log != "" {
		fmt.Fprintln(log, b.log)
	}
	s := &fakeServer{behaviour: b, url: fmt.Sprintf("http://%s:%d", l.addr, p.Port), ready: time.Now().Add(b.startup),
		done: make(chan struct{})}
	s.forget = func() { l.w.mu.Lock(); delete(l.w.living, s.url); l.w.mu.Unlock() }
	l.w.living[s.url] = s
	if b.exitAfter > 0 {
		time.AfterFunc(b.exitAfter, func() { s.exit("exit status 1") })
	}
	if b.paused != nil {
		return pausable{s}, nil
	}
	return s, nil
}

func (w *world) at(url string) *fakeServer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.living[url]
}

type fakeEngine struct{ w *world }

func (fakeEngine) Endpoints() []string { return []string{"completions"} }

func (fakeEngine) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{} }

func (fakeEngine) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	p := steps.Process{Name: spec.Addr, Argv: []string{"fake", spec.Model}, Host: host, Port: port.Number()}
	if spec.Image != "" {
		p.Container = spec.NewContainer()
	}
	return p, nil
}

func (e fakeEngine) Ready(_ context.Context, ep steps.Endpoint, _ steps.Readiness) (string, bool, error) {
	s := e.w.at(ep.BaseURL)
	switch {
	case s == nil:
		return steps.StateStarting, false, errors.New("connection refused")
	case s.sick:
		return steps.StateListening, false, errors.New("503")
	case s.never || time.Now().Before(s.ready):
		return steps.StateListening, false, errors.New("503")
	}
	return steps.StateReady, true, nil
}

func (e fakeEngine) Reset(context.Context, steps.Endpoint) error {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.w.resets++
	return steps.ErrNoReset
}

func (fakeEngine) Describe(context.Context, steps.Endpoint) (map[string]string, error) {
	return map[string]string{"version": "1", "api_key": "top-secret"}, nil
}

func (fakeEngine) Classify(tail []string) (class, evidence string) {
	for _, line := range tail {
		if strings.Contains(line, "out of memory") {
			return "oom", line
		}
		if strings.Contains(line, "EngineDeadError") {
			return "engine_failed", line
		}
	}
	return "unknown", ""
}

type fakePorts struct {
	mu   sync.Mutex
	next int
	open int
}

func (p *fakePorts) TakeRow(_ string, count, _ int) (int, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.next + 1
	p.next += count
	return first, p.keep(), nil
}

func (p *fakePorts) Hold(int, int) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keep()
}

// keep counts what is open; p.mu is held.
func (p *fakePorts) keep() func() {
	p.open++
	return func() { p.mu.Lock(); p.open--; p.mu.Unlock() }
}

// load stands for the load generator: 10 s, then four requests.
func (w *world) load(ctx context.Context, o load.Options) (load.Result, error) {
	s := w.at(o.BaseURL)
	if s == nil {
		return load.Result{}, errors.New("connection refused")
	}
	s.runs++
	w.mu.Lock()
	w.loads = append(w.loads, fmt.Sprintf("%s %g %d", strings.Split(strings.TrimPrefix(o.BaseURL, "http://"), ":")[0],
		o.Workload.Load.Rate, o.Seed))
	n := len(w.loads)
	w.mu.Unlock()
	if o.Begin != nil && s.paused != nil {
		o.Begin(ctx)
	}
	if w.onRun != nil {
		w.onRun(n)
	}
	if o.Progress != nil {
		o.Progress(load.Progress{Sent: 1, Total: 4})
	}
	return w.respond(ctx, s, s.behaviour.runs[s.runs])
}

func (w *world) respond(ctx context.Context, s *fakeServer, trouble string) (load.Result, error) {
	wait := 10 * time.Second
	switch trouble {
	case "die":
		time.AfterFunc(3*time.Second, func() { s.exit("exit status 139") })
	case "die late": // all requests were cut before the process was gone
		time.AfterFunc(wait+3*time.Second, func() { s.exit("exit status 1") })
	case "hang":
		wait = time.Hour
	case "unsupported":
		return load.Result{}, fmt.Errorf("load: %w", &dataset.InvalidError{Reason: "no such file"})
	case "refuse":
		return load.Result{}, errors.New("the server cannot tokenize")
	}
	select {
	case <-ctx.Done():
		run := requests(4)
		run.Requests.Edit(func(q *record.Request) {
			if q.Index >= 2 {
				q.Failure = record.FailCancelled
			}
		})
		return load.Result{Run: run}, fmt.Errorf("load: stopped: %w", context.Cause(ctx))
	case <-time.After(wait):
	}
	run := requests(4)
	switch trouble {
	case "drop":
		run.Requests.Edit(func(q *record.Request) {
			if q.Index == 0 {
				q.Failure = record.FailCut
			}
		})
	case "die late", "sick", "garbage":
		run.Requests.Edit(func(q *record.Request) {
			q.Failure, q.Error = record.FailGarbage, "status 400: \x1b[31mno such key top-secret"
		})
		s.sick = trouble != "garbage"
	case "exhausted": // the client got no connection
		run.Requests.Edit(func(q *record.Request) { q.Failure = record.FailConnect })
		run.Audit.Exhausted = run.Requests.Len()
	case "stopped": // the client was, until its requests had timed out
		run.Requests.Edit(func(q *record.Request) { q.Failure = record.FailTimeout })
		run.Audit.Stalled, run.Audit.WallSeconds = int64(5*time.Second), 10
	case "late":
		run.Audit.LagP99 = int64(time.Second)
	}
	return load.Result{Run: run}, nil
}

// requests is a run of n good requests with a TTFT of 20 ms.
func requests(n int) record.Run {
	run := record.Run{Duration: 10e9, Audit: record.Audit{Clock: "user", PlannedRate: 4, RealisedRate: 4}}
	for i := range n {
		at := int64(i) * 1e9
		run.Requests.Add(record.Request{
			Index: i, Planned: at, Sent: at, Headers: at + 1e6, Done: at + 30e6, Status: 200, Finish: "length",
			Events:       []record.Event{{At: at + 20e6, Tokens: 1}, {At: at + 30e6, Tokens: 2}},
			PromptTokens: 8, WantTokens: 2, OutputTokens: 2, CachedTokens: -1,
		})
	}
	return run
}

// session is one execution with everything around it.
type session struct {
	w      *world
	events *recorder
	bus    *event.Bus
	ports  *fakePorts
	dir    *store.Dir
	o      engine.Options
	// look answers the looks of the plan; nil for a plan without any.
	look func(*engine.Outcome) (judge.Look, error)
}

type recorder struct {
	mu     sync.Mutex
	events []event.Event
}

func (r *recorder) Handle(e event.Event) { r.mu.Lock(); r.events = append(r.events, e); r.mu.Unlock() }

func (r *recorder) all() []event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *recorder) of(t event.Type) []event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []event.Event
	for _, e := range r.events {
		if e.Type == t {
			out = append(out, e)
		}
	}
	return out
}

func newSession(t *testing.T, p *plan.Plan) *session {
	t.Helper()
	dir, err := store.Create(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return sessionIn(t, p, dir, 0)
}

func sessionIn(t *testing.T, p *plan.Plan, dir *store.Dir, after int) *session {
	t.Helper()
	journal, err := dir.Journal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { journal.Close() })
	s := &session{dir: dir, w: newWorld(), events: &recorder{}, ports: &fakePorts{}}
	s.bus = event.NewBus(time.Now, after, journal, s.events)
	s.o = engine.Options{
		Plan: p, Store: dir, Bus: s.bus, Target: s.w.target, Ports: s.ports, Load: s.w.load,
		Redact: event.NewRedactor([]string{"top-secret"}),
	}
	return s
}

// run executes the session in virtual time and checks what must hold however it ends.
func (s *session) run(t *testing.T, ctx context.Context) *engine.Outcome {
	t.Helper()
	out, err := s.tryRun(t, ctx)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (s *session) tryRun(t *testing.T, ctx context.Context) (*engine.Outcome, error) {
	t.Helper()
	s.bus.Start("test", "run-1", "")
	out, err := engine.Run(ctx, s.o, s.look)
	synctest.Wait()
	if len(s.w.living) != 0 {
		t.Errorf("%d servers are left running", len(s.w.living))
	}
	if s.ports.open != 0 {
		t.Errorf("%d ports are not released", s.ports.open)
	}
	return out, err
}

func journalText(t *testing.T, dir *store.Dir) string {
	t.Helper()
	text, err := os.ReadFile(dir.Path() + "/" + store.EventsFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
