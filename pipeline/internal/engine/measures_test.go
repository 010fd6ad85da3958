package engine

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// TestDeclared: an exporter is read before and after a run. What a gate needs of it and is not known voids the
// run; what another run does not change is an error with the place of the gate.
func TestDeclared(t *testing.T) {
	const bm = "benchmark.serving"
	counter := steps.Measure{Name: "x", Source: steps.MeasureURL, Series: "swaps_total", Kind: steps.MeasureCounter, Factor: 1,
		Unit: metric.Count}
	with := func(change func(*steps.Measure)) steps.Measure {
		m := counter
		change(&m)
		return m
	}
	// The energy of two of three GPUs since boot, in millijoules, as NVIDIA's DCGM exporter shows it.
	dcgm := with(func(m *steps.Measure) {
		m.Series, m.LabelsMatch, m.Per, m.Factor, m.Unit = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", map[string]string{"gpu": "0|1"},
			steps.PerOutputToken, 0.001, metric.JoulesPerToken
	})
	exported := func(mJ ...float64) string {
		text := "# HELP DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION Total energy consumption since boot (in mJ).\n# TYPE " +
			"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"
		for i, v := range mJ {
			text += fmt.Sprintf(
				"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"%d\",UUID=\"GPU-%d\",pci_bus_id=\"00000000:0%d:00.0\",device=\"nvidia%d\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node\"} %.0f\n", i, i, i, i, v)
		}
		return text
	}
	for name, tt := range map[string]struct {
		measure       steps.Measure
		before, after string
		want          float64
		void, fails   string
	}{
		"counter": {counter, "swaps_total{gpu=\"0\"} 1\nswaps_total{gpu=\"1\"} 5\n",
			"swaps_total{gpu=\"0\"} 4\nswaps_total{gpu=\"1\"} 8\n", 6, "", ""},
		"per token": {with(func(m *steps.Measure) { m.Per, m.Factor = steps.PerOutputToken, 0.001 }), "swaps_total 0\n",
			"swaps_total 600000\n", 2, "", ""},
		"per second":  {with(func(m *steps.Measure) { m.Per = steps.PerSecond }), "swaps_total 0\n", "swaps_total 60\n", 3, "", ""},
		"per request": {with(func(m *steps.Measure) { m.Per = steps.PerRequest }), "swaps_total 0\n", "swaps_total 5\n", 0.5, "", ""},
		"over another": {with(func(m *steps.Measure) { m.Over = "steps_total" }), "swaps_total 1\nsteps_total 1\n",
			"swaps_total 2\nsteps_total 5\n", 0.25, "", ""},
		"over nothing": {with(func(m *steps.Measure) { m.Over = "steps_total" }), "swaps_total 1\nsteps_total 1\n",
			"swaps_total 2\nsteps_total 1\n", 0, "steps_total did not rise, so there is nothing to divide by", ""},
		"over absent": {with(func(m *steps.Measure) { m.Over = "steps_total" }), "swaps_total 1\n", "swaps_total 2\n", 0, "",
			"steps_total: no series of this name"},
		"absent":     {counter, "others 1\n", "others 2\n", 0, "", "swaps_total: no series of this name and with these labels is there"},
		"zero":       {with(func(m *steps.Measure) { m.AbsentIsZero = true }), "others 1\n", "others 2\n", 0, "", ""},
		"DCGM":       {dcgm, exported(8e12, 5e12, 1e12), exported(8e12+400e3, 5e12+200e3, 1e12+900e3), 2, "", ""},
		"first seen": {counter, "others 1\n", "swaps_total 900\n", 0, "swaps_total was not there before the run", ""},
		"a new label": {counter, "swaps_total{gpu=\"0\"} 1\n", "swaps_total{gpu=\"0\"} 2\nswaps_total{gpu=\"1\"} 900\n", 0,
			"swaps_total{gpu=\"1\"} was not there", ""},
		"from zero":    {with(func(m *steps.Measure) { m.AbsentIsZero = true }), "others 1\n", "swaps_total 9\n", 9, "", ""},
		"reset":        {counter, "swaps_total 9\n", "swaps_total 2\n", 0, "swaps_total fell from 9 to 2", ""},
		"not a number": {counter, "swaps_total 9\n", "swaps_total NaN\n", 0, "line 1 of the metrics is not a finite number", ""},
		"another kind": {counter, "# TYPE swaps_total histogram\nswaps_total 9\n", "swaps_total 9\n", 0, "", "calls swaps_total a histogram"},
		"another type": {counter, "# TYPE swaps_total counter\nswaps_total 9\n", "swaps_total 9\n", 0,
			"of type counter before the run and of none after it", ""},
		"mean wait": {with(func(m *steps.Measure) {
			m.Kind, m.Series, m.Statistic = steps.MeasureHistogram, "wait", steps.MeasureMean
		}), "wait_sum 1\nwait_count 1\n", "wait_sum 7\nwait_count 4\n", 2, "", ""},
		"no waits": {with(func(m *steps.Measure) {
			m.Kind, m.Series, m.Statistic = steps.MeasureHistogram, "wait", steps.MeasureMean
		}), "wait_sum 1\nwait_count 1\n", "wait_sum 1\nwait_count 1\n", 0, "counted nothing in the measured window", ""},
		"not read": {counter, "", "swaps_total 9\n", 0, "status 500", ""},
	} {
		text := tt.before
		exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if text == "" {
				w.WriteHeader(http.StatusInternalServerError)
			}
			_, _ = io.WriteString(w, text)
		}))
		tt.measure.URL = exporter.URL + "/metrics"
		p := &plan.Plan{Measures: []steps.Measure{tt.measure},
			Gates: []plan.Gate{{Addr: "gate.work", Benchmark: bm, Metrics: []string{"measure.x"}}}}
		run, err := measured(t, p, nil, func() { text = tt.after })
		exporter.Close()
		config, failed := errors.AsType[*ConfigError](err)
		if failed != (tt.fails != "") || failed && (config.Addr != "gate.work" || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %v", name, err)
		}
		if (run.VoidCause == result.VoidCounters) != (tt.void != "") || !strings.Contains(run.Reason, tt.void) {
			t.Errorf("%s: %+v", name, run)
		}
		if got, there := run.Metrics["measure.x"]; math.Abs(got-tt.want) > 1e-12 || there != (tt.void+tt.fails == "") {
			t.Errorf("%s: %g, %v, want %g", name, got, there, tt.want)
		}
	}
}

