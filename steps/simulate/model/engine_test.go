package model

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

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
		if e.pool.free != len(e.pool.blocks) || !e.ResetPrefixCache() {
			t.Fatalf("%d of %d blocks are free at the end", e.pool.free, len(e.pool.blocks))
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
	refs := make([]int32, len(e.pool.blocks))
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
	if used+e.pool.free != len(e.pool.blocks) {
		t.Fatalf("%d blocks used and %d free of %d", used, e.pool.free, len(e.pool.blocks))
	}
}

// TestFirstComeFirstServed: with room for everyone, first tokens come in order of arrival.
func TestFirstComeFirstServed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := smallConfig(t)
		c.KVBlocks = 100_000
		timelines := serveAll(t, FleetSpec{Decode: []Node{{Config: c, Seed: 7}}}, drawArrivals(t, c.MaxModelLen))
		for i := 1; i < len(timelines); i++ {
			if timelines[i].Tokens[0] < timelines[i-1].Tokens[0] {
				t.Fatalf("request %d overtook its predecessor: %v < %v", i, timelines[i].Tokens[0], timelines[i-1].Tokens[0])
			}
		}
	})
}
