package load_test

import (
	"context"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/simulate"
)

// simulated starts a simulated server whose clock runs far faster than the wall.
func simulated(t *testing.T, scale float64, argv ...string) string {
	t.Helper()
	server, err := simulate.NewServer(argv, simulate.Options{Settings: simulate.Settings{TimeScale: scale}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Drive(ctx) })
	ts := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
		cancel()
		wg.Wait()
	})
	return ts.URL
}

// TestSimulatedServers: over every endpoint of both engines all requests succeed, and
// prompt and output have the wanted lengths by the server's own count.
func TestSimulatedServers(t *testing.T) {
	vllm := []string{"vllm", "serve", "m"}
	sglang := []string{"python3", "-m", "sglang.launch_server", "--model-path", "m"}
	for _, tt := range []struct {
		name, endpoint string
		argv           []string
		exact          bool // prompts of token ids
	}{
		{"vllm completions", "completions", vllm, true},
		{"vllm chat", "chat", vllm, false},
		{"sglang generate", "generate", sglang, true},
		{"sglang completions", "completions", sglang, true},
		{"sglang chat", "chat", sglang, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := steps.Workload{
				Endpoint: tt.endpoint, IgnoreEOS: true, Warmup: 2,
				Dataset: steps.Dataset{Kind: "sonnet", InputMin: 100, InputMax: 200, OutputMin: 8, OutputMax: 16, PrefixLen: 32},
				Load:    steps.Load{Arrival: load.Poisson, Rate: 20, Requests: 20},
			}
			res, err := load.Run(t.Context(), load.Options{BaseURL: simulated(t, 20, tt.argv...), Model: "m", Workload: w, Seed: 3, TimeScale: 20})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res.Run.Requests.All() {
				if r.Failure != "" || r.OutputTokens != r.WantTokens || r.Events[len(r.Events)-1].Tokens != r.WantTokens {
					t.Errorf("%+v", r)
				}
				if r.PromptTokens < 60 || (tt.exact && (r.PromptTokens < 100 || r.PromptTokens > 200)) {
					t.Errorf("request %d: %d prompt tokens", r.Index, r.PromptTokens)
				}
			}
			m := record.Reduce(res.Run)
			// On a busy machine tokens come in one piece, twenty times as fast as they should.
			timed := m["tpot.mean"] > 0 && m["itl_token.mean"] > 0 || record.OnePiece(res.Run) > 2
			if m["success.rate"] != 1 || m["ttft.p50"] <= 0 || !timed || m["concurrency.peak"] < 1 {
				t.Errorf("metrics %v", m)
			}
		})
	}
}
