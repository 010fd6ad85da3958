package simulate

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

// smallConfig is a server with little of everything, so that limits are met.
func smallConfig(t *rapid.T) Config {
	p := Profiles()[2]
	c := Config{Profile: p, Shape: p.Model, GPUs: 1, BlockSize: rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "block"),
		MaxSeqs: rapid.IntRange(1, 6).Draw(t, "seqs"), MaxModelLen: 96, Noise: DefaultNoise(),
		Chunked: rapid.Bool().Draw(t, "chunked"), Mixed: rapid.Bool().Draw(t, "mixed"), PrefixCache: rapid.Bool().Draw(t, "cache")}
	c.Budget = c.MaxModelLen + rapid.IntRange(0, 64).Draw(t, "more")
	if c.Chunked {
		c.Budget = rapid.IntRange(c.MaxSeqs, 64).Draw(t, "budget")
	}
	if rapid.Bool().Draw(t, "watermarked") {
		c.Watermark = 0.05
	}
	c.KVBlocks = c.MaxModelLen/c.BlockSize + rapid.IntRange(6, 20).Draw(t, "blocks")
	return c
}

func drawArrivals(t *rapid.T, limit int) []Arrival {
	prefix := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 24).Draw(t, "prefix")
	arrivals := make([]Arrival, rapid.IntRange(1, 25).Draw(t, "n"))
	var at time.Duration
	for i := range arrivals {
		at += time.Duration(rapid.IntRange(0, 20).Draw(t, "gap")) * time.Millisecond
		ids := append(append([]int{}, prefix...), rapid.SliceOfN(rapid.IntRange(0, 3), 1, limit/2).Draw(t, "prompt")...)
		arrivals[i] = Arrival{At: at, Input: len(ids), Output: rapid.IntRange(1, limit-len(ids)).Draw(t, "output")}
		if rapid.Bool().Draw(t, "known") {
			arrivals[i].Prompt = ids
		}
	}
	return arrivals
}

// TestEngineInvariants drives random servers over random arrivals, step by step.
func TestEngineInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := smallConfig(t)
		arrivals := drawArrivals(t, c.MaxModelLen)
		e, err := NewEngine(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for i, a := range arrivals {
			if err := e.Submit(a.At, Request{ID: i, Input: a.Input, Output: a.Output, IDs: a.Prompt}); err != nil {
				t.Fatal(err)
			}
			want += a.Output
		}
		produced := make([]int, len(arrivals))
		var now time.Duration
		for steps := 0; ; steps++ {
			if steps > 50_000 {
				t.Fatalf("not done after %d steps: a request starves; %+v", steps, e.Stats())
			}
			step, ok := e.Begin(now)
			if !ok {
				next, more := e.NextReady()
				if !more {
					break
				}
				now = next
				continue
			}
			checkStep(t, c, e, step)
			if step.End <= now {
				t.Fatalf("a step takes no time: %+v", step)
			}
			now = step.End
			for _, ev := range e.End(nil) {
				if ev.Index != produced[ev.ID] {
					t.Fatalf("request %d: token %d follows %d", ev.ID, ev.Index, produced[ev.ID])
				}
				produced[ev.ID]++
				if ev.Last != (produced[ev.ID] == arrivals[ev.ID].Output) {
					t.Fatalf("request %d: last=%v after %d of %d tokens", ev.ID, ev.Last, produced[ev.ID], arrivals[ev.ID].Output)
				}
			}
		}
		st := e.Stats()
		if st.OutputTokens != want || st.Running != 0 || st.Waiting != 0 {
			t.Fatalf("made %d of %d tokens: %+v", st.OutputTokens, want, st)
		}
		if e.pool.free != e.pool.total() || !e.ResetPrefixCache() {
			t.Fatalf("%d of %d blocks are free at the end", e.pool.free, e.pool.total())
		}
	})
}

// checkStep holds the limits of one step against the engine's insides.
func checkStep(t *rapid.T, c Config, e *Engine, step Step) {
	if n := step.PrefillTokens + step.DecodeTokens; n > c.Budget && (c.Mixed || step.PrefillTokens > 0) {
		t.Fatalf("%d tokens in a step with a budget of %d", n, c.Budget)
	}
	if !c.Mixed && step.PrefillTokens > 0 && step.DecodeTokens > 0 {
		t.Fatalf("prefill and decode share a step: %+v", step)
	}
	if len(e.running) > c.MaxSeqs {
		t.Fatalf("%d sequences run, %d may", len(e.running), c.MaxSeqs)
	}
	refs := make([]int32, e.pool.total())
	for _, s := range e.running {
		for _, id := range s.blocks {
			refs[id]++
		}
		if len(s.blocks) < ceilDiv(s.computed, c.BlockSize) {
			t.Fatalf("%d tokens in %d blocks of %d", s.computed, len(s.blocks), c.BlockSize)
		}
	}
	used := 0
	for id, n := range refs {
		if e.pool.blocks[id].refs != n {
			t.Fatalf("block %d has %d references and %d users", id, e.pool.blocks[id].refs, n)
		}
		if n > 0 {
			used++
		}
	}
	if used+e.pool.free != e.pool.total() {
		t.Fatalf("%d blocks used and %d free of %d", used, e.pool.free, e.pool.total())
	}
}

// TestFirstComeFirstServed: with room for everyone, first tokens come in order of arrival.
func TestFirstComeFirstServed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := smallConfig(t)
		c.KVBlocks = 100_000
		timelines, err := Model{Config: c}.Replay(drawArrivals(t, c.MaxModelLen), 7)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(timelines); i++ {
			if timelines[i].FirstToken() < timelines[i-1].FirstToken() {
				t.Fatalf("request %d overtook its predecessor: %v < %v", i, timelines[i].FirstToken(), timelines[i-1].FirstToken())
			}
		}
	})
}

