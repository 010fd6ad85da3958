package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// Rehearsal carries a plan out in virtual time again and again: the model of the simulated
// servers stands behind the real schedule, reduction, looks and judgement, without
// sockets and without waiting. What it cannot show is everything that a real client, a
// real network and a real machine add. Other than a run in virtual time it keeps no
// records, and each of its sessions has noise of its own.
type Rehearsal struct {
	cfg    *lang.Config
	plan   *plan.Plan
	target target.Resolver // without places
	places []place.Kind
	cells  map[string]measuredOn // by cell
}

// measuredOn is what a cell is measured on.
type measuredOn struct {
	target   string
	slowdown float64
}

// NewRehearsal models the targets of a plan as the file declares them.
func NewRehearsal(kinds []place.Kind, cfg *lang.Config, p *plan.Plan, engines map[string]steps.Engine) (*Rehearsal, error) {
	virtual := *p
	virtual.Simulated = plan.SimulateVirtual
	r := &Rehearsal{
		cfg: cfg, plan: p, places: kinds, cells: map[string]measuredOn{},
		target: target.Resolver{Config: cfg, Plan: &virtual, Engines: engines, Dir: target.Folder(cfg)},
	}
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			r.cells[c.Hash] = measuredOn{target: c.Target}
		}
	}
	return r, errors.Join(r.check()...)
}

// check finds what of the plan cannot be carried out in virtual time.
func (r *Rehearsal) check() (found []error) {
	err := inFolder(func(folder func(string) (string, error)) error {
		on, err := r.on(folder, 0)
		if err == nil {
			found = on.Check(false)
		}
		return err
	})
	return append(found, err)
}

// on is the resolver of a machine of its own, on which servers are slower by a share.
func (r *Rehearsal) on(folder func(string) (string, error), slowdown float64) (target.Resolver, error) {
	on := r.target
	on.Folder, on.Slowdown = folder, slowdown
	on.Places = place.NewSet(r.places, place.Options{Config: r.cfg, Plan: on.Plan, Dir: on.Dir, Self: "pipeline", Now: epoch, Folder: folder})
	return on, on.Places.Prepare(on.Planned())
}

// epoch is when rehearsals begin.
func epoch() time.Time { return time.Unix(0, 0) }

// Plant makes the head of every comparison its base, slower by a share: 0.05 for 5 %. A
// side that is the base of one comparison and the head of another is slower than its base,
// and its heads are slower again; all that are compared with each other, over others too,
// are played by the same servers.
func (r *Rehearsal) Plant(slowdown float64) *Rehearsal {
	out := *r
	out.cells = maps.Clone(r.cells)
	bases, group := map[string][]string{}, map[string]string{}
	for _, g := range r.plan.Gates {
		for _, c := range g.Comparisons {
			if _, _, ok := r.plan.Cell(c.Base); ok {
				bases[c.Head] = append(bases[c.Head], c.Base)
				join(group, c.Base, c.Head)
			}
		}
	}
	roots := map[string]string{} // targets, by group
	for _, b := range r.plan.Benchmarks {
		for _, c := range b.Cells {
			if leader := leaderOf(group, c.Hash); len(bases[c.Hash]) == 0 && roots[leader] == "" {
				roots[leader] = c.Target
			}
		}
	}
	for _, b := range r.plan.Benchmarks {
		for _, c := range b.Cells {
			steps := stepsFrom(c.Hash, bases, map[string]bool{})
			target := cmp.Or(roots[leaderOf(group, c.Hash)], c.Target)
			out.cells[c.Hash] = measuredOn{target, math.Pow(1+slowdown, float64(steps)) - 1}
		}
	}
	return &out
}

// join puts two cells, and all that are in their groups, into one group. Its leader is the
// cell that belongs to nobody else.
func join(group map[string]string, a, b string) {
	if x, y := leaderOf(group, a), leaderOf(group, b); x != y {
		group[y] = x
	}
}

func leaderOf(group map[string]string, cell string) string {
	for group[cell] != "" {
		cell = group[cell]
	}
	return cell
}

// stepsFrom is over how many comparisons a cell is compared with the side that is nobody's
// head; of several ways the longest. A cell that is seen again leads nowhere.
func stepsFrom(cell string, bases map[string][]string, seen map[string]bool) int {
	steps := 0
	seen[cell] = true
	for _, base := range bases[cell] {
		if !seen[base] {
			steps = max(steps, 1+stepsFrom(base, bases, seen))
		}
	}
	delete(seen, cell)
	return steps
}

