package simulate_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/model/modeltest"
)

// configOf returns the model that a command line configures.
func configOf(tb testing.TB, s simulate.Settings, argv ...string) model.Config {
	tb.Helper()
	server, err := simulate.NewServer(argv, simulate.Options{Settings: s})
	if err != nil {
		tb.Fatal(err)
	}
	return server.Config()
}

func testConfig(tb testing.TB) model.Config {
	tb.Helper()
	return configOf(tb, simulate.Settings{Version: "0.11.0"}, "vllm", "serve", "m")
}

func TestReplayIsDeterministic(t *testing.T) {
	m := modeltest.Model{Config: testConfig(t)}
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

func uniformArrivals(n, input, output int, gap time.Duration) []model.Arrival {
	arrivals := make([]model.Arrival, n)
	for i := range arrivals {
		arrivals[i] = model.Arrival{At: time.Duration(i) * gap, Input: input, Output: output}
	}
	return arrivals
}

func TestFastProfileIsFast(t *testing.T) {
	timelines, err := modeltest.Model{Config: testConfig(t)}.Replay(uniformArrivals(1, 256, 16, 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := timelines[0].Tokens[15]; d < 30*time.Millisecond || d > 60*time.Millisecond {
		t.Errorf("256 tokens in, 16 out take %v, want 30 to 60 ms", d)
	}
}

func TestSlowdownIsPlanted(t *testing.T) {
	c := testConfig(t)
	c.Noise = model.Noise{}
	arrivals := uniformArrivals(1, 256, 64, 0)
	base, _ := modeltest.Model{Config: c}.Replay(arrivals, 1)
	c.Noise.Slowdown = 1.05
	slow, _ := modeltest.Model{Config: c}.Replay(arrivals, 1)
	gen := func(tl model.Timeline) float64 { return float64(tl.Tokens[63] - tl.Tokens[0]) }
	if r := gen(slow[0]) / gen(base[0]); r < 1.0499 || r > 1.0501 {
		t.Errorf("a slow-down of 1.05 makes decoding ×%.5f", r)
	}
}

func TestPrefixCacheShortensPrefill(t *testing.T) {
	c := testConfig(t)
	prompt := model.Encode("all men are created equal and endowed with certain unalienable rights among them life and liberty")
	arrivals := []model.Arrival{{Input: len(prompt), Output: 1, Prompt: prompt}, {At: time.Second, Input: len(prompt),
		Output: 1, Prompt: prompt}}
	timelines, err := modeltest.Model{Config: c}.Replay(arrivals, 1)
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
		c := configOf(t, simulate.Settings{Version: "0.6.4"}, args...)
		c.Noise = model.Noise{}
		timelines, err := modeltest.Model{Config: c}.Replay([]model.Arrival{{Input: 64, Output: 8}, {At: 8 * time.Millisecond, Input: 1200,
			Output: 3}}, 1)
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
	golden.Equal(t, "testdata/timeline.golden", out.Bytes())
}

func TestRefusedConfigs(t *testing.T) {
	good := testConfig(t)
	for name, change := range map[string]func(*model.Config){
		"no cache":         func(c *model.Config) { c.KVBlocks = 0 },
		"budget too small": func(c *model.Config) { c.Chunked, c.Budget = false, c.MaxModelLen-1 },
		"no sequences":     func(c *model.Config) { c.MaxSeqs = 0 },
	} {
		c := good
		change(&c)
		if _, err := model.NewEngine(c, 1); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := (modeltest.Model{Config: good}).Replay([]model.Arrival{{Input: good.MaxModelLen, Output: 1}}, 1); err == nil {
		t.Error("a request beyond the maximum length was accepted")
	}
}

func BenchmarkReplay(b *testing.B) {
	m := modeltest.Model{Config: testConfig(b)}
	arrivals := uniformArrivals(1000, 256, 200, 10*time.Millisecond)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Replay(arrivals, 1); err != nil {
			b.Fatal(err)
		}
	}
}
