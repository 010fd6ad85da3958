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

// beginWait is how long a process waits for the begin signal before it assumes that the other side is gone.
const beginWait = 5 * time.Minute

// Worker runs the load generator in the process.
type Worker struct {
	// Folder that both sides share.
	Folder string
	Getenv func(string) string
	// Begin receives the signal to begin the measured requests.
	Begin <-chan os.Signal
	// Out is the standard output.
	Out io.Writer
}

// Work runs the load generator and writes its results. If ctx ends, it writes the results so far. After an
// error there is no answer.
func (w Worker) Work(ctx context.Context) error {
	opt, err := readOrder(w.Folder)
	if err != nil {
		return err
	}
	if opt.Files != nil && opt.Files.Dir == "" {
		opt.Files.Dir = w.Folder // the dataset is in the folder of the order
	}
	if opt.Headers, err = readHeaders(w.Getenv(headersVar)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &messageWriter{out: w.Out, failed: func(err error) { cancel(fmt.Errorf("progress cannot be written: %w", err)) }}
	var begun time.Time
	opt.Begin = func(ctx context.Context) {
		_ = out.write(message{Moment: momentReady}) // on an error, failed has ended the run
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

// await waits for the begin signal.
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
