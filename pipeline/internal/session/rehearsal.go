package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/scratch"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/load"
)

// Rehearsal runs a plan in virtual time repeatedly. The model of the simulated servers is used with the real
// schedule, reduction, looks and judgement, without sockets and waiting. It cannot show effects of a real
// client, network or machine. Unlike a run in virtual time, it stores no records, and each session has its own
// noise.
type Rehearsal struct {
	plan   *plan.Plan
	target target.Resolver // without places
	places []place.Kind
	cells  map[string]measuredOn // by cell hash
}

// measuredOn holds the target of a cell, and its planted slowdown.
type measuredOn struct {
	target   string
	slowdown float64
}

// NewRehearsal models the targets of a plan as declared in the file.
func NewRehearsal(kinds []place.Kind, p *plan.Plan, engines map[string]steps.Engine,
	connectors kv.Table) (*Rehearsal, error) {
	virtual := *p
	virtual.Simulated = plan.SimulateVirtual
	r := &Rehearsal{
		plan: p, places: kinds, cells: map[string]measuredOn{},
		target: target.Resolver{Plan: &virtual, Engines: engines, Connectors: connectors},
	}
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			r.cells[c.Hash] = measuredOn{target: c.Target}
		}
	}
	return r, errors.Join(r.check()...)
}

// check reports which parts of the plan cannot run in virtual time.
func (r *Rehearsal) check() (found []error) {
	err := inFolder(func(folder func(string) (string, error)) error {
		on, err := r.on(folder)
		if err == nil {
			found = on.Check(false)
		}
		return err
	})
	return append(found, err)
}

// on returns a resolver with its own virtual machine.
func (r *Rehearsal) on(folder func(string) (string, error)) (target.Resolver, error) {
	on := r.target
	on.Folder = folder
	on.Places = place.NewSet(r.places, place.Options{Connectors: on.Connectors, Plan: on.Plan, Self: "pipeline",
		Now: epoch, Folder: folder})
	return on, on.Places.Prepare(on.Planned())
}

// epoch is when rehearsals begin.
func epoch() time.Time { return time.Unix(0, 0) }

// Plant makes the head of every comparison equal to its base, but slower by a share: 0.05 for 5 %. If a side is
// the base of one comparison and the head of another, slowdowns accumulate. The same servers play all sides
// that are compared with each other, directly or indirectly.
func (r *Rehearsal) Plant(slowdown float64) *Rehearsal {
	out := *r
	out.cells = maps.Clone(r.cells)
	bases, group := map[string][]string{}, engine.ComparedTogether(r.plan)
	for _, g := range r.plan.Gates {
		for _, c := range g.Comparisons {
			if _, _, ok := r.plan.Cell(c.Base); ok {
				bases[c.Head] = append(bases[c.Head], c.Base)
			}
		}
	}
	roots := map[string]string{} // targets by group
	for _, b := range r.plan.Benchmarks {
		for _, c := range b.Cells {
			if of := group[c.Hash]; len(bases[c.Hash]) == 0 && roots[of] == "" {
				roots[of] = c.Target
			}
		}
	}
	for _, b := range r.plan.Benchmarks {
		for _, c := range b.Cells {
			steps := stepsFrom(c.Hash, bases, map[string]bool{})
			target := cmp.Or(roots[group[c.Hash]], c.Target)
			out.cells[c.Hash] = measuredOn{target, math.Pow(1+slowdown, float64(steps)) - 1}
		}
	}
	return &out
}

// stepsFrom returns the number of comparisons between a cell and the side that is not the head of a comparison,
// along the longest path. It ignores cycles.
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

// Run runs the plan once. Each seed has its own noise of launches and steps, and its own content.
func (r *Rehearsal) Run(seed int) (doc *result.Document, err error) {
	err = inFolder(func(folder func(string) (string, error)) error {
		doc, err = r.run(seed, folder)
		return err
	})
	return doc, err
}

// run runs the plan, and judges it.
func (r *Rehearsal) run(seed int, folder func(string) (string, error)) (*result.Document, error) {
	doc, err := r.carryOut(seed, folder)
	if err != nil {
		return nil, err
	}
	return doc, judge.Judge(r.plan, doc, judge.OptionsOf(r.plan, nil))
}

