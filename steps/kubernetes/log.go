package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/servegate/pipeline/steps"
)

// podGet asks for a Pod as it is now.
var podGet = meta.GetOptions{}

// follower copies the log of a Pod, each line once, however often the stream breaks.
type follower struct {
	run *Run
	pod string
	to  io.Writer
	// last is the latest time of a line, and recent the lines of its second with how often each was
	// written: a stream can be asked for from a second on, and times of lines are neither unique nor in order.
	last   time.Time
	recent map[string]int
}

// follow copies until the container has ended and its log is complete.
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

// logs requests the log of the Pod's main container. A webhook may have added other containers.
func (r *Run) logs(pod string, opt *core.PodLogOptions) *rest.Request {
	opt.Container = containerName
	return r.client.Pods(r.namespace).GetLogs(pod, opt)
}

// copy copies one stream, starting at the last line.
func (f *follower) copy(ctx context.Context, follow bool) error {
	opt := &core.PodLogOptions{Follow: follow, Timestamps: true}
	if !f.last.IsZero() {
		since := meta.NewTime(f.last.Truncate(time.Second))
		opt.SinceTime = &since
	}
	stream, err := f.run.logs(f.pod, opt).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	return f.lines(stream, follow)
}

// lines forwards the lines of a stream that earlier streams did not contain. A truncated line is complete in
// the next stream.
func (f *follower) lines(stream io.Reader, follow bool) error {
	seen := maps.Clone(f.recent)
	in := bufio.NewReader(stream)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 && (err == nil || !follow) {
			if seen[string(line)] > 0 {
				seen[string(line)]--
			} else if err := f.write(line); err != nil {
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

// write forwards a line without its leading timestamp.
func (f *follower) write(line []byte) error {
	stamp, text, _ := bytes.Cut(line, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil { // a message of the kubelet
		_, err = f.to.Write(line)
		return err
	}
	if f.recent == nil || at.Truncate(time.Second).After(f.last.Truncate(time.Second)) {
		f.recent = map[string]int{}
	}
	if at.After(f.last) {
		f.last = at
	}
	f.recent[string(line)]++
	_, err = f.to.Write(text)
	return err
}
