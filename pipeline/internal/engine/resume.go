package engine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// State holds the progress of a run according to its journal.
type State struct {
	RunID   string
	Started time.Time
	Seq     int           // of the last event
	Last    time.Time     // of the last event
	Took    time.Duration // by all parts of the run, without the time between them
	// Plan is the plan with which the run began.
	Plan *plan.Plan
	// Launched holds the complete planned launches.
	Launched []Launched
	Steps    []StepDone
	Describe map[string]map[string]string
	Applied  map[string]*result.Applied
	Images   []result.Image
	// Owners holds the programs that executed the run and own its processes.
	Owners   []string
	Warnings []string

	probes map[searchOf][]result.Probe // of unfinished searches
}

// StepDone is a finished step with its outputs.
type StepDone struct {
	Step    result.Step
	Outputs map[string]string
}

// LoadState reads the plan and the journal of a run directory. It ignores a torn last line.
func LoadState(dir *store.Dir) (*State, error) {
	s := &State{Plan: &plan.Plan{}, Describe: map[string]map[string]string{}, Applied: map[string]*result.Applied{},
		probes: map[searchOf][]result.Probe{}}
	if err := dir.ReadJSON(store.PlanFile, s.Plan); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	b := builder{state: s, open: map[string]*Launched{}}
	if err := dir.Events(b.add); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	if s.RunID == "" { // killed before its first event
		s.RunID = filepath.Base(dir.Path())
	}
	s.forgive()
	return s, nil
}

// forgive drops the failed launches of a run that ended as an infrastructure failure. They are tried again, since the
// cause was presumably repaired before resuming.
func (s *State) forgive() {
	if st := decideStop(s.Plan, s.Launched); st != nil && st.infrastructure {
		s.Launched = slices.DeleteFunc(s.Launched, Launched.failed)
	}
}

// check returns why a state does not belong to a plan, nil if it does.
func (s *State) check(p *plan.Plan) error {
	if s.Plan.Fingerprint != p.Fingerprint {
		what := plan.Differences(s.Plan, p)
		if len(what) == 0 {
			what = []string{fmt.Sprintf("its fingerprint: %s then, %s now", s.Plan.Fingerprint, p.Fingerprint)}
		}
		return fmt.Errorf("%w: %s; run without --resume, or undo the change", ErrPlanChanged, strings.Join(what, "; "))
	}
	return nil
}

// builder replays a journal. The results of a launch count once the launch is closed.
type builder struct {
	state *State
	open  map[string]*Launched // by planned launch
	// judged reports that the replayed session has reached its gates or reports.
	judged bool
}

// owner adds a program that starts processes.
func (b *builder) owner(name string) {
	if s := b.state; name != "" && !slices.Contains(s.Owners, name) {
		s.Owners = append(s.Owners, name)
	}
}

func (b *builder) add(e event.Event) error {
	s := b.state
	if e.Type != event.Version && !s.Last.IsZero() { // a version event begins a new part; the time between parts counts for neither
		s.Took += e.Time.Sub(s.Last)
	}
	s.Seq, s.Last = e.Seq, e.Time
	switch e.Type {
	case event.Version:
		if s.RunID == "" {
			s.RunID, s.Started = e.RunID, e.Time
		}
		b.owner(e.Owner)
		b.judged = false
	case event.GateResult, event.ReportDone:
		b.judged = true
	case event.StepEnd:
		if e.Step != nil && (e.Step.Status == result.StepDone || e.Step.Status == result.StepCached) {
			s.Steps = append(s.Steps, StepDone{*e.Step, e.Outputs})
		}
	case event.Diagnostic:
		// Warnings after the gates are about reports, which a resumed run writes again.
		if e.Severity == event.Warning && !b.judged && !slices.Contains(s.Warnings, e.Text) {
			s.Warnings = append(s.Warnings, e.Text)
		}
	case event.ImageReady:
		if e.Image != nil {
			s.Images = append(s.Images, *e.Image)
		}
	case event.ProcessStart:
		if e.Process != nil {
			b.owner(e.Process.Owner)
		}
	case event.LaunchStart:
		b.launchStart(e)
	case event.LaunchState:
		if e.Applied != nil {
			s.Applied[e.Target] = e.Applied
		}
	case event.LaunchReady:
		if e.Describe != nil {
			s.Describe[e.Target] = e.Describe
		}
	case event.LaunchStop, event.LaunchFail:
		b.attempt(e)
	case event.ProbeEnd:
		if at := (searchOf{planned(e.Launch), e.Cell, e.Pass}); e.Probe != nil {
			s.probes[at] = append(s.probes[at], *e.Probe)
		}
	case event.RunEnd:
		if e.Run == nil || e.Run.Status != result.RunCancelled { // an interrupted search resumes where it was
			delete(s.probes, searchOf{planned(e.Launch), e.Cell, e.Pass})
		}
		if l := b.open[planned(e.Launch)]; l != nil && e.Run != nil {
			l.Runs = append(l.Runs, CellRun{e.Cell, *e.Run})
		}
	case event.LaunchDone:
		if l := b.open[e.Launch]; l != nil {
			s.Launched = slices.DeleteFunc(s.Launched, func(before Launched) bool { return before.ID == l.ID }) // measured again on other nodes
			s.Launched = append(s.Launched, *l)
			delete(b.open, e.Launch)
		}
	}
	return nil
}

// launchStart opens a planned launch. A first attempt resets the launch: the results of an earlier, interrupted one do
// not count.
func (b *builder) launchStart(e event.Event) {
	id := planned(e.Launch)
	if id == e.Launch || b.open[id] == nil {
		b.open[id] = &Launched{ID: id, Repeat: e.Repeat, Target: e.Target}
	}
}

func (b *builder) attempt(e event.Event) {
	l := b.open[planned(e.Launch)]
	if l == nil || e.Started == nil {
		return
	}
	l.Attempts = slices.DeleteFunc(l.Attempts, func(a result.Launch) bool { return a.ID == e.Started.ID })
	l.Attempts = append(l.Attempts, *e.Started)
}

// JournalSpawn returns a hook for the spawner that records every process in the journal. A later run can then find the
// processes that this one leaves if it is killed. owner names this program.
func JournalSpawn(bus *event.Bus, owner string) func(pid int, start uint64, argv []string) {
	return func(pid int, start uint64, argv []string) {
		bus.Emit(event.Event{Type: event.ProcessStart, Process: &event.Process{PID: pid, Start: start, Argv: argv, Owner: owner}})
	}
}