// carryOut runs the plan like any other run, with a store that stores nothing.
func (r *Rehearsal) carryOut(seed int, folder func(string) (string, error)) (*result.Document, error) {
	on, err := r.on(folder)
	if err != nil {
		return nil, err
	}
	m, planned := on.Places.Model(), r.planned()
	out, err := engine.Run(context.Background(), engine.Options{
		Plan: planned.plan, Store: store.Discard{}, Bus: event.NewBus(m.Now, 0), Ports: m.Ports, Now: m.Now, Bare: true,
		Drive: modelledDrive(seed, driveOnly), Target: planned.resolve(on, seed),
		Load: func(ctx context.Context, opt load.Options) (load.Result, error) {
			opt.Seed = draw("content", seed, opt.Seed)
			return m.Load(ctx, opt)
		},
	}, func(so *engine.Outcome) (judge.Look, error) {
		return judge.TakeLook(r.plan, planned.restore(so, r.plan).Document(), judge.OptionsOf(r.plan, nil))
	})
	if err != nil {
		return nil, err
	}
	return planned.restore(out, r.plan).Document(), nil
}

// planted is a plan whose launches are split by what their cells are measured on.
type planted struct {
	plan *plan.Plan
	// sides maps target names to what they stand for.
	sides map[string]measuredOn
	// launches and targets map the launches of this plan to those of the original plan.
	launches, targets map[string]string
}

func (r *Rehearsal) planned() planted {
	out := planted{sides: map[string]measuredOn{}, launches: map[string]string{}, targets: map[string]string{}}
	p := *r.target.Plan
	p.Repeats = slices.Clone(p.Repeats)
	for i, rep := range p.Repeats {
		p.Repeats[i].Launches = nil
		for _, l := range rep.Launches {
			p.Repeats[i].Launches = append(p.Repeats[i].Launches, out.split(l, r.cells)...)
		}
	}
	out.plan = &p
	return out
}

// split splits a launch into one for each side on which its cells are measured.
func (p *planted) split(l plan.Launch, cells map[string]measuredOn) []plan.Launch {
	var out []plan.Launch
	of := map[measuredOn]int{}
	for _, run := range l.Runs {
		side := cells[run.Cell]
		i, ok := of[side]
		if !ok {
			i = len(out)
			of[side] = i
			part := plan.Launch{ID: l.ID, Target: side.String()}
			if i > 0 {
				part.ID += fmt.Sprintf("/%d", i+1)
			}
			out = append(out, part)
			p.sides[part.Target], p.launches[part.ID], p.targets[part.ID] = side, l.ID, l.Target
		}
		out[i].Runs = append(out[i].Runs, run)
	}
	return out
}

// resolve returns a function that resolves the targets of the plan as their sides; seed determines the noise of
// their launches.
func (p *planted) resolve(on target.Resolver, seed int) func(string, config.Outputs) (engine.TargetSpec, error) {
	return func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
		side, on := p.sides[addr], on
		on.Slowdown = side.slowdown
		t, err := on.Resolve(side.target, outputs)
		if render := t.Render; err == nil && render != nil {
			t.Render = func(launch string, ports map[kv.Port]int) (map[string]engine.Process, error) {
				return render(fmt.Sprintf("%s of session %d", p.launches[launch], seed), ports)
			}
		}
		return t, err
	}
}

// String formats a side.
func (m measuredOn) String() string {
	if m.slowdown == 0 {
		return m.target
	}
	return fmt.Sprintf("%s, slower by %g %%", m.target, 100*m.slowdown)
}

// restore converts an outcome to one of the original plan.
func (p *planted) restore(out *engine.Outcome, original *plan.Plan) *engine.Outcome {
	whole := *out
	whole.Plan, whole.Launched = original, nil
	for _, l := range out.Launched {
		id := p.launches[l.ID]
		l.Target = p.targets[l.ID]
		l.Attempts = slices.Clone(l.Attempts)
		for i := range l.Attempts {
			l.Attempts[i].Target = l.Target
		}
		if n := len(whole.Launched); l.ID != id && n > 0 && whole.Launched[n-1].ID == id {
			whole.Launched[n-1].Runs = append(slices.Clip(whole.Launched[n-1].Runs), l.Runs...)
			continue
		}
		whole.Launched = append(whole.Launched, l)
	}
	return &whole
}

// inFolder calls do with a temporary folder for the files of processes.
func inFolder(do func(folder func(name string) (string, error)) error) error {
	dir, err := scratch.New(scratch.Rehearsal)
	if err != nil {
		return err
	}
	return errors.Join(do(func(string) (string, error) { return os.MkdirTemp(dir.Path, "") }), dir.Remove())
}

// draw returns a number that depends only on its arguments.
func draw(what ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, what...)
	return h.Sum64()
}
