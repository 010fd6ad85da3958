package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

func TestLatenessIsTakenFromTheCounters(t *testing.T) {
	for name, tt := range map[string]struct {
		rises map[string]float64
		p99   float64
		ok    bool
	}{
		"a real server":    {map[string]float64{"prompt_tokens": 5}, 0, false},
		"nothing happened": {map[string]float64{"simulated_late.0.001": 0, "simulated_late.+Inf": 0}, 0, false},
		"the next bound": {map[string]float64{"simulated_late.0.001": 98, "simulated_late.0.002": 99, "simulated_late.+Inf": 100}, 0.002,
			true},
		"the first bound": {map[string]float64{"simulated_late.0.001": 100, "simulated_late.0.002": 100, "simulated_late.+Inf": 100}, 0.001,
			true},
		"beyond the last": {map[string]float64{"simulated_late.0.001": 10, "simulated_late.0.002": 50, "simulated_late.+Inf": 100}, 0.002,
			true},
		"bounds in words":   {map[string]float64{"simulated_late.soon": 100, "simulated_late.0.5": 100, "simulated_late.+Inf": 100}, 0.5, true},
		"only the infinite": {map[string]float64{"simulated_late.+Inf": 100}, 0, false},
	} {
		for _, member := range []string{"", "decode"} {
			server := map[string]float64{"prefill/prompt_tokens": 5}
			for counter, rise := range tt.rises {
				server[prefixed(member, counter)] = rise
			}
			takeLate(server)
			p99, ok := server[prefixed(member, result.SimulatedLate)]
			if p99 != tt.p99 || ok != tt.ok {
				t.Errorf("%s: %v, %v; want %v, %v", name, p99, ok, tt.p99, tt.ok)
			}
			for counter := range server {
				if strings.Contains(counter, "simulated_late.") {
					t.Errorf("%s: %s is left", name, counter)
				}
			}
		}
	}
}

func TestALateSimulatorIsNotBelieved(t *testing.T) {
	run := func(first float64, late map[string]float64) result.Run {
		r := result.Run{Server: map[string]float64{"prompt_tokens": 9}}
		if first > 0 {
			r.Metrics = map[string]float64{"ttft.p50": first}
		}
		for member, seconds := range late {
			r.Server[prefixed(member, result.SimulatedLate)] = seconds
		}
		return r
	}
	for name, tt := range map[string]struct {
		run   result.Run
		scale float64
		want  string
	}{
		"a real server": {run(0.1, nil), 1, ""},
		"at the limit":  {run(0.1, map[string]float64{"": 0.01}), 10, ""},
		"beyond it": {run(0.1, map[string]float64{"": 0.02}), 10, "the simulated server was late by 20ms at p99 beside a median TTFT of " +
			"100ms, so that this run, and maybe others of the target, show the machine and not the model (2ms of real time, times 10): use a " +
			"smaller --time-scale, or a machine with less to do"},
		"in its own time": {run(0.1, map[string]float64{"": 0.02}), 1, "the simulated server was late by 20ms at p99 beside a median TTFT of " +
			"100ms, so that this run, and maybe others of the target, show the machine and not the model: use a machine with less to do"},
		"the worst member": {run(0.1, map[string]float64{"prefill": 0.02, "decode": 0.05}), 1, "the simulated server decode was late by 50ms"},
		"nothing measured": {run(0, map[string]float64{"": 0.02}), 1, ""},
	} {
		got := tooLate(tt.run, tt.scale)
		if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestLatenessIsToldOnceForEachTarget(t *testing.T) {
	r := newRunner(Options{Plan: &plan.Plan{}, Bus: event.NewBus(time.Now, 0), Now: time.Now})
	r.Handle(event.Event{Type: event.PlanReady})
	late := result.Run{Metrics: map[string]float64{"ttft.p50": 0.1}, Server: map[string]float64{result.SimulatedLate: 1}}
	onTime := result.Run{Metrics: late.Metrics, Server: map[string]float64{result.SimulatedLate: 0.001}}
	tell := func(target, rate string, run result.Run) {
		w := &watch{scale: 10, cell: plan.Cell{Values: []result.AxisValue{{Name: "qps", Value: rate}}}}
		r.watchLateness(t.Context(), &server{job: job{Launch: plan.Launch{Target: target}}}, w).Tell(&run)
	}
	tell("deployment.a", "1", onTime)
	for _, target := range []string{"deployment.a", "deployment.a", "deployment.b"} {
		tell(target, "2", late)
	}
	if w := r.out.Warnings; len(w) != 2 || !strings.HasPrefix(w[0], "deployment.a, qps=2: ") ||
		!strings.HasPrefix(w[1], "deployment.b, qps=2: ") {
		t.Errorf("warnings %q", w)
	}
}
