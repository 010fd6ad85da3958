package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Outcome holds what a run has done and measured, before the judgement. It is the sum of the events of the run: the run
// adds each when it emits it, and [Replay] adds those of a journal again.
type Outcome struct {
	RunID string
	Plan  *plan.Plan

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
	Steps    []result.Step                // the last execution of each
	Outputs  config.Outputs               // of the steps
	Images   []result.Image
	// Launched holds the complete planned launches in execution order. Once the run has ended, interrupted ones are the
	// last, with their finished runs.
	Launched    []Launched
	RepeatsDone int // by this part of the run
	Warnings    []string

	// Owners holds the programs that executed the run and own its processes.
	Owners []string
	Seq    int           // of the last event
	Last   time.Time     // of the last event
	Took   time.Duration // by all parts of the run, without the time between them

	open   []Launched                  // launches that are not complete, in the order of their starts
	probes map[searchOf][]result.Probe // of unfinished searches
	// measuring reports that the run is between its plan and its gates. Other warnings are about its places and
	// reports, which a resumed run opens and writes again.
	measuring bool
}

func newOutcome(p *plan.Plan) *Outcome {
	return &Outcome{
		Plan: p, Describe: map[string]map[string]string{}, Applied: map[string]*result.Applied{}, Outputs: config.Outputs{},
		probes: map[searchOf][]result.Probe{},
	}
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

// add adds what an event reports.
func (o *Outcome) add(e event.Event) {
	if e.Type != event.Version && !o.Last.IsZero() { // a version event begins a new part; the time between parts counts for neither
		o.Took += e.Time.Sub(o.Last)
	}
	o.Seq, o.Last = e.Seq, e.Time
	switch e.Type {
	case event.Version:
		if o.RunID == "" {
			o.RunID, o.Started = e.RunID, e.Time
		}
		o.owner(e.Owner)
		o.measuring, o.RepeatsDone = false, 0
	case event.ProcessStart:
		if e.Process != nil {
			o.owner(e.Process.Owner)
		}
	case event.PlanReady:
		o.measuring = true
	case event.GateResult, event.ReportDone:
		o.measuring = false
	case event.Diagnostic:
		if e.Severity == event.Warning && o.measuring && !slices.Contains(o.Warnings, e.Text) {
			o.Warnings = append(o.Warnings, e.Text)
		}
	case event.StepEnd:
		o.addStep(e)
	case event.ImageReady:
		if e.Image != nil {
			o.Images = append(o.Images, *e.Image)
		}
	case event.RepeatEnd:
		if e.Replaces == 0 {
			o.RepeatsDone++
		}
	default:
		o.addToLaunch(e)
	}
}

// addToLaunch adds what an event reports about a launch. The results of a launch count once it is complete.
func (o *Outcome) addToLaunch(e event.Event) {
	switch e.Type {
	case event.LaunchStart:
		o.launchStart(e)
	case event.LaunchState:
		if e.Applied != nil {
			o.Applied[e.Target] = e.Applied
		}
	case event.LaunchReady:
		if e.Describe != nil {
			o.Describe[e.Target] = e.Describe
		}
	case event.LaunchStop, event.LaunchFail:
		if l := o.opened(e.Launch); l != nil && e.Started != nil {
			l.Attempts = append(l.Attempts, *e.Started)
		}
	case event.ProbeEnd:
		if at := (searchOf{planned(e.Launch), e.Cell, e.Pass}); e.Probe != nil {
			o.probes[at] = append(o.probes[at], *e.Probe)
		}
	case event.RunEnd:
		if e.Run == nil || e.Run.Status != result.RunCancelled { // an interrupted search resumes where it was
			delete(o.probes, searchOf{planned(e.Launch), e.Cell, e.Pass})
		}
		if l := o.opened(e.Launch); l != nil && e.Run != nil {
			l.Runs = append(l.Runs, CellRun{e.Cell, *e.Run})
		}
	case event.LaunchDone:
		if l := o.opened(e.Launch); l != nil {
			o.Launched = append(without(o.Launched, l.ID), *l) // it may have been measured before, on other nodes
			o.open = without(o.open, l.ID)
		}
	}
}

// owner adds a program that starts processes.
func (o *Outcome) owner(name string) {
	if name != "" && !slices.Contains(o.Owners, name) {
		o.Owners = append(o.Owners, name)
	}
}

// addStep adds a step with its outputs, in place of an earlier execution of it.
func (o *Outcome) addStep(e event.Event) {
	if e.Step == nil {
		return
	}
	if e.Outputs != nil {
		o.Outputs[e.Addr] = e.Outputs
	}
	if i := slices.IndexFunc(o.Steps, func(s result.Step) bool { return s.Addr == e.Addr }); i >= 0 {
		o.Steps[i] = *e.Step
		return
	}
	o.Steps = append(o.Steps, *e.Step)
}

// launchStart opens a planned launch. A first attempt resets the launch: the results of an earlier, interrupted one do
// not count.
func (o *Outcome) launchStart(e event.Event) {
	id := planned(e.Launch)
	if id == e.Launch || o.opened(id) == nil {
		o.open = append(without(o.open, id), Launched{ID: id, Repeat: e.Repeat, Target: e.Target})
	}
}

// opened returns the incomplete launch that an attempt belongs to, nil if there is none.
func (o *Outcome) opened(attempt string) *Launched {
	id := planned(attempt)
	if i := slices.IndexFunc(o.open, func(l Launched) bool { return l.ID == id }); i >= 0 {
		return &o.open[i]
	}
	return nil
}

func without(list []Launched, id string) []Launched {
	return slices.DeleteFunc(list, func(l Launched) bool { return l.ID == id })
}

// end adds the launches that the end of the run interrupted, in the order of their repeats.
func (o *Outcome) end() {
	sortByRepeat(o.open)
	o.Launched, o.open = append(o.Launched, o.open...), nil
}

// sortByRepeat sorts launches as if they had run one after the other: decisions must not depend on which lane was
// faster.
func sortByRepeat(list []Launched) {
	slices.SortStableFunc(list, func(a, b Launched) int { return cmp.Compare(a.Repeat, b.Repeat) })
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

// errTimeout is the cause when the pipeline's own timeout ends a run.
var errTimeout = errors.New("the pipeline's timeout has passed")

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
