package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// registry has images that take their time to be pulled, or cannot be. A machine that has one keeps it.
type registry struct {
	takes map[string]time.Duration
	fails map[string]error
	here  map[string]bool
	asked []string
}

func (r *registry) pull(ctx context.Context, p steps.Process) error {
	image := p.Container.Image
	r.asked = append(r.asked, image)
	if r.here[image] {
		return nil
	}
	select {
	case <-time.After(r.takes[image]):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := r.fails[image]; err != nil {
		return err
	}
	r.here[image] = true
	return nil
}

// imagesOfSides has each side started from an image of its own.
func imagesOfSides(s *session) *registry {
	r := &registry{
		takes: map[string]time.Duration{"engine:base": 4 * time.Minute, "engine:head": 10 * time.Minute},
		fails: map[string]error{}, here: map[string]bool{},
	}
	resolve := s.o.Target
	s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
		spec, err := resolve(addr, outputs)
		m := &spec.Members[0]
		m.Spec.Image = "engine:" + map[string]string{base: "base", head: "head"}[addr]
		m.Launcher = &pullingLauncher{Launcher: m.Launcher, prepare: r.pull}
		return spec, err
	}
	return r
}

// All images are there before the first launch begins, and are asked for again by each launch: what
// that takes is in the document and no part of what a launch held.
func TestImagesAreThereBeforeTheFirstLaunch(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		r := imagesOfSides(s)
		began := time.Now()
		out := s.run(t, t.Context())
		first := s.events.of(event.LaunchStart)[0].Time.Sub(began)
		if out.Status != result.StatusComplete || first != 14*time.Minute {
			t.Errorf("%s (%s), the first launch began after %s", out.Status, out.Reason, first)
		}
		if want := "engine:base engine:head"; !strings.HasPrefix(strings.Join(r.asked, " "), want) || len(r.asked) != 2+4 {
			t.Errorf("asked for %v", r.asked)
		}
		want := []result.Image{{Image: "engine:base", For: base, Seconds: 240}, {Image: "engine:head", For: head, Seconds: 600}}
		if diff := cmp.Diff(want, out.Images); diff != "" {
			t.Errorf("images (-want +got):\n%s", diff)
		}
		doc := checkDocument(t, p, out)
		if bill := result.NewBill(doc); bill.ImagesSeconds != 840 || bill.Spent.MachineHours > 0.1 {
			t.Errorf("bill %+v", bill)
		}
		if again := s.events.of(event.ImageReady); len(again) != 2 || s.events.of(event.ImageStart)[1].Image.Image != "engine:head" {
			t.Errorf("events %+v", again)
		}
	})
}

// The image of the second side cannot be pulled: nothing was launched, and no side is to blame.
func TestAnImageThatCannotBePulledCostsNoLaunch(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		imagesOfSides(s).fails["engine:head"] = errors.New("manifest unknown")
		out := s.run(t, t.Context())
		if want := "before anything is launched: manifest unknown"; out.Status != result.StatusFailed || out.Reason != want {
			t.Errorf("%s (%s), want %q", out.Status, out.Reason, want)
		}
		if len(out.Launched) != 0 || len(s.w.launched) != 0 {
			t.Errorf("launched %v", s.w.launched)
		}
	})
}

// Machines pull at the same time, and one that cannot ends the others.
func TestMachinesPullAtTheSameTime(t *testing.T) {
	p := inLanes(t, 4, 2)
	for name, fails := range map[string]error{"all": nil, "not the first": errors.New("no space left on device")} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, p)
			machines := []*registry{imagesOfSides(s)}
			first := s.o.Target
			s.o.Target = s.w.target
			machines = append(machines, imagesOfSides(s))
			second := s.o.Target
			s.o.Lane = func(lane int) engine.Lane {
				return engine.Lane{Target: []func(string, config.Outputs) (engine.TargetSpec, error){first, second}[lane],
					Nodes: []string{"a", "b"}[lane]}
			}
			machines[0].fails["engine:base"] = fails
			began := time.Now()
			out := s.run(t, t.Context())
			if fails != nil {
				if took := time.Since(began); took > 5*time.Minute || !strings.HasSuffix(out.Reason, fails.Error()) || len(out.Launched) > 0 {
					t.Errorf("%s: %s after %s", name, out.Reason, took)
				}
				return
			}
			if began := s.events.of(event.LaunchStart)[0].Time.Sub(began); began != 14*time.Minute || len(out.Images) != 4 {
				t.Errorf("the first launch began after %s, images %+v", began, out.Images)
			}
			doc := checkDocument(t, p, out)
			if bill := result.NewBill(doc); bill.ImagesSeconds != 840 {
				t.Errorf("images took %v s", bill.ImagesSeconds)
			}
		})
	}
}

// A run that goes on looks for the images of what is left, and adds to what the first part took.
func TestAResumedRunLooksForWhatIsLeft(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		r := imagesOfSides(s)
		s.o.Resume = &engine.Outcome{Plan: p, Images: []result.Image{{Image: "engine:base", For: base, Seconds: 240}}}
		for _, l := range p.Repeats[0].Launches {
			if l.Target == base {
				s.o.Resume.Launched = []engine.Launched{{ID: l.ID, Repeat: 1, Target: base}}
			}
		}
		out := s.run(t, t.Context())
		if len(out.Images) != 2 || out.Images[1].Image != "engine:head" || strings.Contains(strings.Join(r.asked, " "), "base") {
			t.Errorf("images %+v, asked for %v", out.Images, r.asked)
		}
	})
}
