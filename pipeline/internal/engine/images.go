package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// images pulls the images of all launches before the first launch. So no pull runs during a launch, and a failed pull
// costs no GPU time. Lanes pull at the same time if they have separate machines. Each launch requests its images again
// and finds them present.
func (r *runner) images(ctx context.Context) error {
	if r.plan.Simulated != "" { // simulated servers are this program, which is present
		return nil
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var all sync.WaitGroup
	for _, rep := range r.lanesLeft() {
		all.Go(func() {
			if err := r.imagesOf(ctx, rep); err != nil {
				end(err) // the first error causes all others
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.bus.Err()
}

// lanesLeft returns the remaining launches as one repeat per lane, since each lane has its nodes.
func (r *runner) lanesLeft() []plan.Repeat {
	var out []plan.Repeat
	for _, rep := range r.plan.Repeats {
		lane := rep.Lane
		i := slices.IndexFunc(out, func(of plan.Repeat) bool { return of.Lane == lane })
		if i < 0 {
			i = len(out)
			out = append(out, plan.Repeat{Lane: lane})
		}
		for _, l := range rep.Launches {
			_, done := r.resumed[l.ID]
			known := slices.ContainsFunc(out[i].Launches, func(of plan.Launch) bool { return of.Target == l.Target })
			if !done && !known {
				out[i].Launches = append(out[i].Launches, l)
			}
		}
	}
	return out
}

// imagesOf pulls the images of the targets of a lane, each once per node.
func (r *runner) imagesOf(ctx context.Context, rep plan.Repeat) error {
	lane := r.lane(rep)
	type image struct {
		name, platform string
		node           int
	}
	got := map[image]bool{}
	for _, l := range rep.Launches {
		needs, err := r.contained(job{Launch: l, lane: lane})
		if err != nil {
			return err
		}
		for _, n := range needs {
			c := n.process.Container
			of := image{c.Image, c.Platform, n.node}
			if got[of] {
				continue
			}
			got[of] = true
			if err := r.image(ctx, n, lane.Nodes); err != nil {
				return err
			}
		}
	}
	return nil
}

// contained is a process that is started from an image.
type contained struct {
	process steps.Process
	node    int
	prepare func(context.Context, steps.Process) error
}

// contained lists the processes of a launch whose images a launcher pulls.
func (r *runner) contained(j job) ([]contained, error) {
	s := &server{job: j, target: r.plan.Target(j.Target)}
	var err error
	if s.spec, err = j.lane.Target(j.Target, r.out.Outputs); err != nil {
		return nil, r.config(s, err)
	}
	prepares := func(m Member) bool { return m.prepare() != nil }
	if s.spec.Render == nil || !slices.ContainsFunc(s.spec.Members, prepares) {
		return nil, nil
	}
	if err := makeCaches(s.spec); err != nil {
		return nil, err
	}
	ports, err := r.takePorts(s)
	defer s.release()
	if err != nil {
		return nil, err
	}
	processes, err := s.spec.Render(j.ID, ports)
	if err != nil {
		return nil, r.config(s, err)
	}
	var out []contained
	for _, m := range s.spec.Members {
		if p := processes[m.Name].Process; m.prepare() != nil && p.Container != nil {
			out = append(out, contained{p, m.Spec.Node, m.prepare()})
		}
	}
	return out, nil
}

// image pulls an image. A failed pull is not the server's fault.
func (r *runner) image(ctx context.Context, of contained, nodes string) error {
	image := result.Image{Image: of.process.Container.Image, For: of.process.Name, Nodes: nodes}
	start := image
	r.bus.Emit(event.Event{Type: event.ImageStart, Image: &start, Text: "looking for image " + image.Image})
	began := r.o.Now()
	if err := of.prepare(ctx, of.process); err != nil {
		return &machineError{fmt.Errorf("before anything is launched: %w", err)}
	}
	image.Seconds = r.o.Now().Sub(began).Seconds()
	r.bus.Emit(event.Event{Type: event.ImageReady, Image: &image, Text: fmt.Sprintf("image %s is there after %s", image.Image,
		humanize.Duration(seconds(image.Seconds)))})
	return nil
}
