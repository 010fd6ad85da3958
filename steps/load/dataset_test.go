package load_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

const testdata = "../dataset/testdata"

// withSum is a dataset of a file, as the language hands it on.
func withSum(t *testing.T, d steps.Dataset) (steps.Dataset, *dataset.Files) {
	t.Helper()
	files := &dataset.Files{Dir: testdata}
	var err error
	if dataset.NeedsFile(d) {
		if d.Sum, err = files.Sum(d.Path); err != nil {
			t.Fatal(err)
		}
	}
	return d, files
}

// TestEveryDatasetReachesTheServer: all requests succeed with the wanted lengths by the
// server's own count, exactly where prompts are token ids, and two sides get the same
// work while another repeat gets other content.
func TestEveryDatasetReachesTheServer(t *testing.T) {
	vllm := []string{"vllm", "serve", "m"}
	opts := func(kv ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	}
	for _, tt := range []struct {
		endpoint string
		exact    bool
		dataset  steps.Dataset
	}{
		{"completions", true, steps.Dataset{Kind: "sharegpt", Path: "sharegpt.json", OutputMin: 5, OutputMax: 9}},
		{"chat", false, steps.Dataset{Kind: "sharegpt", Path: "sharegpt.json", OutputMin: 5, OutputMax: 9}},
		{"completions", true, steps.Dataset{Kind: "sharegpt", Path: "none.json", Synthetic: true, OutputMin: 5, OutputMax: 5}},
		{"completions", true, steps.Dataset{Kind: "file", Path: "prompts.jsonl", OutputMin: 4, OutputMax: 4}},
		{"completions", true, steps.Dataset{Kind: "trace", Path: "mooncake.jsonl"}},
		{"chat", false, steps.Dataset{Kind: "trace", Path: "burstgpt.csv", OutputMin: 3, OutputMax: 3}},
		{"completions", true, steps.Dataset{Kind: "prefix_repetition", PrefixLen: 64, OutputMin: 4, OutputMax: 4, Options: opts("num_prefixes",
			3, "suffix_len", 32)}},
		{"chat", false, steps.Dataset{Kind: "chat", InputMin: 20, InputMax: 30, OutputMin: 4, OutputMax: 6, Options: opts("users", 2, "turns",
			3, "system_len", 10)}},
		{"completions", true, steps.Dataset{Kind: "chat", InputMin: 20, InputMax: 30, OutputMin: 4, OutputMax: 6,
			Options: opts("users", 2, "turns", 3)}},
	} {
		t.Run(tt.dataset.Kind+" "+tt.endpoint, func(t *testing.T) {
			d, files := withSum(t, tt.dataset)
			w := steps.Workload{
				Endpoint: tt.endpoint, IgnoreEOS: true, Warmup: 1, Dataset: d,
				Load: steps.Load{Arrival: load.Unlimited, Requests: 12},
			}
			url := simulated(t, 50, vllm...)
			send := func(seed uint64) record.Run {
				res, err := load.Run(t.Context(), load.Options{BaseURL: url, Model: "m", Workload: w, Files: files, Seed: seed,
					ShapeSeed: 7, TimeScale: 50})
				if err != nil {
					t.Fatal(err)
				}
				return res.Run
			}
			a, b, c := send(1), send(1), send(2)
			if a.Audit.WorkHash != b.Audit.WorkHash || a.Audit.WorkHash == c.Audit.WorkHash {
				t.Errorf("hashes of the work: %s and %s, with another content %s", a.Audit.WorkHash, b.Audit.WorkHash, c.Audit.WorkHash)
			}
			for i, r := range a.Requests.All() {
				if r.Failure != "" || r.OutputTokens != r.WantTokens {
					t.Errorf("%+v", r)
				}
				if other := c.Requests.At(i); tt.exact && r.PromptTokens != other.PromptTokens || r.WantTokens != other.WantTokens {
					t.Errorf("request %d: lengths %d → %d, in another repeat %d → %d", i, r.PromptTokens, r.WantTokens,
						other.PromptTokens, other.WantTokens)
				}
			}
		})
	}
}

// TestTraceTimes: requests are planned when the trace says, scaled.
func TestTraceTimes(t *testing.T) {
	d, files := withSum(t, steps.Dataset{Kind: "trace", Path: "mooncake.jsonl", Options: map[string]any{"time_scale": 0.5}})
	url := simulated(t, 50, "vllm", "serve", "m")
	run := func(l steps.Load) (record.Run, error) {
		l.Arrival = load.Trace
		res, err := load.Run(t.Context(), load.Options{BaseURL: url, Model: "m", Files: files, Seed: 1, TimeScale: 50,
			Workload: steps.Workload{Endpoint: "completions", IgnoreEOS: true, Dataset: d, Load: l}})
		return res.Run, err
	}
	got, err := run(steps.Load{Requests: 4})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{0, 0, 750 * time.Millisecond, 1500 * time.Millisecond} {
		if r := got.Requests.At(i); time.Duration(r.Planned) != want || r.Failure != "" || r.Sent < r.Planned {
			t.Errorf("request %d: %+v, want it planned at %v", i, r, want)
		}
	}
	if got, err = run(steps.Load{Duration: time.Second}); err != nil || got.Requests.Len() != 3 {
		t.Errorf("within 1s: %d requests, %v", got.Requests.Len(), err)
	}
	var invalid *dataset.InvalidError
	if _, err := run(steps.Load{Requests: 5}); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "has 4 requests") {
		t.Errorf("more than there are: %v", err)
	}
	d = steps.Dataset{Kind: "random", InputMin: 4, InputMax: 4, OutputMin: 1, OutputMax: 1}
	if _, err := run(steps.Load{Requests: 1}); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "kind trace") {
		t.Errorf("no times: %v", err)
	}
}

// TestThinkTime: a user is silent between an answer and the next request.
func TestThinkTime(t *testing.T) {
	url := simulated(t, 50, "vllm", "serve", "m")
	res, err := load.Run(t.Context(), load.Options{BaseURL: url, Model: "m", Seed: 1, TimeScale: 50, Workload: steps.Workload{
		Endpoint: "completions", IgnoreEOS: true, Dataset: steps.Dataset{Kind: "random", InputMin: 8, InputMax: 8, OutputMin: 2, OutputMax: 2},
		Load: steps.Load{Arrival: load.Closed, MaxConcurrency: 1, Requests: 4, ThinkTime: 2 * time.Second},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < res.Run.Requests.Len(); i++ {
		if pause := time.Duration(res.Run.Requests.At(i).Sent - res.Run.Requests.At(i-1).Done); pause < 2*time.Second {
			t.Errorf("request %d was sent %v after the answer before", i, pause)
		}
	}
	if err := load.AllArrivals().Check(steps.Load{Arrival: load.Poisson, Rate: 1, Requests: 1, ThinkTime: 1}); err == nil {
		t.Error("an open loop with think time passes")
	}
}
