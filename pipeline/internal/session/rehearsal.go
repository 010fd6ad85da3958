package session

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/simulate"
)

// Rehearsal carries a plan out in virtual time: the model of the simulated servers stands
// behind the real schedule, reduction, looks and judgement, without sockets and without
// waiting. What it cannot show is everything that a real client, a real network and a
// real machine add.
type Rehearsal struct {
	cfg    *lang.Config
	plan   *plan.Plan
	models map[string]simulate.Config // by cell
}

// NewRehearsal models the servers of a plan as the file declares them.
func NewRehearsal(cfg *lang.Config, p *plan.Plan, engines map[string]steps.Engine) (*Rehearsal, error) {
	r := &Rehearsal{cfg: cfg, plan: p, models: map[string]simulate.Config{}}
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			if err := rehearsable(c); err != nil {
				return nil, fmt.Errorf("%s: %w", b.Addr, err)
			}
			m, err := r.model(c.Target, 0, engines)
			if err != nil {
				return nil, err
			}
			r.models[c.Hash] = m
		}
	}
	return r, nil
}

// Plant makes the head of every comparison its base, slower by a share: 0.05 for 5 %.
func (r *Rehearsal) Plant(slowdown float64, engines map[string]steps.Engine) (*Rehearsal, error) {
	out := &Rehearsal{cfg: r.cfg, plan: r.plan, models: maps.Clone(r.models)}
	for _, g := range r.plan.Gates {
		for _, c := range g.Comparisons {
			_, base, ok := r.plan.Cell(c.Base)
			if !ok {
				continue
			}
			m, err := r.model(base.Target, slowdown, engines)
			if err != nil {
				return nil, err
			}
			out.models[c.Head] = m
		}
	}
	return out, nil
}

// rehearsable refuses workloads that the model does not know.
func rehearsable(c plan.Cell) error {
	switch {
	case c.Workload.Driver != nil:
		return fmt.Errorf("its load comes from another generator, and a rehearsal has only its own")
	case c.Workload.Dataset.InputMax == 0:
		return fmt.Errorf("a dataset of kind %s has its lengths in its data, and a rehearsal needs them stated", c.Workload.Dataset.Kind)
	case c.Workload.Load.Arrival == "closed":
		return fmt.Errorf("a closed loop sends when an answer has come, and a rehearsal knows the arrivals beforehand")
	}
	return nil
}

// model of a target, slower by a share.
func (r *Rehearsal) model(target string, slowdown float64, engines map[string]steps.Engine) (simulate.Config, error) {
	i := slices.IndexFunc(r.cfg.Servers, func(s *lang.Server) bool { return s.Addr == target })
	if i < 0 {
		return simulate.Config{}, fmt.Errorf("%s is no single server, and a rehearsal knows nothing else", target)
	}
	s := r.cfg.Servers[i]
	e, ok := engines[s.Kind.Name]
	if !ok || s.Spec.URL != "" || s.Kind.Name == "openai" {
		return simulate.Config{}, fmt.Errorf("%s is not started by this program, so it cannot be rehearsed", target)
	}
	argv, err := Argv(e, s.Spec, true)
	if err != nil {
		return simulate.Config{}, fmt.Errorf("%s: %w", target, err)
	}
	for i := range argv {
		if argv[i] == "PORT" {
			argv[i] = "1"
		}
	}
	settings, err := settingsOf(s.Spec, 1, target)
	if err != nil {
		return simulate.Config{}, err
	}
	settings.Slowdown = max(settings.Slowdown, 1) * (1 + slowdown)
	server, err := simulate.NewServer(argv, simulate.Options{Settings: settings})
	if err != nil {
		return simulate.Config{}, fmt.Errorf("%s: %w", target, err)
	}
	return server.Config(), nil
}

// Run carries the plan out once. Each seed has its own noise of launches and steps, and
// its own content.
func (r *Rehearsal) Run(seed int) (*result.Document, error) {
	out := &engine.Outcome{Started: time.Unix(0, 0), Ended: time.Unix(1, 0), Status: result.StatusComplete}
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
			launched := engine.Launched{
				ID: l.ID, Repeat: rep.Index, Target: l.Target,
				Attempts: []result.Launch{{ID: l.ID, Repeat: rep.Index, Target: l.Target}},
			}
			for _, run := range l.Runs {
				measured, err := r.measure(seed, rep.Index, l, run)
				if err != nil {
					return nil, err
				}
				launched.Runs = append(launched.Runs, engine.CellRun{Cell: run.Cell, Run: measured})
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
	if len(r.plan.Looks) < 2 || !slices.Contains(r.plan.Looks, out.RepeatsDone) {
		return false, nil
	}
	look, err := judge.Ask(r.plan, r.document(out), judging(r.cfg, r.plan, nil))
	return look.Stop, err
}

func (r *Rehearsal) measure(seed, repeat int, l plan.Launch, run plan.Run) (result.Run, error) {
	_, cell, _ := r.plan.Cell(run.Cell)
	w := cell.Workload
	var arrivals []simulate.Arrival
	for i, at := range load.Schedule(w.Load, load.Count(w.Load), run.ShapeSeed) {
		input := between(w.Dataset.InputMin, w.Dataset.InputMax, "input", run.ShapeSeed, i)
		// Content is new in every request, as in a real run: no prefix is shared.
		arrivals = append(arrivals, simulate.Arrival{
			At: at, Input: input, Output: between(w.Dataset.OutputMin, w.Dataset.OutputMax, "output", run.ShapeSeed, i),
			Prompt: prompt(input, seed, repeat, i),
		})
	}
	timelines, err := simulate.Model{Config: r.models[run.Cell]}.Replay(arrivals, draw("launch", seed, l.ID))
	if err != nil {
		return result.Run{}, fmt.Errorf("%s: %w", l.Target, err)
	}
	requests := simulate.Records(arrivals, timelines)
	var end int64
	for _, q := range requests {
		end = max(end, q.Done)
	}
	return result.Run{
		Repeat: repeat, Launch: l.ID, Status: result.RunOK, Sent: len(requests),
		Metrics: record.Reduce(record.Run{Duration: end, Requests: requests}),
	}, nil
}

// between draws a length, the same on all sides and in all repeats.
func between(low, high int, what ...any) int {
	if high <= low {
		return low
	}
	return low + int(draw(what...)%uint64(high-low+1))
}

// prompt is n token ids that no other request has.
func prompt(n int, what ...any) []int {
	ids := make([]int, n)
	first := int(draw(what...) % 1_000_000)
	for i := range ids {
		ids[i] = first + i
	}
	return ids
}

// draw is a number that depends on its arguments alone.
func draw(what ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, what...)
	return h.Sum64()
}
