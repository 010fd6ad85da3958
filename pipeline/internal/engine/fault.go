package engine

import (
	"errors"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// fault is why a target cannot be measured, or not any longer: an outcome.
type fault struct {
	phase string // of result.Failure
	class string // where the log does not tell
	err   error
}

// The phases of result.Failure that launches have.
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
	default:
		return "the server failed during a run"
	}
}

var (
	errDied          = errors.New("the process has ended")
	errNotReady      = errors.New("not ready in time")
	errRefused       = errors.New("the server at this url does not serve what is asked of it")
	errCanary        = errors.New("a request through the router failed")
	errDriverTimeout = errors.New("the load generator did not end in time: raise the benchmark's timeout, or have it send less")
	errHung          = errors.New("the run did not end in time")
	errUnhealthy     = errors.New("the server lives but does not serve any longer")
)

// startFailed is the class of a start that failed for a cause that nothing names.
const startFailed = "start_failed"

// classOf names a cause that the log says nothing about.
func classOf(err error) string {
	switch {
	case errors.Is(err, errDied):
		return "exited"
	case errors.Is(err, errNotReady):
		return "not_ready"
	case errors.Is(err, errRefused):
		return "refused"
	case errors.Is(err, errCanary):
		return "canary_failed"
	case errors.Is(err, errHung):
		return "hung"
	case errors.Is(err, errUnhealthy):
		return "unhealthy"
	case errors.Is(err, steps.ErrWrongModel):
		return "wrong_model"
	case errors.Is(err, process.ErrPortInUse):
		return "port_in_use"
	default:
		return startFailed
	}
}

func newFault(phase string, err error) *fault {
	return &fault{phase: phase, class: classOf(err), err: err}
}

// machineError is what keeps a server from being started and is not its fault: the run
// must end.
type machineError struct{ err error }

func (e *machineError) Error() string { return e.err.Error() }
func (e *machineError) Unwrap() error { return e.err }

// memberError is what went wrong with one member of a target.
type memberError struct {
	member *member
	err    error
}

// Error names the member where there are others.
func (e *memberError) Error() string {
	if e.member.alone {
		return e.err.Error()
	}
	return e.member.Name + ": " + e.err.Error()
}

func (e *memberError) Unwrap() error { return e.err }

// blamed is the member that an error is about, nil if it is about none.
func blamed(err error) *member {
	if of, ok := errors.AsType[*memberError](err); ok {
		return of.member
	}
	return nil
}
