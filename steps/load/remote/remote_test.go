package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/simulate"
	"pgregory.net/rapid"
)

// workerVar makes this test binary the process that generates load.
const workerVar = "PIPELINE_TEST_WORKER"

// streamFlag makes it take its order from standard input.
const streamFlag = "--stream"

func TestMain(m *testing.M) {
	if os.Getenv(workerVar) != "" {
		worker()
		return
	}
	m.Run()
}

func worker() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	begin := make(chan os.Signal, 1)
	signal.Notify(begin, syscall.SIGUSR1)
	if os.Getenv(workerVar) == "noisy" {
		fmt.Fprintf(os.Stdout, "Welcome to the cluster!\n{\"not\": \"ours\"}\n%s\n", strings.Repeat("x", 2*maxMessage))
	}
	w := Worker{Folder: os.Args[len(os.Args)-1], Getenv: os.Getenv, Begin: begin, Out: os.Stdout}
	if os.Args[1] == streamFlag {
		w.In = os.Stdin
	}
	if err := w.Work(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// local starts processes of this machine.
type local struct {
	how     string // how the process behaves
	lost    error  // of its place
	deaf    bool   // signals do not reach it
	command steps.Command
	child   *localChild
}

type localChild struct {
	*local
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

func (l *local) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	return l.start(c, nil)
}

// Stream implements Streams.
func (l *local) Stream(_ context.Context, argv []string, in io.Reader, out, log io.Writer) (steps.Child, error) {
	return l.start(steps.Command{Argv: argv, Stdout: out, Stderr: log}, in)
}

func (l *local) start(c steps.Command, in io.Reader) (steps.Child, error) {
	l.command = c
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(os.Environ(), workerVar+"="+l.how), "/", c.Stdout, c.Stderr
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	l.child = &localChild{local: l, cmd: cmd, done: make(chan struct{})} // before its output is read
	if in != nil {
		input, err := cmd.StdinPipe() // of which the end of the process does not wait
		if err != nil {
			return nil, err
		}
		go func() {
			_, _ = io.Copy(input, in)
			_ = input.Close()
		}()
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		l.child.err = cmd.Wait()
		close(l.child.done)
	}()
	return l.child, nil
}

func (c *localChild) PID() int              { return c.cmd.Process.Pid }
func (c *localChild) Done() <-chan struct{} { return c.done }
func (c *localChild) Capabilities() steps.ChildCapabilities {
	return steps.ChildCapabilities{Evicted: func(context.Context) error { return c.lost }}
}
func (c *localChild) Wait() error {
	<-c.done
	return c.err
}

func (c *localChild) Signal(name string) error {
	if c.deaf && name == "USR1" {
		return errors.New("the controller is away")
	}
	return c.cmd.Process.Signal(map[string]syscall.Signal{"USR1": syscall.SIGUSR1, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[name])
}

// rig is a generator whose processes are this test binary.
type rig struct {
	*local
	Generator
	folder string
	log    bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{local: &local{how: "plain"}, folder: filepath.Join(t.TempDir(), "f")}
	r.Generator = Generator{Spawner: r.local, Argv: []string{self}, Grace: time.Minute, Folder: func(string) (string, error) {
		return r.folder, os.Mkdir(r.folder, 0o700)
	}}
	return r
}

// newStreamedRig is a rig whose processes share no folder with it.
func newStreamedRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	there := t.TempDir()
	r.Streams, r.Argv = r.local, append(r.Argv, streamFlag, there)
	t.Cleanup(func() {
		if left, err := os.ReadDir(there); err != nil || len(left) > 0 && r.how != "killed" {
			t.Errorf("left in the folder of the process: %v, %v", left, err)
		}
	})
	return r
}

// rigs make rigs of both ways to a process.
var rigs = map[string]func(*testing.T) *rig{"": newRig, " streamed": newStreamedRig}

func (r *rig) run(t *testing.T, ctx context.Context, opt load.Options) (load.Result, error) {
	t.Helper()
	got, err := r.Run(ctx, "r1", opt, &r.log)
	if _, left := os.Stat(r.folder); !errors.Is(left, os.ErrNotExist) {
		t.Errorf("the folder of the run is still there: %v", left)
	}
	return got, err
}

// server is a simulated server whose requests are seen.
func server(t *testing.T, scale float64, see func(*http.Request)) string {
	t.Helper()
	s, err := simulate.NewServer([]string{"vllm", "serve", "m"}, simulate.Options{Settings: simulate.Settings{TimeScale: scale}})
	if err == nil {
		err = s.Open()
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Drive(ctx) })
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		see(q)
		s.Handler().ServeHTTP(w, q)
	}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
		cancel()
		wg.Wait()
	})
	return ts.URL
}

func unseen(*http.Request) {}

