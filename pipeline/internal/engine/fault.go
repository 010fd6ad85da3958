package engine

import (
	"errors"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// fault is why a target cannot be measured, or not any longer: an outcome.
type fault struct {
	phase string // of result.Failure
	class string // where the log does not say
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
	}
	return "the server failed during a run"
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

// causes are the classes of what the log says nothing about.
var causes = []struct {
	err   error
	class string
}{
	{errDied, "exited"},
	{errNotReady, "not_ready"},
	{errRefused, "refused"},
	{errCanary, "canary_failed"},
	{errHung, "hung"},
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
	return startFailed
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
