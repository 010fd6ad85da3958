package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/servegate/pipeline/steps/load"
)

// beginWait bounds how long a process waits to be let begin: the other side may be gone.
const beginWait = 5 * time.Minute

// Worker is the process's side of a run.
type Worker struct {
	// Folder that both sides share.
	Folder string
	Getenv func(string) string
	// Begin lets the measured requests begin.
	Begin <-chan os.Signal
	// Out is the standard output.
	Out io.Writer
}

// Work carries out the run and writes what came of it. When ctx ends, that is what was
// recorded so far. An error means that the other side has no answer.
func (w Worker) Work(ctx context.Context) error {
	opt, err := readOrder(w.Folder)
	if err != nil {
		return err
	}
	if opt.Files != nil && opt.Files.Dir == "" {
		opt.Files.Dir = w.Folder // its dataset came with the order
	}
	if opt.Headers, err = readHeaders(w.Getenv(headersVar)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &messageWriter{out: w.Out, failed: func(err error) { cancel(fmt.Errorf("progress cannot be written: %w", err)) }}
	var begun time.Time
	opt.Begin = func(ctx context.Context) {
		_ = out.write(message{Moment: momentReady}) // failed has ended the run
		if err := w.await(ctx); err != nil {
			cancel(err)
			return
		}
		begun = time.Now()
		_ = out.write(message{Moment: momentBegun})
	}
	opt.Progress = func(p load.Progress) { _ = out.write(message{Moment: momentProgress, Progress: &p}) }
	got, err := load.Run(ctx, opt)
	sum, failed := newAnswer(ctx, got, err, begun).write(w.Folder)
	if failed != nil {
		return failed
	}
	return out.write(message{Moment: momentDone, Sum: sum})
}

// await returns once the run may begin.
func (w Worker) await(ctx context.Context) error {
	limit := time.NewTimer(beginWait)
	defer limit.Stop()
	select {
	case <-w.Begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-limit.C:
		return errors.New("it was not started within " + beginWait.String())
	}
}