func small() steps.Workload {
	return steps.Workload{
		Endpoint: "completions", IgnoreEOS: true, Warmup: 2,
		Dataset: steps.Dataset{Kind: "sonnet", InputMin: 50, InputMax: 90, OutputMin: 4, OutputMax: 8, PrefixLen: 16},
		Load:    steps.Load{Arrival: load.Poisson, Rate: 20, Requests: 12},
	}
}

// TestSameWork: a process draws the same schedule and the same prompts as this one would, of
// every kind of load, and what it records comes back whole.
func TestSameWork(t *testing.T) {
	chat, closed, file := small(), small(), small()
	chat.Endpoint = "chat"
	chat.Dataset = steps.Dataset{Kind: "chat", InputMin: 20, InputMax: 20, OutputMin: 4, OutputMax: 4, Options: map[string]any{"turns": 3,
		"users": 2, "system_len": 10}}
	closed.Load = steps.Load{Arrival: load.Closed, MaxConcurrency: 3, Requests: 9}
	closed.Body = map[string]any{"priority": int64(9007199254740993), "seed": 7}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.jsonl"), []byte(`{"prompt": "one two three", "output_tokens": 3}`+"\n"+
		`{"prompt": "four five", "output_tokens": 2}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := &dataset.Files{Dir: dir}
	sum, err := files.Sum("p.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	file.Dataset = steps.Dataset{Kind: "file", Path: "p.jsonl", Sum: sum}
	works := map[string]steps.Workload{"open loop": small(), "conversations": chat, "closed loop": closed, "a file": file}
	for name, w := range works {
		for way, newRig := range rigs {
			t.Run(name+way, func(t *testing.T) { sameWork(t, newRig(t), w, files) })
		}
	}
}

func sameWork(t *testing.T, r *rig, w steps.Workload, files *dataset.Files) {
	t.Helper()
	opt := load.Options{BaseURL: server(t, 20, unseen), Model: "m", Workload: w, Seed: 1<<63 + 3, ShapeSeed: 5, TimeScale: 20, Files: files}
	here, err := load.Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	r.how = "noisy"
	there, err := r.run(t, t.Context(), opt)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.log.String())
	}
	a, b := here.Run.Audit, there.Run.Audit
	if a.ScheduleHash != b.ScheduleHash || a.WorkHash != b.WorkHash || a.WorkHash == "" || a.Clock != b.Clock {
		t.Errorf("here %+v, there %+v", a, b)
	}
	for i, q := range there.Run.Requests.All() {
		if q.Failure != "" || len(q.Events) == 0 || q.PromptTokens != here.Run.Requests.At(i).PromptTokens {
			t.Errorf("request %d: %+v", i, q)
		}
	}
	if there.Run.Requests.Len() != here.Run.Requests.Len() || there.Warmup.Len() != here.Warmup.Len() {
		t.Errorf("%d requests and %d of the warm-up, want %d and %d", there.Run.Requests.Len(), there.Warmup.Len(),
			here.Run.Requests.Len(), here.Warmup.Len())
	}
	if !strings.Contains(r.log.String(), "Welcome to the cluster!") || strings.Contains(r.log.String(), momentProgress) {
		t.Errorf("log %.200q", r.log.String())
	}
}

// TestBegin: the measured requests wait for what is to be done before them, and times are
// stated by the clock of this side.
func TestBegin(t *testing.T) {
	for way, newRig := range rigs {
		t.Run("begin"+way, func(t *testing.T) { begins(t, newRig(t)) })
	}
}

func begins(t *testing.T, r *rig) {
	t.Helper()
	var mu sync.Mutex
	sent, before, progress, order := 0, -1, 0, ""
	opt := load.Options{Model: "m", Workload: small(), Seed: 1, TimeScale: 20, Headers: map[string]string{"Authorization": "Bearer s3cret"}}
	opt.BaseURL = server(t, 20, func(q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if q.URL.Path == "/v1/completions" {
			sent++
		}
		if q.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("%s without its header", q.URL.Path)
		}
	})
	opt.Begin = func(context.Context) {
		mu.Lock()
		defer mu.Unlock()
		before = sent
		if r.Streams != nil {
			return
		}
		text, err := os.ReadFile(filepath.Join(r.folder, orderFile))
		info, statErr := os.Stat(filepath.Join(r.folder, orderFile))
		if err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the order: %v, %v, %v", err, statErr, info)
		}
		order = string(text)
	}
	opt.Progress = func(load.Progress) { progress++ }
	began := time.Now()
	got, err := r.run(t, t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if before != 2 || progress == 0 {
		t.Errorf("%d requests before the measured ones, of a warm-up of 2; progress was told %d times", before, progress)
	}
	// The start is the arrival of a message with the time after it that the process says. A busy machine delays the message.
	if now := time.Now(); got.Start.Before(began) || got.Start.After(now.Add(now.Sub(began))) {
		t.Errorf("it started %v, and ran from %v to %v", got.Start, began, now)
	}
	if everywhere := order + strings.Join(r.command.Argv, " ") + r.log.String(); strings.Contains(everywhere, "s3cret") ||
		!strings.Contains(order, `"seed":1`) && r.Streams == nil {
		t.Errorf("the order is %s, the command %q", order, r.command.Argv)
	}
	for _, e := range r.command.Env {
		if !e.Secret {
			t.Errorf("%s is not kept secret", e.Name)
		}
	}
}

// TestEnds: each end is distinguished from that of a server.
func TestEnds(t *testing.T) {
	stopped := errors.New("stopped by the test")
	evicted := &steps.EvictionError{Class: "node_lost", Reason: "node n2 is down"}
	slow := small()
	slow.Load = steps.Load{Arrival: load.Closed, MaxConcurrency: 2, Duration: time.Hour}
	isLost := func(err error, text string) bool {
		_, ok := errors.AsType[*load.LostError](err)
		return ok && strings.Contains(err.Error(), text) && strings.HasSuffix(err.Error(), "(load_generator_lost)")
	}
	for name, tt := range map[string]struct {
		change  func(*rig, *load.Options)
		disturb func(*rig, func(error)) // at the first progress
		want    func(load.Result, error) bool
	}{
		"told to stop": {disturb: func(_ *rig, stop func(error)) { stop(stopped) }, want: func(got load.Result, err error) bool {
			other := false
			for _, q := range got.Run.Requests.All() {
				other = other || q.Failure != "" && q.Failure != record.FailCancelled
			}
			return errors.Is(err, stopped) && got.Run.Requests.Len() > 0 && !other
		}},
		"killed": {disturb: func(r *rig, _ func(error)) { r.how = "killed"; _ = r.child.Signal("KILL") },
			want: func(got load.Result, err error) bool {
				return isLost(err, "signal: killed") && got.Run.Requests.Len() == 0
			}},
		"ended by somebody else": {disturb: func(r *rig, _ func(error)) { _ = r.child.Signal("TERM") },
			want: func(_ load.Result, err error) bool {
				return isLost(err, "load: stopped")
			}},
		"without its node": {change: func(r *rig, _ *load.Options) { r.lost = evicted },
			disturb: func(r *rig, _ func(error)) { r.how = "killed"; _ = r.child.Signal("KILL") }, want: func(_ load.Result, err error) bool {
				return errors.Is(err, evicted)
			}},
		"never told to begin": {change: func(r *rig, _ *load.Options) { r.deaf = true }, want: func(_ load.Result, err error) bool {
			return isLost(err, "it could not be started: the controller is away")
		}},
		"no such program": {change: func(r *rig, _ *load.Options) { r.Argv = []string{"/no/such/program"} },
			want: func(_ load.Result, err error) bool {
				return isLost(err, "no such file")
			}},
		"another program": {change: func(r *rig, _ *load.Options) { r.Argv = []string{"sh", "-c", "echo out of memory >&2; exit 3"} },
			want: func(_ load.Result, err error) bool {
				return isLost(err, "exit status 3: out of memory")
			}},
		"no server": {change: func(_ *rig, o *load.Options) { o.BaseURL = "http://127.0.0.1:1" }, want: func(_ load.Result, err error) bool {
			return err != nil && !isLost(err, "") && strings.Contains(err.Error(), "refused")
		}},
		"no such file": {change: func(r *rig, o *load.Options) {
			o.Files = &dataset.Files{Dir: filepath.Dir(r.folder)}
			o.Workload.Dataset = steps.Dataset{Kind: "sharegpt", Path: "gone.json"}
		}, want: func(_ load.Result, err error) bool {
			invalid, ok := errors.AsType[*dataset.InvalidError](err)
			return ok && strings.Contains(invalid.Reason, "gone.json")
		}},
		"a witness": {change: func(_ *rig, o *load.Options) { o.Witness = func(int, int64, int64) {} },
			want: func(_ load.Result, err error) bool {
				return err != nil && strings.Contains(err.Error(), "supports neither TLS nor a witness")
			}},
	} {
		for way, newRig := range rigs {
			if way != "" && name == "never told to begin" {
				continue // a broken input has ended the process
			}
			t.Run(name+way, func(t *testing.T) {
				r := newRig(t)
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				opt := load.Options{BaseURL: server(t, 1000, unseen), Model: "m", Workload: slow, Seed: 1, TimeScale: 1}
				if tt.change != nil {
					tt.change(r, &opt)
				}
				var once sync.Once
				opt.Progress = func(p load.Progress) {
					if p.Sent > 0 && tt.disturb != nil {
						once.Do(func() { tt.disturb(r, stop) })
					}
				}
				if got, err := r.run(t, ctx, opt); !tt.want(got, err) {
					t.Errorf("%d requests, %v\n%s", got.Run.Requests.Len(), err, r.log.String())
				}
			})
		}
	}
}

// TestInputEnds: a process whose caller is gone ends with what it has, and one without a whole order fails; neither
// leaves anything.
func TestInputEnds(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.jsonl"), []byte(`{"prompt": "one two three", "output_tokens": 3}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := load.Options{BaseURL: server(t, 20, unseen), Model: "m", Workload: small(), TimeScale: 20, Files: &dataset.Files{Dir: dir}}
	sum, err := opt.Files.Sum("p.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	opt.Workload.Dataset = steps.Dataset{Kind: "file", Path: "p.jsonl", Sum: sum}
	o, err := newStreamOrder(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = o.close() }()
	var input bytes.Buffer
	if err := o.send(&input); err != nil {
		t.Fatal(err)
	}
	whole := input.Bytes()
	for name, in := range map[string][]byte{
		"no caller": whole, "half a dataset": whole[:len(whole)-5], "half a head": whole[:20], "nothing": nil,
	} {
		there := t.TempDir()
		var last message
		out := &messageReader{rest: io.Discard, handle: func(m message) { last = m }}
		err := Worker{Folder: there, In: bytes.NewReader(in), Getenv: os.Getenv, Out: out}.Work(t.Context())
		if left, readErr := os.ReadDir(there); readErr != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, readErr)
		}
		if name != "no caller" {
			if err == nil || last.Moment != "" {
				t.Errorf("%s: %v, %+v", name, err, last)
			}
			continue
		}
		a, parseErr := parseAnswer(out.answer)
		if err != nil || parseErr != nil || last.Moment != momentDone || a.Kind != faultStopped {
			t.Errorf("%s: %v, %v, %+v, %+v", name, err, parseErr, last, a.Kind)
		}
	}
}