// TestDeclaredOfRouter: a measure of the router reads the router and no server, counts it from zero on, and says so
// where nothing has it.
func TestDeclaredOfRouter(t *testing.T) {
	retries := steps.Measure{Name: "x", Source: steps.MeasureRouter, Series: "retries_total", Kind: steps.MeasureCounter, Factor: 1,
		Unit: metric.Count}
	exposition := func(text *string) steps.Endpoint {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = io.WriteString(w, *text)
		}))
		t.Cleanup(s.Close)
		return steps.Endpoint{BaseURL: s.URL}
	}
	for name, tt := range map[string]struct {
		before, after string
		want          float64
		fails         string
	}{
		"counter":    {"retries_total 3\n", "retries_total 8\n", 5, ""},
		"first seen": {"others 1\n", "retries_total 8\n", 8, ""},
		"absent":     {"others 1\n", "others 2\n", 0, "retries_total: no series of this name"},
	} {
		ofServer, ofRouter := "retries_total 1000\n", tt.before
		members := []*member{
			{Member: &Member{Name: "decode", Role: "decode", Engine: mute{}}, endpoint: exposition(&ofServer)},
			{Member: &Member{Name: "router", Role: result.RoleRouter, Engine: mute{}}, endpoint: exposition(&ofRouter)},
		}
		p := &plan.Plan{Measures: []steps.Measure{retries}, Gates: []plan.Gate{{Addr: "gate.work", Benchmark: "benchmark.serving",
			Metrics: []string{"measure.x"}}}}
		run, err := measured(t, p, members, func() { ofServer, ofRouter = "retries_total 9000\n", tt.after })
		if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if got := run.Metrics["measure.x"]; got != tt.want {
			t.Errorf("%s: %g, want %g", name, got, tt.want)
		}
	}
}

// TestOtherLabels: a series that one side divides otherwise is named.
func TestOtherLabels(t *testing.T) {
	m := steps.Measure{Name: "x", Series: "swaps_total", Kind: steps.MeasureCounter, Source: steps.MeasureServers}
	r := newRunner(Options{Plan: &plan.Plan{Measures: []steps.Measure{m}}, Bus: event.NewBus(time.Now, 0), Now: time.Now,
		Redact: event.NewRedactor(nil)})
	r.Handle(event.Event{Type: event.PlanReady})
	for i, label := range []string{"gpu", "gpu", "rank", "rank"} {
		p := counted.NewProgram(fmt.Sprintf("server %d", i), nil, []steps.Measure{m}, steps.MeasureServers)
		p.Take([]byte("swaps_total{"+label+"=\"0\"} 1\n"), time.Now(), counted.AfterRun)
		r.warnLabels([]string{"server.vllm.old", "server.vllm.new"}[i/2], []*counted.Program{p})
	}
	if got := r.out.Warnings; len(got) != 1 ||
		!strings.Contains(got[0], "metric.measure.x: swaps_total has the labels rank at server 2, and gpu at server.vllm.old") {
		t.Errorf("%q", got)
	}
}

// measured returns a run of 10 requests in 20 s that is watched as a plan has it; meanwhile is called while it lasts.
func measured(t *testing.T, p *plan.Plan, members []*member, meanwhile func()) (result.Run, error) {
	t.Helper()
	r := newRunner(Options{Plan: p, Bus: event.NewBus(time.Now, 0), Now: time.Now, Redact: event.NewRedactor(nil), Machine: Unwatched{}})
	s := &server{job: job{lane: Lane{Clock: &LaneClock{Now: time.Now}}}, members: members}
	w := r.newWatch(t.Context(), s, plan.Cell{})
	w.begin(t.Context())
	meanwhile()
	w.end(t.Context(), measurement{run: result.Run{Sent: 10, Duration: 20, Audit: map[string]any{"output_tokens": 300.0}}})
	run := result.Run{Status: result.RunOK, Metrics: map[string]float64{}, Sent: 10, Duration: 20}
	tally := r.tell(w, &run)
	err := r.countRun(s, plan.Benchmark{Addr: p.Gates[0].Benchmark}, plan.Cell{}, tally, &run)
	return run, err
}
