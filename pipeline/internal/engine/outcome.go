package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/result"
)

// Outcome holds the results of a run before the judgement.
type Outcome struct {
	Started, Ended time.Time
	// Status is one of result's: complete, interrupted or failed. A run that ended early because one side does not work
	// is complete, since that is a finding.
	Status result.Status
	Reason string
	// StoppedBy is the reason why a run with a budget took fewer repeats than planned.
	StoppedBy result.StoppedBy
	// Cause of an interruption: context.Cause of the context passed to Start.
	Cause error

	Machine  map[string]string
	Describe map[string]map[string]string // by target
	Applied  map[string]*result.Applied   // by target, of its last launch
	Steps    []result.Step
	Outputs  config.Outputs // of the steps
	Images   []result.Image
	// Launched holds the planned launches in execution order. An interrupted launch is the last, with its finished
	// runs.
	Launched    []Launched
	RepeatsDone int
	Warnings    []string
}

// Launched is a planned launch with all its results.
type Launched struct {
	ID       string // of the plan
	Repeat   int
	Target   string
	Attempts []result.Launch
	Runs     []CellRun
}

// CellRun is a run of a cell.
type CellRun struct {
	Cell string // hash
	Run  result.Run
}

// failed reports whether any attempt of the launch failed.
func (l Launched) failed() bool { return l.failures() > 0 }

// refusal returns why all runs of the launch failed although the server ran: no request succeeded, or no search found a
// load at which the SLO holds. It returns "" if a run succeeded.
func (l Launched) refusal() string {
	reason := ""
	for _, r := range l.Runs {
		refused := r.Run.Sent > 0 && r.Run.Failed == r.Run.Sent || r.Run.Search != nil
		if !refused || r.Run.Status != result.RunFailed {
			return ""
		}
		reason = r.Run.Reason
	}
	return reason
}

func (l Launched) failures() int {
	n := 0
	for _, a := range l.Attempts {
		if a.Failure != nil {
			n++
		}
	}
	return n
}

// ErrTimeout is the cause when the pipeline's own timeout ends a run.
var ErrTimeout = errors.New("the pipeline's timeout has passed")

// ErrPlanChanged reports that a run cannot be resumed because its plan has changed.
var ErrPlanChanged = errors.New("the plan has changed since the run began")

// ConfigError is an error in the file that is detected only during the run.
type ConfigError struct {
	Addr string // of the block
	Err  error
}

func (e *ConfigError) Error() string { return fmt.Sprintf("%s: %v", e.Addr, e.Err) }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }
