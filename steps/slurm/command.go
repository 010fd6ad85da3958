package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

// maxOutput bounds what is kept of a command's output.
const maxOutput = 1 << 20

// call runs one of Slurm's commands and returns what it writes. A controller that does not
// answer is asked again for a while: it may be restarting.
func (o *Options) call(ctx context.Context, argv ...string) (string, error) {
	patient, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	for {
		out, err := o.once(patient, argv)
		if err == nil || !transient(err) {
			return out, err
		}
		if steps.Sleep(patient, o.Poll) != nil {
			if ctx.Err() != nil {
				return "", fmt.Errorf("%s: %w", argv[0], context.Cause(ctx))
			}
			return "", err
		}
	}
}

// commandError is a command that failed with what it said.
type commandError struct {
	program, said string
	err           error
}

func (e *commandError) Error() string { return e.program + ": " + e.reason() }

// reason is what the command said, or how it ended.
func (e *commandError) reason() string {
	if e.said == "" {
		return e.err.Error()
	}
	return strings.TrimPrefix(e.said, e.program+": ")
}

func (e *commandError) Unwrap() error { return e.err }

func (o *Options) once(ctx context.Context, argv []string) (string, error) {
	var stdout, stderr capped
	child, err := o.Spawner.Spawn(ctx, steps.Command{Argv: argv, Env: o.Env, Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		return "", fmt.Errorf("%s: %w", argv[0], err)
	}
	limit := time.NewTimer(o.CallWait)
	defer limit.Stop()
	select {
	case <-child.Done():
	case <-limit.C:
		return "", o.abort(child, argv[0], &stderr, fmt.Errorf("no answer within %s", o.CallWait))
	case <-ctx.Done():
		return "", o.abort(child, argv[0], &stderr, context.Cause(ctx))
	}
	if err := child.Wait(); err != nil {
		return "", &commandError{argv[0], lastLines(stderr.String()), err}
	}
	return stdout.String(), nil
}

func (o *Options) abort(child steps.Child, program string, stderr *capped, cause error) error {
	err := child.Signal("KILL")
	<-child.Done()
	return &commandError{program, lastLines(stderr.String()), errors.Join(cause, err)}
}

// transient says that a command may succeed when it is tried again.
func transient(err error) bool {
	said, ok := errors.AsType[*commandError](err)
	if !ok {
		return false
	}
	for _, text := range []string{
		"Unable to contact slurm controller", "Socket timed out", "Connection refused", "Zero Bytes were transmitted",
		"Transport endpoint is not connected", "slurmctld daemon not responding", "Slurm backup controller in standby mode",
		"Slurm temporarily unable to accept job",
	} {
		if strings.Contains(said.said, text) {
			return true
		}
	}
	return false
}

// lastLines is the end of what a command said, on one line.
func lastLines(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// capped keeps the beginning of what is written. A child's copiers write to one each.
type capped struct{ bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	if room := maxOutput - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(room, len(p))]) // it never fails
	}
	return len(p), nil
}