// TestPropertyOrder: an order is read as it was written.
func TestPropertyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, number := rapid.String(), rapid.Uint64()
		dirs := rapid.SliceOf(text).Draw(t, "dirs")
		o := load.Options{
			BaseURL: text.Draw(t, "url"), Model: text.Draw(t, "model"), Seed: number.Draw(t, "seed"), ShapeSeed: number.Draw(t, "shape"),
			TimeScale: rapid.Float64Range(0, 100).Draw(t, "scale"), Files: &dataset.Files{Dirs: dirs},
		}
		o.Workload = small()
		o.Workload.Body = map[string]any{text.Draw(t, "name"): text.Draw(t, "value")}
		written, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseOrder(written)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(got)
		if err != nil || !bytes.Equal(written, again) {
			t.Fatalf("%v\n%s", err, cmp.Diff(string(written), string(again)))
		}
	})
}

// TestPropertyListener: however output is cut into pieces, messages are received in order with the answers behind
// them, and every other byte is passed on.
func TestPropertyListener(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out, rest, last []byte
		var want []string
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			if rapid.Bool().Draw(t, "ours") {
				sum := rapid.StringMatching(`[a-f0-9]{0,9}`).Draw(t, "sum")
				answer := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "answer")
				text, _ := json.Marshal(message{Moment: momentDone, Sum: sum, Size: int64(len(answer))})
				out, want = append(append(append(out, text...), '\n'), answer...), append(want, sum)
				if len(answer) > 0 {
					last = answer
				}
				continue
			}
			line := append([]byte("> "+rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "noise")), '\n')
			out, rest = append(out, line...), append(rest, line...)
		}
		var noise bytes.Buffer
		var received []string
		l := &messageReader{rest: &noise, handle: func(m message) { received = append(received, m.Sum) }}
		for len(out) > 0 {
			n := rapid.IntRange(1, len(out)).Draw(t, "piece")
			if _, err := l.Write(out[:n]); err != nil {
				t.Fatal(err)
			}
			out = out[n:]
		}
		if !bytes.Equal(l.answer, last) {
			t.Fatalf("answer %q, want %q", l.answer, last)
		}
		if !bytes.Equal(noise.Bytes(), rest) || !cmp.Equal(received, want) {
			t.Fatalf("received %q, want %q; passed on %q, want %q", received, want, noise.String(), rest)
		}
	})
}

func FuzzOrder(f *testing.F) {
	f.Add([]byte(`{"base_url":"http://h:1","model":"m","workload":{"endpoint":"chat"},"seed":1}`))
	f.Add([]byte(`{"x":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if o, err := parseOrder(text); err == nil {
			if _, err := json.Marshal(o); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

func FuzzListener(f *testing.F) {
	f.Add([]byte("{\"load\":\"done\",\"sum\":\"ab\"}\n"))
	f.Add([]byte("\x00{\n{}\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		l := &messageReader{rest: io.Discard, handle: func(message) {}}
		_, _ = l.Write(text) // it never fails
	})
}
