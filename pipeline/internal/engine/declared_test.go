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
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	engines "github.com/servegate/pipeline/steps/engine"
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
		"not a number": {counter, "swaps_total 9\n", "swaps_total NaN\n", 0, "line 1 of the metrics is no finite number", ""},
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
			Gates: []plan.Gate{{Addr: "gate.work", Benchmark: bm, Metrics: []string{"measure.x"},
				Range: result.Range{File: "a.pipeline.hcl", Line: 7}}}}
		r := newRunner(Options{Plan: p, Bus: event.NewBus(time.Now, 0), Now: time.Now, Redact: event.NewRedactor(nil)})
		s := &server{job: job{lane: Lane{Clock: &LaneClock{Now: time.Now}}}}
		w := r.newWatch(s)
		w.begin(t.Context())
		text = tt.after
		w.end(t.Context())
		exporter.Close()
		run := result.Run{Status: result.RunOK, Metrics: map[string]float64{}, Sent: 10, Duration: 20}
		err := r.countRun(s, plan.Benchmark{Addr: bm}, plan.Cell{}, w, w.tally(Watched{}), clientCounts{10, 300}, &run)
		config, failed := errors.AsType[*ConfigError](err)
		if failed != (tt.fails != "") || failed && (config.Range.Line != 7 || !strings.Contains(err.Error(), tt.fails)) {
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
		s := &server{
			job: job{lane: Lane{Clock: &LaneClock{Now: time.Now}}},
			members: []*member{
				{Member: &Member{Name: "decode", Role: "decode"}, endpoint: exposition(&ofServer)},
				{Member: &Member{Name: "router", Role: result.RoleRouter}, endpoint: exposition(&ofRouter)},
			},
		}
		p := &plan.Plan{Measures: []steps.Measure{retries}, Gates: []plan.Gate{{Addr: "gate.work", Benchmark: "benchmark.serving",
			Metrics: []string{"measure.x"}}}}
		r := newRunner(Options{Plan: p, Bus: event.NewBus(time.Now, 0), Now: time.Now, Redact: event.NewRedactor(nil)})
		w := &watch{}
		r.expose(s, w)
		if len(w.exposers) != 1 {
			t.Fatalf("%s: %d programs are read, want the router alone", name, len(w.exposers))
		}
		w.exposers[0].look(t.Context(), time.Now, beforeRun)
		ofServer, ofRouter = "retries_total 9000\n", tt.after
		w.exposers[0].look(t.Context(), time.Now, afterRun)
		run := result.Run{Status: result.RunOK, Metrics: map[string]float64{}, Sent: 10, Duration: 20}
		err := r.countRun(s, plan.Benchmark{Addr: "benchmark.serving"}, plan.Cell{}, w, w.tally(Watched{}), clientCounts{10, 300}, &run)
		if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if got := run.Metrics["measure.x"]; got != tt.want {
			t.Errorf("%s: %g, want %g", name, got, tt.want)
		}
	}
}

// TestGauge: what several programs show is joined whenever one of them is sampled, and only samples within the
// run count.
func TestGauge(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * 1e9)) }
	program := func(first float64, values ...float64) *exposed {
		x := &exposed{}
		for i, v := range values {
			x.samples = append(x.samples, gaugeSample{at: at(first + float64(i)), sum: v, n: 2, largest: v - 1})
		}
		return x
	}
	// The last sample of the first is after the end.
	found := []*exposed{program(1, 10, 20, 30, 99), program(1.5, 2, 4, 6)}
	for _, tt := range []struct {
		statistic steps.MeasureStatistic
		across    steps.MeasureAcross
		want      float64
	}{
		{steps.MeasureMean, steps.AcrossSum, (12 + 22 + 24 + 34 + 36) / 5.0},
		{steps.MeasureMax, steps.AcrossSum, 36},
		{steps.MeasureMax, steps.AcrossMean, 9},
		{steps.MeasureMax, steps.AcrossMax, 29},
	} {
		m := steps.Measure{Series: "running", Kind: steps.MeasureGauge, Statistic: tt.statistic, Across: tt.across}
		if got, err := ofGauge(m, found, at(0), at(3.9)); err != nil || math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s of %s: %g, %v, want %g", tt.statistic, tt.across, got, err, tt.want)
		}
	}
	if _, err := ofGauge(steps.Measure{Series: "running"}, found, at(0), at(2.2)); err == nil ||
		!strings.Contains(err.Error(), "was read 2 times within the run, and 5 are the least") {
		t.Errorf("few samples: %v", err)
	}
	// One that shows nothing while it is busy is not described by its quiet times.
	busy := []*exposed{program(1, 1, 1, 1, 1, 1, 1)}
	if _, err := ofGauge(steps.Measure{Series: "running"}, busy, at(0), at(15)); err == nil ||
		!strings.Contains(err.Error(), "running was not read for 9s of a run of 15s") {
		t.Errorf("a gap: %v", err)
	}
}

// TestOtherLabels: a series that one side divides otherwise is named.
func TestOtherLabels(t *testing.T) {
	m := steps.Measure{Name: "x", Series: "swaps_total", Kind: steps.MeasureCounter, Source: steps.MeasureServers}
	r := newRunner(Options{Plan: &plan.Plan{Measures: []steps.Measure{m}}, Bus: event.NewBus(time.Now, 0), Now: time.Now,
		Redact: event.NewRedactor(nil)})
	for i, label := range []string{"gpu", "gpu", "rank", "rank"} {
		x := &exposed{measure: m}
		var err error
		if x.of, x.over, err = engines.Readers(m); err != nil {
			t.Fatal(err)
		}
		e := &exposer{label: fmt.Sprintf("server %d", i), measures: []*exposed{x}}
		e.read([]byte("swaps_total{"+label+"=\"0\"} 1\n"), time.Now(), afterRun)
		r.warnLabels([]string{"server.vllm.old", "server.vllm.new"}[i/2], &watch{exposers: []*exposer{e}})
	}
	if got := r.out.Warnings; len(got) != 1 ||
		!strings.Contains(got[0], "metric.measure.x: swaps_total has the labels rank at server 2, and gpu at server.vllm.old") {
		t.Errorf("%q", got)
	}
}
