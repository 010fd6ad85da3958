package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/servegate/pipeline/steps/load"
)

// beginWait is how long a process waits for the begin signal before it assumes that the other side is gone.
const beginWait = 5 * time.Minute

// Worker runs the load generator in the process.
type Worker struct {
	// Folder that both sides share. With In, it is the parent of a temporary folder for the dataset.
	Folder string
	// In is the input with the order and the signals; nil if the folder is shared.
	In     io.Reader
	Getenv func(string) string
	// Begin receives the signal to begin the measured requests if the folder is shared.
	Begin <-chan os.Signal
	// Out is the standard output.
	Out io.Writer
}

// Work runs the load generator and writes its results. If ctx ends, it writes the results so far. After an
// error there is no answer.
func (w Worker) Work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if w.In != nil {
		return w.workStreamed(ctx, cancel)
	}
	opt, err := readOrder(w.Folder)
	if err != nil {
		return err
	}
	if opt.Headers, err = readHeaders(w.Getenv(headersVar)); err != nil {
		return err
	}
	return w.run(ctx, cancel, opt, func(a answer, out *messageWriter) error {
		sum, err := a.write(w.Folder)
		if err != nil {
			return err
		}
		return out.write(message{Moment: momentDone, Sum: sum})
	})
}

// workStreamed reads the order from the input and writes the answer to the output.
func (w Worker) workStreamed(ctx context.Context, cancel context.CancelCauseFunc) (err error) {
	folder, err := os.MkdirTemp(w.Folder, "load-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	in := bufio.NewReader(w.In)
	opt, err := receive(in, folder)
	if err != nil {
		return err
	}
	begin := make(chan os.Signal, 1)
	w.Begin = begin
	go passSignals(in, func() { begin <- syscall.SIGUSR1 }, cancel) // ends with the input
	return w.run(ctx, cancel, opt, func(a answer, out *messageWriter) error {
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		return out.write(message{Moment: momentDone, Size: int64(len(text))}, text...)
	})
}

// run runs the load generator and delivers its answer.
func (w Worker) run(ctx context.Context, cancel context.CancelCauseFunc, opt load.Options,
	deliver func(answer, *messageWriter) error) error {
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
	return deliver(newAnswer(ctx, got, err, begun), out)
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
