package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// call runs one of Slurm's commands and returns its output. It retries for a while if the controller does not
// answer, since it may be restarting.
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

// commandError is a failed command with its error output.
type commandError struct {
	program, said string
	err           error
}

func (e *commandError) Error() string { return e.program + ": " + e.reason() }

// reason returns the error output, or else how the command ended.
func (e *commandError) reason() string {
	if e.said == "" {
		return e.err.Error()
	}
	return strings.TrimPrefix(e.said, e.program+": ")
}

func (e *commandError) Unwrap() error { return e.err }

func (o *Options) once(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.CallWait, fmt.Errorf("no answer within %s", o.CallWait))
	defer cancel()
	out, said, err := steps.Output(ctx, o.Spawner, steps.Command{Argv: argv, Env: o.Env})
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, steps.ErrNotStarted):
		return "", fmt.Errorf("%s: %w", argv[0], err)
	}
	return "", &commandError{argv[0], lastLines(said), err}
}

// transient reports whether a command may succeed when retried.
func transient(err error) bool {
	said, ok := errors.AsType[*commandError](err)
	return ok && says(said.said, "Unable to contact slurm controller", "Socket timed out", "Connection refused", "Zero Bytes were transmitted",
		"Transport endpoint is not connected", "slurmctld daemon not responding", "Slurm backup controller in standby mode",
		"Slurm temporarily unable to accept job")
}

// says reports whether Slurm's output contains one of several texts.
func says(text string, any ...string) bool {
	return slices.ContainsFunc(any, func(t string) bool { return strings.Contains(text, t) })
}

// lastLines returns the last three lines of a text as one line.
func lastLines(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	return strings.Join(lines, "; ")
}
