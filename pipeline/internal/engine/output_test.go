package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// mute is an engine that reports nothing.
type mute struct{ steps.Engine }

func (mute) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{} }

// telling is an engine whose log lines have figures.
type telling struct{ mute }

func (e telling) Capabilities() steps.EngineCapabilities {
	return steps.EngineCapabilities{Observer: e}
}

func (telling) Observe(context.Context, steps.Endpoint) (steps.Observation, error) {
	return steps.Observation{}, errors.New("no metrics")
}

func (telling) LogPoint(line string) (map[string]float64, bool) {
	var n float64
	_, err := fmt.Sscanf(line, "running %g", &n)
	return map[string]float64{steps.SeriesRunning: n}, err == nil
}

func (telling) StartFacts([]string) map[string]float64 { return nil }

func TestOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := newOutput(&log, telling{}, time.Now)
		began := time.Now()
		for i := range 3 {
			fmt.Fprintf(o, "noise\r\nrun")
			fmt.Fprintf(o, "ning %d\n", i)
			time.Sleep(time.Second)
		}
		fmt.Fprint(o, "the en")
		if want := []string{"noise", "running 0", "noise", "running 1", "noise", "running 2", "the en"}; !slices.Equal(o.last(), want) {
			t.Errorf("lines %q", o.last())
		}
		points := o.between(began.Add(time.Second), began.Add(time.Second))
		if len(points) != 1 || points[0].values[steps.SeriesRunning] != 1 {
			t.Errorf("points %v", points)
		}
		if !strings.HasSuffix(log.String(), "noise\r\nrunning 2\nthe en") {
			t.Errorf("the log has %q", log.String())
		}
		fmt.Fprint(o, strings.Repeat("long ", 2000), "\n")
		for range 6000 {
			fmt.Fprintln(o, "capacity 1")
		}
		if n := len(o.last()); n != 1000 {
			t.Errorf("%d lines are kept", n)
		}
		if len(o.start) != 4000 || slices.ContainsFunc(o.start, func(l string) bool { return len(l) > 2000 }) {
			t.Error("the first lines are not bounded")
		}
		if len(newOutput(&log, mute{}, time.Now).figures()) != 0 {
			t.Error("an engine that cannot be watched tells figures")
		}
	})
}

func TestClientSeries(t *testing.T) {
	run := record.Run{Duration: 10e9}
	for i := range 4 {
		at := int64(i) * 1e9
		run.Requests.Add(record.Request{
			Index: i, Planned: at, Sent: at, Done: at + 30e6, Status: 200,
			Events: []record.Event{{At: at + 20e6, Tokens: 1}, {At: at + 30e6, Tokens: 2}},
		})
	}
	run.Requests.Edit(func(q *record.Request) {
		switch q.Index {
		case 2:
			q.Failure = record.FailTimeout
		case 3:
			q.Sent += 5e6
		}
	})
	run.Audit.TimeScale = 10
	got := clientSeries(run, true, 300)
	want := []result.Series{
		{Name: "ttft", Source: "client", T: []float64{0.375, 1.125, 2.625}, V: []float64{0.02, 0.02, 0.015}},
		{Name: "lag", Source: "client", T: []float64{0.375, 1.125, 1.875, 2.625}, V: []float64{0, 0, 0, 0.0005}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := clientSeries(run, false, 300); len(got) != 1 {
		t.Errorf("lag of a closed loop: %v", got)
	}
	if got := clientSeries(record.Run{}, true, 300); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
