package load_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// metronome is a model that answers each request after 10 ms with a token a millisecond. It
// keeps what it was asked for.
type metronome struct{ got []load.ModelTraffic }

func (*metronome) Tokenize(text string) []int { return model.Encode(text) }

func (*metronome) TokenizeChat(messages json.RawMessage) ([]int, error) {
	return simulate.EncodeChat(messages)
}

func (*metronome) Answer(prompt []int, n int) record.Answer {
	return record.Answer{Text: model.Decode(model.VoiceOf("m").Say(prompt, n))}
}

func (m *metronome) Serve(ctx context.Context, t load.ModelTraffic) error {
	m.got = append(m.got, t)
	for i := range max(len(t.Times), t.Requests) {
		r, err := t.Request(i)
		if err != nil {
			return err
		}
		q := record.Request{Index: i, Planned: -1, PromptTokens: len(r.Prompt), WantTokens: r.Want, OutputTokens: r.Want, CachedTokens: -1,
			Status: 200, Finish: "length"}
		if t.Times != nil {
			q.Planned, q.Sent = int64(t.Times[i]), int64(t.Times[i])
		}
		for j := range r.Want {
			q.Events = append(q.Events, record.Event{At: q.Sent + int64(10*time.Millisecond) + int64(j)*int64(time.Millisecond), Tokens: j + 1})
		}
		q.Headers, q.Done = q.Events[0].At, q.Events[len(q.Events)-1].At
		t.Ended(q)
	}
	return ctx.Err()
}

// TestRehearse: a rehearsal has the very work of a run, prompt for prompt and arrival for
// arrival, over every endpoint and kind of dataset that needs no file.
func TestRehearse(t *testing.T) {
	sglang := []string{"python3", "-m", "sglang.launch_server", "--model-path", "m"}
	lengths := steps.Dataset{InputMin: 40, InputMax: 80, OutputMin: 4, OutputMax: 8}
	kind := func(name string, more map[string]any) steps.Dataset {
		d := lengths
		d.Kind, d.Options = name, more
		return d
	}
	open := steps.Load{Arrival: load.Poisson, Rate: 50, Requests: 12}
	for _, tt := range []struct {
		name, endpoint string
		data           steps.Dataset
		load           steps.Load
	}{
		{"completions", "completions", kind("random", nil), open},
		{"chat", "chat", kind("random", nil), open},
		{"generate", "generate", kind("sonnet", nil), open},
		{"conversations", "chat", kind("chat", map[string]any{"turns": int64(2), "users": int64(3)}), open},
		{"closed", "completions", kind("random", nil), steps.Load{Arrival: load.Closed, MaxConcurrency: 3, Requests: 9}},
		{"burst", "completions", kind("random", nil), steps.Load{Arrival: load.Unlimited, Requests: 9, MaxConcurrency: 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := steps.Workload{Endpoint: tt.endpoint, IgnoreEOS: true, Dataset: tt.data, Load: tt.load, Warmup: 2}
			opt := load.Options{Workload: w, Seed: 5, ShapeSeed: 7, Model: "m", TimeScale: 50}
			model := &metronome{}
			begun := 0
			opt.Begin = func(context.Context) { begun++ }
			got, err := load.Rehearse(t.Context(), opt, model)
			if err != nil {
				t.Fatal(err)
			}
			opt.BaseURL = simulated(t, 50, sglang...)
			real, err := load.Run(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			if begun != 2 || got.Warmup.Len() != 2 {
				t.Errorf("begun %d times in two runs, %d requests of warm-up", begun, got.Warmup.Len())
			}
			a, b := got.Run.Audit, real.Run.Audit
			if a.WorkHash != b.WorkHash || a.ScheduleHash != b.ScheduleHash || a.PlannedRate != b.PlannedRate {
				t.Errorf("rehearsed: %+v, run: %+v", a, b)
			}
			for i, q := range got.Run.Requests.All() {
				if r := real.Run.Requests.At(i); q.PromptTokens != r.PromptTokens || q.WantTokens != r.WantTokens || q.Planned != r.Planned {
					t.Errorf("request %d: rehearsed %+v, run %+v", i, q, r)
				}
			}
			if _, why := (load.Limits{}).Void(a); why != "" {
				t.Errorf("void: %s", why)
			}
		})
	}
}

// TestRehearseRefusals: what a run refuses a rehearsal refuses, and what stops the model
// stops it.
func TestRehearseRefusals(t *testing.T) {
	fits := steps.Workload{Endpoint: "completions", Dataset: steps.Dataset{Kind: "random", InputMin: 8, InputMax: 8, OutputMin: 1,
		OutputMax: 1}, Load: steps.Load{Arrival: load.Constant, Rate: 1, Requests: 1}}
	for name, change := range map[string]func(*steps.Workload){
		"no end":        func(w *steps.Workload) { w.Load.Requests = 0 },
		"no lengths":    func(w *steps.Workload) { w.Dataset.InputMin = 0 },
		"no folder":     func(w *steps.Workload) { w.Dataset.Kind, w.Dataset.Path = "file", "x.jsonl" },
		"embeddings":    func(w *steps.Workload) { w.Endpoint = "embeddings" },
		"warm-up":       func(w *steps.Workload) { w.Warmup = -1 },
		"timeout":       func(w *steps.Workload) { w.RequestTimeout = -time.Second },
		"no such place": func(w *steps.Workload) { w.Endpoint = "nowhere" },
	} {
		w := fits
		change(&w)
		if _, err := load.Rehearse(t.Context(), load.Options{Workload: w, Seed: 1}, &metronome{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, warmup := range []int{0, 1} {
		fits.Warmup = warmup
		if _, err := load.Rehearse(ctx, load.Options{Workload: fits, Seed: 1}, &metronome{}); !errors.Is(err, context.Canceled) ||
			!strings.Contains(err.Error(), "stopped") {
			t.Errorf("with %d of warm-up, stopped: %v", warmup, err)
		}
	}
}

// TestPromptsThatAreNotKept checks that a rehearsal with more prompts than it keeps asks for each of them as often as the model
// wants, and names it in the records.
func TestPromptsThatAreNotKept(t *testing.T) {
	const requests, tokens = 1100, 4096 // 4.5 million tokens, of which 4 Mi are kept
	w := steps.Workload{Endpoint: "completions", IgnoreEOS: true, Load: steps.Load{Arrival: load.Constant, Rate: 10, Requests: requests},
		Dataset: steps.Dataset{Kind: "random", InputMin: tokens, InputMax: tokens, OutputMin: 1, OutputMax: 1}}
	model := &metronome{}
	got, err := load.Rehearse(t.Context(), load.Options{Workload: w, Seed: 5}, model)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]bool{}
	for _, i := range []int{0, 1, requests - 2, requests - 1} {
		again, err := model.got[0].Request(i)
		_, want := dataset.Hash(1, func(int) dataset.Prompt { return dataset.Prompt{IDs: again.Prompt} })
		if err != nil || len(again.Prompt) != tokens || got.Run.Requests.At(i).Asked != want[0] {
			t.Errorf("request %d: %v, asked %d, and its prompt now is %d", i, err, got.Run.Requests.At(i).Asked, want)
		}
		seen[got.Run.Requests.At(i).Asked] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d prompts of 4 differ", len(seen))
	}
}
