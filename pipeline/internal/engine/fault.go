package engine

import (
	"errors"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// fault is the reason why a target cannot be measured, or not any longer. It is an outcome, not an error.
type fault struct {
	phase string // Phase of result.Failure
	class string // used if the log shows no cause
	err   error
}

// These are the phases of result.Failure for launches.
const (
	phaseStart = "start"
	phaseReady = "ready"
	phaseRun   = "run"
)

func phaseText(phase string) string {
	switch phase {
	case phaseStart:
		return "the server could not be started"
	case phaseReady:
		return "the server did not become ready"
	}
	return "the server failed during a run"
}

var (
	errDied           = errors.New("the process has ended")
	errNotReady       = errors.New("not ready in time")
	errNoAnswer       = errors.New("no answer")
	errRefused        = errors.New("the server does not serve what is asked of it")
	errCanary         = errors.New("a request through the router failed")
	errProgramTimeout = errors.New("it did not end in time: raise the benchmark's timeout if it needs longer")
	errDriverTimeout  = errors.New("the load generator did not end in time: raise the benchmark's timeout, or have it send less")
	errHung           = errors.New("the run did not end in time")
	errUnhealthy      = errors.New("the server lives but does not serve any longer")
)

// startFailed is the class of a failed start without a known cause.
const startFailed = "start_failed"

// causes holds the classes of failures that the log does not explain.
var causes = []struct {
	err   error
	class string
}{
	{errDied, "exited"},
	{errNotReady, "not_ready"},
	{errRefused, "refused"},
	{errCanary, "canary_failed"},
	{errHung, "hung"},
	{errProgramTimeout, "hung"},
	{errUnhealthy, "unhealthy"},
	{steps.ErrWrongModel, "wrong_model"},
	{process.ErrPortInUse, "port_in_use"},
}

func classOf(err error) string {
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.class
		}
	}
	if _, ok := errors.AsType[*steps.ProgramError](err); ok {
		return "exited"
	}
	return startFailed
}

func newFault(phase string, err error) *fault {
	return &fault{phase: phase, class: classOf(err), err: err}
}

// machineError is an error that is not the server's fault. The run must end.
type machineError struct{ err error }

func (e *machineError) Error() string { return e.err.Error() }
func (e *machineError) Unwrap() error { return e.err }

// memberError is an error of one member of a target.
type memberError struct {
	member *member
	err    error
}

// Error names the member if the target has several.
func (e *memberError) Error() string {
	if e.member.alone {
		return e.err.Error()
	}
	return e.member.Name + ": " + e.err.Error()
}

func (e *memberError) Unwrap() error { return e.err }

// blamed returns the member that an error is about, nil if there is none.
func blamed(err error) *member {
	if of, ok := errors.AsType[*memberError](err); ok {
		return of.member
	}
	return nil
}
