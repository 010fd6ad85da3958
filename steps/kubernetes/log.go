package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servegate/pipeline/steps"
)

// podGet asks for a Pod as it is now.
var podGet = meta.GetOptions{}

// follower copies the log of a Pod, each line once, however often the stream breaks.
type follower struct {
	run *Run
	pod string
	to  io.Writer
	// last is the time of the last line.
	last time.Time
}

// follow copies until the container has ended and its log was read to the end.
func (f *follower) follow(ctx context.Context, ended <-chan struct{}) {
	for {
		over := steps.Ended(ended)
		err := f.copy(ctx, !over)
		if over && err == nil || ctx.Err() != nil {
			return
		}
		if over { // the Pod, or the API server, may be gone
			_, _ = fmt.Fprintf(f.to, "pipeline: the end of the log is missing: %v\n", err)
			return
		}
		pause, cancel := context.WithTimeout(ctx, f.run.opt.Poll)
		select {
		case <-ended:
		case <-pause.Done():
		}
		cancel()
	}
}

// copy copies one stream from the last line on.
func (f *follower) copy(ctx context.Context, follow bool) error {
	opt := &core.PodLogOptions{Follow: follow, Timestamps: true}
	if !f.last.IsZero() {
		since := meta.NewTime(f.last.Truncate(time.Second))
		opt.SinceTime = &since
	}
	stream, err := f.run.client.CoreV1().Pods(f.run.namespace).GetLogs(f.pod, opt).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	in := bufio.NewReader(stream)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := f.write(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// write passes a line on that was not seen before. Each begins with its time.
func (f *follower) write(line []byte) error {
	stamp, text, _ := bytes.Cut(line, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		at, text = f.last, line // the kubelet's own words
	} else if !at.After(f.last) {
		return nil
	}
	f.last = at
	_, err = f.to.Write(text)
	return err
}
