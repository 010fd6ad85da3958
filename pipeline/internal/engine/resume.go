package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// Replay reads the plan and the journal of a run directory, and returns what the run has done. It ignores a torn last
// line.
func Replay(dir *store.Dir) (*Outcome, error) {
	o := newOutcome(&plan.Plan{})
	if err := dir.ReadJSON(store.PlanFile, o.Plan); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	if err := dir.Events(func(e event.Event) error { o.add(e); return nil }); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	if o.RunID == "" { // killed before its first event
		o.RunID = filepath.Base(dir.Path())
	}
	o.forgive()
	return o, nil
}

// forgive drops the failed launches of a run that ended as an infrastructure failure. They are tried again, since the
// cause was presumably repaired before resuming.
func (o *Outcome) forgive() {
	if st := decideStop(o.Plan, o.Launched); st != nil && st.infrastructure {
		o.Launched = slices.DeleteFunc(o.Launched, Launched.failed)
	}
}

// check returns why an outcome does not belong to a plan, nil if it does.
func (o *Outcome) check(p *plan.Plan) error {
	if o.Plan.Fingerprint != p.Fingerprint {
		what := plan.Differences(o.Plan, p)
		if len(what) == 0 {
			what = []string{fmt.Sprintf("its fingerprint: %s then, %s now", o.Plan.Fingerprint, p.Fingerprint)}
		}
		return fmt.Errorf("%w: %s; run without --resume, or undo the change", ErrPlanChanged, strings.Join(what, "; "))
	}
	return nil
}

// resume continues an earlier part of the run, without its steps and launches. The run adopts these in the order of the
// plan, so that its decisions are the same as without the interruption.
func (o *Outcome) resume(earlier *Outcome) {
	o.RunID, o.Started, o.Took = earlier.RunID, earlier.Started, earlier.Took
	o.Images, o.Warnings, o.Owners = slices.Clone(earlier.Images), slices.Clone(earlier.Warnings), slices.Clone(earlier.Owners)
	maps.Copy(o.Describe, earlier.Describe)
	maps.Copy(o.Applied, earlier.Applied)
	for at, probes := range earlier.probes {
		o.probes[at] = slices.Clone(probes)
	}
}

// finished returns a step that an earlier part of the run has finished, with its outputs.
func (o *Outcome) finished(addr string) (s result.Step, outputs map[string]string, ok bool) {
	i := slices.IndexFunc(o.Steps, func(s result.Step) bool { return s.Addr == addr })
	if i < 0 || o.Steps[i].Status != result.StepDone && o.Steps[i].Status != result.StepCached {
		return s, nil, false
	}
	return o.Steps[i], o.Outputs[addr], usable(o.Outputs[addr])
}

// usable reports whether outputs survived the journal: masked ones are lost.
func usable(outputs map[string]string) bool {
	for _, v := range outputs {
		if strings.Contains(v, event.Mask) {
			return false
		}
	}
	return true
}

// JournalSpawn returns a hook for the spawner that records every process in the journal. A later run can then find the
// processes that this one leaves if it is killed. owner names this program.
func JournalSpawn(bus *event.Bus, owner string) func(pid int, start uint64, argv []string) {
	return func(pid int, start uint64, argv []string) {
		bus.Emit(event.Event{Type: event.ProcessStart, Process: &event.Process{PID: pid, Start: start, Argv: argv, Owner: owner}})
	}
}
