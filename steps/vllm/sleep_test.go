package vllm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/vllm"
)

// A server that sleeps answers with no token until it is woken, and says why it does not wake.
func TestSleepAgainstSimulator(t *testing.T) {
	for _, tt := range []struct {
		name   string
		engine steps.Engine
		args   []steps.Arg
	}{
		{vllm.Name, vllm.New(), []steps.Arg{{Name: "enable-sleep-mode", Value: true}}},
		{sglang.Name, sglang.New(), []steps.Arg{{Name: "enable_memory_saver", Value: true}, {Name: "enable_weights_cpu_backup", Value: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			spec := steps.ServerSpec{Addr: "sut", Model: "org/m", ServedName: "sut", Args: tt.args}
			sleeper := tt.engine.Capabilities().Sleeper
			if err := sleeper.CheckSleep(spec); err != nil {
				t.Error(err)
			}
			if err := sleeper.CheckSleep(steps.ServerSpec{Args: tt.args[:len(tt.args)-1]}); err == nil {
				t.Error("sleeps without having been started for it")
			}
			ep, log := simulated(t, ctx, tt.engine, spec)
			ready := func() bool { _, ok, _ := tt.engine.Ready(ctx, ep, steps.Readiness{}); return ok }
			// real time: a server behind a socket starts
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for !ready() {
				select {
				case <-tick.C:
				case <-ctx.Done():
					t.Fatal(log)
				}
			}
			if err := sleeper.Sleep(ctx, ep); err != nil || ready() {
				t.Errorf("asleep: %v, ready %t", err, ready())
			}
			if err := sleeper.Wake(ctx, ep); err != nil || !ready() {
				t.Errorf("awake: %v, ready %t", err, ready())
			}
			// real time: a line of a log may come after the answer
			for tt.name == "vllm" && strings.Count(log.String(), "It took ") != 2 {
				select {
				case <-tick.C:
				case <-ctx.Done():
					t.Fatal(log)
				}
			}
		})
	}
}