// Run carries the plan out once. Each seed has its own noise of launches and steps, and
// its own content.
func (r *Rehearsal) Run(seed int) (doc *result.Document, err error) {
	err = inFolder(func(folder func(string) (string, error)) error {
		doc, err = r.run(seed, folder)
		return err
	})
	return doc, err
}

func (r *Rehearsal) run(seed int, folder func(string) (string, error)) (*result.Document, error) {
	out := &engine.Outcome{Started: epoch(), Ended: epoch().Add(time.Second), Status: result.StatusComplete}
	for _, rep := range r.plan.Repeats {
		over, err := r.decided(out)
		if err != nil {
			return nil, err
		}
		if over {
			break
		}
		out.RepeatsDone++
		for _, l := range rep.Launches {
			launched, err := r.launch(seed, rep.Index, l, folder)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.Target, err)
			}
			out.Launched = append(out.Launched, launched)
		}
	}
	doc := r.document(out)
	return doc, Judge(r.cfg, r.plan, doc, nil)
}

func (r *Rehearsal) document(out *engine.Outcome) *result.Document {
	return engine.Document(r.plan, out, engine.About{Tool: "pipeline", RunID: "rehearsal"})
}

// decided takes the look that is due, if one is.
func (r *Rehearsal) decided(out *engine.Outcome) (bool, error) {
	p := r.plan
	if len(p.Looks) < 2 || !slices.Contains(p.Looks, out.RepeatsDone) {
		return false, nil
	}
	look, err := judge.TakeLook(p, r.document(out), judging(r.cfg, p, nil))
	return look.Stop, err
}

// launch measures the cells of a launch, each on what it is played by.
func (r *Rehearsal) launch(seed, repeat int, l plan.Launch, folder func(string) (string, error)) (engine.Launched, error) {
	out := engine.Launched{
		ID: l.ID, Repeat: repeat, Target: l.Target,
		Attempts: []result.Launch{{ID: l.ID, Repeat: repeat, Target: l.Target}},
	}
	machines := map[measuredOn]rehearsed{}
	for _, run := range l.Runs {
		p := r.cells[run.Cell]
		m, ok := machines[p]
		if !ok {
			var err error
			if m, err = r.start(p, fmt.Sprintf("%s of session %d", l.ID, seed), folder); err != nil {
				return out, err
			}
			machines[p] = m
		}
		measured, err := r.measure(seed, repeat, l, run, m)
		if err != nil {
			return out, err
		}
		out.Runs = append(out.Runs, engine.CellRun{Cell: run.Cell, Run: measured})
	}
	return out, nil
}

// rehearsed is a target that was started in virtual time.
type rehearsed struct {
	model *place.Model
	front string
}

func (r *Rehearsal) start(p measuredOn, launch string, folder func(string) (string, error)) (rehearsed, error) {
	on, err := r.on(folder, p.slowdown)
	if err != nil {
		return rehearsed{}, err
	}
	t, err := on.Resolve(p.target, nil)
	if err != nil {
		return rehearsed{}, err
	}
	m := rehearsed{model: on.Places.Model()}
	m.front, err = m.model.Launch(context.Background(), t, launch, io.Discard)
	return m, err
}

func (r *Rehearsal) measure(seed, repeat int, l plan.Launch, run plan.Run, m rehearsed) (result.Run, error) {
	_, cell, _ := r.plan.Cell(run.Cell)
	m.model.Reset(m.front)
	got, err := m.model.Load(context.Background(), load.Options{
		BaseURL: m.front, Workload: cell.Workload, Seed: draw("content", seed, run.Seed), ShapeSeed: run.ShapeSeed,
	})
	if err != nil {
		return result.Run{}, err
	}
	out := result.Run{
		Repeat: repeat, Pass: run.Pass, Launch: l.ID, Status: result.RunOK, Sent: len(got.Run.Requests), Overloaded: got.Run.Audit.Overloaded,
		Metrics: record.Reduce(got.Run),
	}
	for _, q := range got.Run.Requests {
		if q.Failure != "" {
			out.Failed++
		}
	}
	if out.Failed == out.Sent {
		out.Status, out.Reason, out.Metrics = result.RunFailed, "no request succeeded", nil
	}
	return out, nil
}

// inFolder lends a folder for the files of processes.
func inFolder(do func(folder func(name string) (string, error)) error) error {
	dir, err := os.MkdirTemp("", "pipeline-virtual-")
	if err != nil {
		return err
	}
	return errors.Join(do(func(string) (string, error) { return os.MkdirTemp(dir, "") }), os.RemoveAll(dir))
}

// draw is a number that depends on its arguments alone.
func draw(what ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, what...)
	return h.Sum64()
}
