package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// TestCountRun: what a gate needs and nobody knows voids a run; what nothing counts is an error with
// the place of the gate; what no gate needs is left out.
func TestCountRun(t *testing.T) {
	const bm = "benchmark.serving"
	reset := func(t *counted.Tally) {
		t.AddServer(map[string]float64{metric.CounterDrafts: 9, metric.CounterAcceptedTokens: 9},
			map[string]float64{metric.CounterDrafts: 1, metric.CounterAcceptedTokens: 1}, "server", "server")
	}
	unread := func(t *counted.Tally) { t.Unread("server", errors.New("connection refused")) }
	of := func(metrics ...string) *runner {
		p := &plan.Plan{Gates: []plan.Gate{{Addr: "gate.work", Benchmark: bm, Metrics: metrics}}}
		return newRunner(Options{Plan: p, Bus: event.NewBus(time.Now, 0), Now: time.Now, Redact: event.NewRedactor(nil)})
	}
	for name, tt := range map[string]struct {
		gated string
		count func(*counted.Tally)
		void  string
		fails string
	}{
		"reset":             {"acceptance.length", reset, "fell from 9 to 1: the server was restarted", ""},
		"not gated":         {"ttft.p99", reset, "", ""},
		"cannot be read":    {"acceptance.length", unread, "could not be read: connection refused", ""},
		"nothing counts it": {"energy.per_output_token", reset, "", "nothing counts what it is made of"},
		"power not read": {"energy.per_output_token", func(t *counted.Tally) {
			t.Unknown(metric.CounterJoules, errors.New("the power was read 0 times"))
		}, "the power was read 0 times", ""},
		"energy": {"energy.per_output_token", func(t *counted.Tally) { t.Add(metric.CounterJoules, 600) }, "", ""},
	} {
		run := result.Run{Status: result.RunOK, Metrics: map[string]float64{}, Sent: 10}
		tally := counted.New(time.Time{}, time.Time{})
		tt.count(tally)
		tally.Client(10, 300, 20)
		err := of(tt.gated).countRun(&server{}, plan.Benchmark{Addr: bm}, plan.Cell{}, tally, &run)
		config, failed := errors.AsType[*ConfigError](err)
		if failed != (tt.fails != "") || failed && (config.Addr != "gate.work" || !strings.Contains(err.Error(), tt.fails)) {
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
		r := newRunner(Options{Now: time.Now, Bus: event.NewBus(time.Now, 0), Plan: &plan.Plan{
			Price: &result.Price{MachineHour: 8, GPUHour: 2, Currency: "USD"}, Targets: []plan.Target{target}}})
		tally := counted.New(time.Time{}, time.Time{})
		tally.Client(10, 300, 3600)
		w := r.watchPrice(t.Context(), &server{job: job{Launch: plan.Launch{Target: target.Addr}}}, &watch{})
		w.Count(tally)
		cost, _ := metric.Lookup("cost.per_million_tokens")
		problems := tally.Count([]metric.Metric{cost}, nil, map[string]float64{})
		if len(problems) != 1 || !counted.Permanent(problems[0].Err) || !strings.Contains(problems[0].Err.Error(), "answer already") {
			t.Errorf("%+v: %v", target, problems)
		}
	}
}