func testConfig(tb testing.TB, args ...string) Config {
	tb.Helper()
	l, err := newLaunch(append([]string{"vllm", "serve", "m"}, args...), Settings{Version: "0.11.0"}, func(string) string { return "" })
	if err != nil {
		tb.Fatal(err)
	}
	return l.config
}

func TestReplayIsDeterministic(t *testing.T) {
	m := Model{Config: testConfig(t)}
	arrivals := uniformArrivals(40, 256, 16, 20*time.Millisecond)
	a, err := m.Replay(arrivals, 3)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := m.Replay(arrivals, 3)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("the same seed differs:\n%s", diff)
	}
	c, _ := m.Replay(arrivals, 4)
	if cmp.Equal(a, c) {
		t.Fatal("another launch has the same times")
	}
}

func uniformArrivals(n, input, output int, gap time.Duration) []Arrival {
	arrivals := make([]Arrival, n)
	for i := range arrivals {
		arrivals[i] = Arrival{At: time.Duration(i) * gap, Input: input, Output: output}
	}
	return arrivals
}

func TestFastProfileIsFast(t *testing.T) {
	timelines, err := Model{Config: testConfig(t)}.Replay(uniformArrivals(1, 256, 16, 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := timelines[0].Tokens[15]; d < 30*time.Millisecond || d > 60*time.Millisecond {
		t.Errorf("256 tokens in, 16 out take %v, want 30 to 60 ms", d)
	}
}

func TestSlowdownIsPlanted(t *testing.T) {
	c := testConfig(t)
	c.Noise = Noise{}
	arrivals := uniformArrivals(1, 256, 64, 0)
	base, _ := Model{Config: c}.Replay(arrivals, 1)
	c.Noise.Slowdown = 1.05
	slow, _ := Model{Config: c}.Replay(arrivals, 1)
	gen := func(tl Timeline) float64 { return float64(tl.Tokens[63] - tl.Tokens[0]) }
	if r := gen(slow[0]) / gen(base[0]); r < 1.0499 || r > 1.0501 {
		t.Errorf("a slow-down of 1.05 makes decoding ×%.5f", r)
	}
}

func TestPrefixCacheShortensPrefill(t *testing.T) {
	c := testConfig(t)
	prompt := Encode("all men are created equal and endowed with certain unalienable rights among them life and liberty")
	arrivals := []Arrival{{Input: len(prompt), Output: 1, Prompt: prompt}, {At: time.Second, Input: len(prompt), Output: 1, Prompt: prompt}}
	timelines, err := Model{Config: c}.Replay(arrivals, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := (len(prompt) - 1) / c.BlockSize * c.BlockSize
	if timelines[0].Cached != 0 || timelines[1].Cached != want {
		t.Errorf("cached %d and %d tokens, want 0 and %d", timelines[0].Cached, timelines[1].Cached, want)
	}
}

// TestGoldenTimeline shows whole and chunked prefill side by side: a long prompt arrives
// while a short one decodes.
func TestGoldenTimeline(t *testing.T) {
	var out bytes.Buffer
	for _, chunked := range []bool{false, true} {
		args := []string{"vllm", "serve", "m", "--max-model-len=4096"}
		if chunked {
			args = append(args, "--enable-chunked-prefill")
		}
		l, err := newLaunch(args, Settings{Version: "0.6.4"}, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		c := l.config
		c.Noise = Noise{}
		timelines, err := Model{Config: c}.Replay([]Arrival{{Input: 64, Output: 8}, {At: 8 * time.Millisecond, Input: 1200, Output: 3}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "chunked prefill %v\n", chunked)
		for i, tl := range timelines {
			fmt.Fprintf(&out, "  request %d arrives %v, tokens at", i, tl.Arrival)
			for _, at := range tl.Tokens {
				fmt.Fprintf(&out, " %v", at.Round(10*time.Microsecond))
			}
			fmt.Fprintln(&out)
		}
	}
	golden(t, "testdata/timeline.golden", out.Bytes())
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); run the test with -update if that is right:\n%s", file, diff)
	}
}

func TestRecords(t *testing.T) {
	arrivals := uniformArrivals(3, 32, 4, time.Millisecond)
	timelines, err := Model{Config: testConfig(t)}.Replay(arrivals, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range Records(arrivals, timelines) {
		if r.Index != i || r.OutputTokens != 4 || len(r.Events) != 4 || r.Events[3].Tokens != 4 || r.Failure != "" ||
			r.Sent != int64(arrivals[i].At) || r.Done != int64(timelines[i].Tokens[3]) || r.PromptTokens != 32 {
			t.Errorf("record %d: %+v", i, r)
		}
	}
}

func TestRefusedConfigs(t *testing.T) {
	good := testConfig(t)
	for name, change := range map[string]func(*Config){
		"no cache":         func(c *Config) { c.KVBlocks = 0 },
		"budget too small": func(c *Config) { c.Chunked, c.Budget = false, c.MaxModelLen-1 },
		"no sequences":     func(c *Config) { c.MaxSeqs = 0 },
	} {
		c := good
		change(&c)
		if _, err := NewEngine(c, 1); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := (Model{Config: good}).Replay([]Arrival{{Input: good.MaxModelLen, Output: 1}}, 1); err == nil {
		t.Error("a request beyond the maximum length was accepted")
	}
}

func BenchmarkReplay(b *testing.B) {
	m := Model{Config: testConfig(b)}
	arrivals := uniformArrivals(1000, 256, 200, 10*time.Millisecond)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Replay(arrivals, 1); err != nil {
			b.Fatal(err)
		}
	}
}
