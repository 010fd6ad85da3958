package engine

import (
	"context"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// TestResumeInASearch: the probes of a launch that was cut off are taken over, those of a search
// that has ended are not.
func TestResumeInASearch(t *testing.T) {
	o := newOutcome(nil)
	probe := func(launch, cell string, load, headroom float64) event.Event {
		return event.Event{Type: event.ProbeEnd, Launch: launch, Cell: cell, Probe: &result.Probe{Kind: result.LoadRate, Load: load,
			Headroom: headroom, Held: headroom >= 0}}
	}
	for _, e := range []event.Event{
		{Type: event.LaunchStart, Launch: "r1-a", Repeat: 1, Target: "a"},
		probe("r1-a", "done", 8, 1),
		{Type: event.RunEnd, Launch: "r1-a", Cell: "done", Run: &result.Run{Repeat: 1, Status: result.RunOK}},
		probe("r1-a", "cut", 8, 1),
		probe("r1-a", "cut", 20, -1),
		// Ctrl-C, where kill -9 leaves nothing
		{Type: event.RunEnd, Launch: "r1-a", Cell: "cut", Run: &result.Run{Repeat: 1, Status: result.RunCancelled}},
		{Type: event.LaunchStart, Launch: "r1-a", Repeat: 1, Target: "a"}, // resumed, and cut off again
	} {
		o.add(e)
	}
	r := &runner{o: Options{Resume: o}, out: newOutcome(nil)}
	r.out.resume(o)
	s := &server{launch: result.Launch{ID: "r1-a"}}
	if got := r.probed(s, plan.Run{Cell: "done"}); len(got) != 0 {
		t.Errorf("a search that has ended goes on after %+v", got)
	}
	elsewhere := &server{launch: s.launch}
	elsewhere.lane.Nodes = "n2"
	if got := r.probed(elsewhere, plan.Run{Cell: "cut"}); len(got) != 0 {
		t.Errorf("a search on a node goes on after probes of another: %+v", got)
	}
	got := r.probed(s, plan.Run{Cell: "cut"})
	if len(got) != 2 || !got[0].Resumed || got[1].Load != 20 {
		t.Fatalf("probes that are taken over: %+v", got)
	}
	search, err := capacity.New(steps.Load{Arrival: "poisson", Requests: 200, Search: &steps.Search{Min: 2, Max: 32,
		Resolution: 0.02, Probes: 8}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got {
		search.Add(p)
	}
	if step := search.Next(); step == nil || step.Number != 3 || step.Offer <= 8 || step.Offer >= 20 {
		t.Errorf("the search goes on with %+v", step)
	}
	r.Handle(event.Event{Type: event.RunEnd, Launch: "r1-a", Cell: "cut", Run: &result.Run{Repeat: 1, Status: result.RunFailed}})
	if again := r.probed(s, plan.Run{Cell: "cut"}); len(again) != 0 {
		t.Error("a second try of the run takes the probes over again")
	}
}

// TestSearchOfAClientThatIsLate: a void probe is made again, and a second one ends the search.
func TestSearchOfAClientThatIsLate(t *testing.T) {
	search, err := capacity.New(steps.Load{Arrival: "poisson", Requests: 200, Search: &steps.Search{Min: 2, Max: 32,
		Resolution: 0.02, Probes: 8}})
	if err != nil {
		t.Fatal(err)
	}
	void := result.Run{Status: result.RunVoid, Reason: "the client was late", VoidCause: result.VoidClient}
	first := search.Next()
	if !search.Add(search.Probe(first, void)) {
		t.Fatal("one void probe ends the search")
	}
	second := search.Next()
	if second.Offer != first.Offer || second.Number != 2 {
		t.Errorf("after a void probe: %+v", second)
	}
	goesOn := search.Add(search.Probe(second, void))
	var run = result.Run{Status: result.RunOK}
	(&runner{}).conclude(&run, search, goesOn)
	if goesOn || run.Status != result.RunVoid || run.VoidCause != result.VoidClient || run.Search.Capacity != nil {
		t.Errorf("after two void probes: %+v", run)
	}
}

// TestCarriedOut: that all requests fail is an answer to a load, and that the client went away is none.
func TestCarriedOut(t *testing.T) {
	for _, tt := range []struct {
		run  result.Run
		want bool
	}{
		{result.Run{Status: result.RunOK, Sent: 10}, true},
		{result.Run{Status: result.RunFailed, Sent: 10, Failed: 10}, true},
		{result.Run{Status: result.RunFailed}, false},
		{result.Run{Status: result.RunVoid, VoidCause: result.VoidClient}, true},
		{result.Run{Status: result.RunVoid, VoidCause: result.VoidGeneratorLost}, false},
	} {
		if got := carriedOut(tt.run); got != tt.want {
			t.Errorf("%s (%s): %v", tt.run.Status, tt.run.VoidCause, got)
		}
	}
}

// busyServer has requests left for a number of questions.
type busyServer struct {
	steps.Engine
	steps.Observer
	left int
}

func (b *busyServer) Capabilities() steps.EngineCapabilities {
	return steps.EngineCapabilities{Observer: b}
}

func (b *busyServer) Observe(context.Context, steps.Endpoint) (steps.Observation, error) {
	b.left--
	return steps.Observation{Gauges: map[string]float64{steps.SeriesRunning: float64(max(b.left, 0))}}, nil
}

// TestDrain: the next probe begins when the server has finished, or after a minute with a warning.
func TestDrain(t *testing.T) {
	for _, tt := range []struct{ left, waits, warnings int }{{0, 0, 0}, {4, 3, 0}, {1000, 60, 1}} {
		waits, now := 0, make(chan time.Time)
		close(now)
		r := newRunner(Options{Plan: &plan.Plan{}, Bus: event.NewBus(time.Now, 0), Now: time.Now,
			After: func(time.Duration) <-chan time.Time { waits++; return now }})
		r.Handle(event.Event{Type: event.PlanReady})
		s := &server{members: []*member{{Member: &Member{Engine: &busyServer{left: tt.left}}}}}
		r.drain(t.Context(), s)
		if waits != tt.waits || len(r.out.Warnings) != tt.warnings {
			t.Errorf("%d left: %d waits, warnings %v", tt.left, waits, r.out.Warnings)
		}
	}
}
