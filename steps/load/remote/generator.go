package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// Generator runs the load generator in processes.
type Generator struct {
	// Spawner starts a process for each run. A child that can be evicted is asked about it.
	Spawner steps.Spawner
	// Streams, if set, takes the place of Spawner and Folder.
	Streams Streams
	// Argv is the command that calls [Worker.Work]; the folder is appended as an argument, unless Streams is set.
	Argv []string
	// Folder makes an empty folder, private to its owner, that the process finds at the same path.
	Folder func(name string) (string, error)
	// Grace is the time between the stop signal and the kill; 2 s unless set. An interrupted run has only a few
	// seconds in total.
	Grace time.Duration
}

// grace is the default of Generator.Grace.
const grace = 2 * time.Second

// Run does the same as [load.Run] and returns the same results. When it returns, the process has ended. log
// receives the output of the process other than messages.
func (g Generator) Run(ctx context.Context, name string, opt load.Options, log io.Writer) (load.Result, error) {
	r := &run{opt: opt, ready: make(chan struct{}), tail: &tail{to: log}}
	r.messages = &messageReader{rest: r.tail, handle: r.receive}
	start, discard, err := g.prepared(name, opt, r)
	if err != nil {
		return load.Result{}, err
	}
	defer discard()
	if ctx.Err() != nil {
		return load.Result{}, fmt.Errorf("load: stopped: %w", context.Cause(ctx))
	}
	child, err := start(ctx)
	if err != nil {
		return load.Result{}, r.startFailed(ctx, err)
	}
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var letting sync.WaitGroup
	letting.Go(func() { r.letBegin(ctx, child, cancel) })
	ended := steps.AwaitChild(waiting, child, cmp.Or(g.Grace, grace))
	letting.Wait()
	return r.end(ctx, child, ended)
}

// prepared returns a function that starts the process of a run, and one that removes what the order took.
func (g Generator) prepared(name string, opt load.Options, r *run) (start func(context.Context) (steps.Child, error), discard func(),
	err error) {
	if g.Streams != nil {
		o, err := newStreamOrder(opt)
		if err != nil {
			return nil, nil, err
		}
		start = func(ctx context.Context) (steps.Child, error) { return g.startStreamed(ctx, o, r.messages, r.tail) }
		return start, func() { _ = o.close() }, nil // opened for reading
	}
	folder, c, err := g.prepare(name, opt)
	if err != nil {
		return nil, nil, err
	}
	r.folder, c.Stdout, c.Stderr = folder, r.messages, r.tail
	start = func(ctx context.Context) (steps.Child, error) { return g.Spawner.Spawn(ctx, c) }
	return start, func() { _ = os.RemoveAll(folder) }, nil // its content is no longer needed
}

// prepare writes the order and returns the command that runs it.
func (g Generator) prepare(name string, opt load.Options) (folder string, c steps.Command, err error) {
	if c.Env, err = writeHeaders(opt.Headers); err != nil {
		return "", c, err
	}
	if folder, err = g.Folder("load-" + name); err != nil {
		return "", c, fmt.Errorf("load: %w", err)
	}
	if err := writeOrder(folder, opt); err != nil {
		return "", c, errors.Join(err, os.RemoveAll(folder))
	}
	c.Argv = append(append(c.Argv, g.Argv...), folder)
	return folder, c, nil
}

// run is the caller's view of a run in progress.
type run struct {
	opt    load.Options
	folder string        // shared with the process, "" if it is streamed
	ready  chan struct{} // closed after the warm-up
	tail   *tail

	messages *messageReader

	// From messages, which one goroutine receives until the child is done.
	once  sync.Once
	begun time.Time
	sum   string
	size  int64
}

func (r *run) receive(m message) {
	switch {
	case m.Moment == momentReady:
		r.once.Do(func() { close(r.ready) })
	case m.Moment == momentBegun:
		r.begun = time.Now()
	case m.Moment == momentProgress && m.Progress != nil && r.opt.Progress != nil:
		r.opt.Progress(*m.Progress)
	case m.Moment == momentDone:
		r.sum, r.size = m.Sum, m.Size
	}
}

// letBegin calls Begin once the process is ready, then lets the process begin.
func (r *run) letBegin(ctx context.Context, child steps.Child, cancel func(error)) {
	select {
	case <-r.ready:
	case <-child.Done():
		return
	case <-ctx.Done():
		return
	}
	if r.opt.Begin != nil {
		r.opt.Begin(ctx)
	}
	if ctx.Err() != nil || steps.Ended(child.Done()) {
		return
	}
	if err := child.Signal("USR1"); err != nil {
		cancel(fmt.Errorf("it could not be started: %w", err))
	}
}

// startFailed returns the error for a process that was not started.
func (r *run) startFailed(ctx context.Context, err error) error {
	_, evicted := errors.AsType[*steps.EvictionError](err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("load: stopped: %w", context.Cause(ctx))
	case evicted:
		return err
	}
	return &load.LostError{Err: r.tail.explain(err)}
}

// end returns the result of the run after its process has ended.
func (r *run) end(ctx context.Context, child steps.Child, ended error) (load.Result, error) {
	var a answer
	missing := errors.New("it reported no result")
	switch {
	case r.size > 0 && int64(len(r.messages.answer)) == r.size:
		a, missing = parseAnswer(r.messages.answer)
	case r.sum != "":
		wait := answerWait
		if ctx.Err() != nil {
			wait = interruptWait
		}
		a, missing = awaitAnswer(r.folder, r.sum, wait)
	}
	got := a.result(r.begun)
	switch {
	case ctx.Err() != nil:
		return got, fmt.Errorf("load: stopped: %w", context.Cause(ctx))
	case missing == nil && a.Kind != faultStopped:
		return got, a.err()
	}
	if evicted := child.Capabilities().Evicted; evicted != nil {
		if err := evicted(ctx); err != nil {
			return load.Result{}, err
		}
	}
	switch {
	case ended != nil:
		missing = ended
	case a.Kind == faultStopped:
		missing = errors.New(a.Fault)
	}
	return load.Result{}, &load.LostError{Err: r.tail.explain(missing)}
}

// tail forwards the output of a process and stores its last line.
type tail struct {
	to io.Writer

	mu         sync.Mutex
	line, last []byte
}

// maxTail is how much of a line is stored, in bytes.
const maxTail = 300

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		t.line = append(t.line, part[:min(len(part), maxTail-len(t.line))]...)
		if whole {
			t.push()
		}
	}
	return t.to.Write(p)
}

func (t *tail) push() {
	if text := bytes.TrimSpace(t.line); len(text) > 0 {
		t.last = append(t.last[:0], text...)
	}
	t.line = t.line[:0]
}

// explain appends the last line to an error.
func (t *tail) explain(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.push()
	if len(t.last) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.ToValidUTF8(string(t.last), "\uFFFD"))
}
