package vllm_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/vllm"
)

// The engines against the simulated servers: what Render writes is accepted by the flag
// tables of the named versions, and the server is found ready, reset and described.
func TestAgainstSimulator(t *testing.T) {
	chunked := []steps.Arg{{Name: "max_model_len", Value: int64(4096)}, {Name: "enable_chunked_prefill", Value: false}}
	radix := []steps.Arg{{Name: "disable_radix_cache", Value: false}, {Name: "mem_fraction_static", Value: 0.8}}
	for _, tt := range []struct {
		name    string
		engine  steps.Engine
		version string
		args    []steps.Arg
	}{
		{vllm.Name, vllm.New(), "", chunked},
		{vllm.Name, vllm.New(), "0.11.0", chunked},
		{sglang.Name, sglang.New(), "", radix},
	} {
		t.Run(tt.name+" "+tt.version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			ep, log := simulated(t, ctx, tt.engine, steps.ServerSpec{
				Addr: "sut", Version: tt.version, Model: "org/m", ServedName: "sut", Args: tt.args,
			})
			// real time: a server behind a socket starts
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for {
				state, ready, err := tt.engine.Ready(ctx, ep, steps.Readiness{})
				if ready {
					break
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					t.Fatalf("state %s: %v\n%s", state, err, log)
				}
			}
			if err := tt.engine.Reset(ctx, ep); err != nil {
				t.Errorf("reset: %v", err)
			}
			facts, err := tt.engine.Describe(ctx, ep)
			if err != nil || facts["version"] == "" || facts["model"] != "sut" {
				t.Errorf("describe: %v, %v", facts, err)
			}
		})
	}
}

// simulated serves a rendered process inside this test until it ends.
func simulated(t *testing.T, ctx context.Context, e steps.Engine, spec steps.ServerSpec) (steps.Endpoint, *buffer) {
	t.Helper()
	port, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	p, err := e.Render(spec, "127.0.0.1", steps.PortNumber(port))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{simulate.SettingsEnv: fmt.Sprintf(`{"version":%q,"time_scale":20}`, spec.Version)}
	for _, v := range p.Env {
		env[v.Name] = v.Value
	}
	ctx, stop := context.WithCancel(ctx)
	log, done := &buffer{}, make(chan int)
	go func() {
		done <- simulate.Simulator{}.Main(ctx, p.Argv, func(name string) string { return env[name] }, log, log)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != 0 {
			t.Errorf("exit status %d\n%s", code, log)
		}
	})
	return steps.Endpoint{BaseURL: fmt.Sprintf("http://%s:%d", p.Host, p.Port), Model: spec.ServedName}, log
}

// buffer can be written and read at once.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.TrimSpace(b.buf.String())
}
