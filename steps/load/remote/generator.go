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

// Generator carries out runs in processes.
type Generator struct {
	// Spawner starts a process for each run. A child of it that is a [steps.Evictable] is
	// asked whether it has lost its place.
	Spawner steps.Spawner
	// Argv is the command that calls [Worker.Work] with the folder that follows it.
	Argv []string
	// Folder makes an empty folder, of its owner alone, that the process sees by the same
	// path.
	Folder func(name string) (string, error)
	// Grace is the time between the request to end and the kill; 2 s unless set. It is part
	// of the few seconds that a run has when it is interrupted.
	Grace time.Duration
}

// grace of a process that was asked to end.
const grace = 2 * time.Second

// Run does what [load.Run] does, and returns what it returns. When it returns, the process
// is gone. log takes what the process says beside its messages.
func (g Generator) Run(ctx context.Context, name string, opt load.Options, log io.Writer) (load.Result, error) {
	folder, c, err := g.prepare(name, opt)
	if err != nil {
		return load.Result{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // nothing in it is needed any more
	if ctx.Err() != nil {
		return load.Result{}, fmt.Errorf("load: stopped: %w", context.Cause(ctx))
	}
	r := &run{opt: opt, folder: folder, ready: make(chan struct{}), tail: &tail{to: log}}
	c.Stdout, c.Stderr = &messageReader{rest: r.tail, handle: r.receive}, r.tail
	child, err := g.Spawner.Spawn(ctx, c)
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

// prepare writes the order and makes the command that carries it out.
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

// run is one run in progress, as it is seen from here.
type run struct {
	opt    load.Options
	folder string
	ready  chan struct{} // closed when the warm-up is over
	tail   *tail

	// Of the messages, which one goroutine receives until the child is done.
	once  sync.Once
	begun time.Time
	sum   string
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
		r.sum = m.Sum
	}
}

// letBegin lets the process begin once it is ready and the caller has done what is to be
// done before.
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

// startFailed is the error of a process that was not started.
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

// end is what the run has brought once its process is gone.
func (r *run) end(ctx context.Context, child steps.Child, ended error) (load.Result, error) {
	var a answer
	missing := errors.New("it said nothing of a result")
	if r.sum != "" {
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
	if placed, ok := child.(steps.Evictable); ok {
		if err := placed.Evicted(ctx); err != nil {
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

// tail passes on what a process says and keeps its last line.
type tail struct {
	to io.Writer

	mu         sync.Mutex
	line, last []byte
}

// maxTail is how much of a line is kept.
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

// explain adds the last line to an error.
func (t *tail) explain(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.push()
	if len(t.last) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.ToValidUTF8(string(t.last), "\uFFFD"))
}
