package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Outcome is what a run brought, before anything is judged.
type Outcome struct {
	Started, Ended time.Time
	// Status is one of result's: complete, interrupted or failed. A run that ended early
	// because one side does not work is complete: that is a finding.
	Status result.Status
	Reason string
	// StoppedBy is why a run with a budget took fewer repeats than it had planned.
	StoppedBy result.StoppedBy
	// Cause of an interruption: context.Cause of the context that Run was given.
	Cause error

	Machine  map[string]string
	Describe map[string]map[string]string // by target
	Steps    []result.Step
	Outputs  Outputs // of the steps
	Images   []result.Image
	// Spent is what the run held machines for, with what it had before it was resumed.
	Spent plan.Spending
	// Launched holds the planned launches in the order of their execution; an
	// interrupted one, with what it had finished, is the last.
	Launched    []Launched
	RepeatsDone int
	Warnings    []string
}

// Launched is a planned launch with all that came of it.
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

// refusal is why none of the launch's requests succeeded, in any of its runs, though the
// server ran, or none of its searches found a load at which the SLO holds: "" if one did.
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

// ErrPlanChanged says that a run cannot go on because its plan is another now.
var ErrPlanChanged = errors.New("the plan has changed since the run began")

// ConfigError is a fault of the file that shows only when it is carried out.
type ConfigError struct {
	Addr  string
	Range result.Range
	Err   error
}

func (e *ConfigError) Error() string { return fmt.Sprintf("%s: %v", e.Addr, e.Err) }

// Unwrap returns the fault.
func (e *ConfigError) Unwrap() error { return e.Err }
