package engine

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// counts are the counters of a server before and after a run.
type counts struct{ before, after map[string]float64 }

func viewsOf(servers ...counts) *watch {
	w := &watch{}
	for _, c := range servers {
		v := &view{member: &member{Member: &Member{Name: "server"}}, err: errors.New("connection refused")}
		if c.before != nil {
			v.before, v.after = &steps.Observation{Counters: c.before}, &steps.Observation{Counters: c.after}
		}
		w.views = append(w.views, v)
	}
	return w
}

// TestCountedMetrics: metrics of counters are made of what all servers' counters rose by, and have a
// reason where that is not known.
func TestCountedMetrics(t *testing.T) {
	drafts := func(drafts, tokens, accepted float64) map[string]float64 {
		return map[string]float64{steps.CounterDrafts: drafts, steps.CounterDraftTokens: tokens, steps.CounterAcceptedTokens: accepted}
	}
	for name, tt := range map[string]struct {
		servers []counts
		metric  string
		want    float64
		problem string
		absent  bool
	}{
		"length": {[]counts{{drafts(10, 40, 10), drafts(110, 440, 180)}}, "acceptance.length", 2.7, "", false},
		"rate":   {[]counts{{drafts(10, 40, 10), drafts(110, 440, 180)}}, "acceptance.rate", 170.0 / 400, "", false},
		"of two servers": {[]counts{{drafts(0, 0, 0), drafts(100, 400, 100)}, {drafts(0, 0, 0), drafts(300, 1200, 700)}},
			"acceptance.length", 3, "", false},
		"SGLang's length": {[]counts{{map[string]float64{steps.CounterDrafts: 0, steps.CounterGenerationTokens: 5},
			map[string]float64{steps.CounterDrafts: 100, steps.CounterGenerationTokens: 305}}}, "acceptance.length", 3, "", false},
		"preemptions": {[]counts{{map[string]float64{steps.CounterPreemptions: 1}, map[string]float64{steps.CounterPreemptions: 6}}},
			"preemptions.per_request", 0.5, "", false},
		"no drafts":          {[]counts{{drafts(10, 40, 10), drafts(10, 40, 10)}}, "acceptance.length", 0, "did not rise", false},
		"reset":              {[]counts{{drafts(10, 40, 10), drafts(9, 440, 180)}}, "acceptance.length", 0, "fell from 10 to 9", false},
		"gone":               {[]counts{{drafts(10, 40, 10), map[string]float64{}}}, "acceptance.length", 0, "no longer", false},
		"not counted":        {[]counts{{map[string]float64{}, map[string]float64{}}}, "acceptance.length", 0, "nothing counts", true},
		"one cannot be read": {[]counts{{drafts(0, 0, 0), drafts(100, 400, 100)}, {}}, "acceptance.length", 0, "connection refused", false},
	} {
		run := result.Run{Sent: 10, Metrics: map[string]float64{}}
		counts := viewsOf(tt.servers...).tally(Watched{})
		counts.client.requests = 10
		problems := counts.count(countedMetrics, &run)
		got, there := run.Metrics[tt.metric]
		if there != (tt.problem == "") || there && math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: %g, %v, want %g", name, got, there, tt.want)
		}
		for _, p := range problems {
			if p.metric == tt.metric && (!strings.Contains(p.err.Error(), tt.problem) || permanent(p.err) != tt.absent || tt.problem == "") {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

func TestCountedMetricsAreOfTheRegistry(t *testing.T) {
	rows := map[string]bool{}
	for _, c := range countedMetrics {
		if m, ok := metric.Lookup(c.metric); !ok || !m.Counted || c.of.of == nil || c.by.of == nil {
			t.Errorf("%+v", c)
		}
		rows[c.metric] = true
	}
	for _, m := range metric.All() {
		if m.Counted && !rows[m.ID] {
			t.Errorf("nothing computes %s", m.ID)
		}
	}
}

// TestCountRun: what a gate needs and nobody knows voids a run; what nothing counts is an error with
// the place of the gate; what no gate needs is left out.
func TestCountRun(t *testing.T) {
	const bm = "benchmark.serving"
	of := func(metrics ...string) *runner {
		p := &plan.Plan{Gates: []plan.Gate{{Addr: "gate.work", Benchmark: bm, Metrics: metrics,
			Range: result.Range{File: "a.pipeline.hcl", Line: 7}}}}
		return newRunner(Options{Plan: p, Bus: event.NewBus(time.Now, 0), Now: time.Now, Redact: event.NewRedactor(nil)})
	}
	reset := viewsOf(counts{map[string]float64{steps.CounterDrafts: 9, steps.CounterAcceptedTokens: 9},
		map[string]float64{steps.CounterDrafts: 1, steps.CounterAcceptedTokens: 1}})
	for name, tt := range map[string]struct {
		gated   string
		w       *watch
		machine Watched
		void    string
		fails   string
	}{
		"reset":             {"acceptance.length", reset, Watched{}, "fell from 9 to 1: the server was restarted", ""},
		"not gated":         {"ttft.p99", reset, Watched{}, "", ""},
		"cannot be read":    {"acceptance.length", viewsOf(counts{}), Watched{}, "could not be read: connection refused", ""},
		"nothing counts it": {"energy.per_output_token", reset, Watched{}, "", "nothing counts what it is made of"},
		"power not read": {"energy.per_output_token", reset, Watched{Energy: &Energy{Unknown: "the power was read 0 times"}},
			"the power was read 0 times", ""},
		"energy": {"energy.per_output_token", reset, Watched{Energy: &Energy{Joules: 600}}, "", ""},
	} {
		run := result.Run{Status: result.RunOK, Metrics: map[string]float64{}, Sent: 10}
		err := of(tt.gated).countRun(&server{}, plan.Benchmark{Addr: bm}, plan.Cell{}, tt.w, tt.w.tally(tt.machine), clientCounts{10, 300}, &run)
		config, failed := errors.AsType[*ConfigError](err)
		if failed != (tt.fails != "") || failed && (config.Range.Line != 7 || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %v", name, err)
		}
		if (run.VoidCause == result.VoidCounters) != (tt.void != "") || !strings.Contains(run.Reason, tt.void) {
			t.Errorf("%s: %+v", name, run)
		}
		if got := run.Metrics["energy.per_output_token"]; (got == 2) != (name == "energy") {
			t.Errorf("%s: %g J", name, got)
		}
	}
}

// TestPriceOfAnswering: what answers before the run has no price, since nobody knows what it runs on.
func TestPriceOfAnswering(t *testing.T) {
	for _, target := range []plan.Target{{Attached: true}, {GPUs: 1, Answering: 1}} {
		target.Addr = "server.vllm.a"
		p := &plan.Plan{Price: &result.Price{MachineHour: 8, GPUHour: 2, Currency: "USD"}, Targets: []plan.Target{target}}
		counts := &tally{rises: map[string]float64{}, broken: map[string]error{}, seconds: 3600}
		counts.price(p, &server{job: job{Launch: plan.Launch{Target: target.Addr}}})
		if _, err := counts.rise(counterPrice); !permanent(err) || !strings.Contains(err.Error(), "answer already") {
			t.Errorf("%+v: %v", target, err)
		}
	}
}
