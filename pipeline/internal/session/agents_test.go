package session_test

import (
	"bufio"
	"encoding/json"
	"hash/maphash"
	"math"
	"os"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// idealHitRate is the share of the prompt tokens of a trace's first calls that a prefix cache finds which keeps everything:
// those of the blocks that an earlier prompt began with as well.
func idealHitRate(t *testing.T, path string, calls int) float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	type block struct {
		before uint64
		name   int
	}
	seed, seen, found, all := maphash.MakeSeed(), map[block]bool{}, 0, 0
	for s := bufio.NewScanner(f); calls > 0 && s.Scan(); calls-- {
		var l struct {
			Input     int   `json:"input_length"`
			BlockSize int   `json:"block_size"`
			HashIDs   []int `json:"hash_ids"`
		}
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		known, before := 0, uint64(0)
		for k, name := range l.HashIDs {
			b := block{before, name}
			if seen[b] && known == k {
				known++
			}
			seen[b] = true
			before = maphash.Comparable(seed, b)
		}
		found, all = found+min(known*l.BlockSize, l.Input), all+l.Input
	}
	return float64(found) / float64(all)
}

// TestAgents rehearses examples/agents: at their times the prefix cache of the simulator finds what the trace lets it find,
// within a percentage point; equal sides pass, and a head without its prefix cache is a regression
// of the sessions' times as well.
func TestAgents(t *testing.T) {
	calls, heads := 40, map[string]result.Verdict{"false": result.Regression}
	if *full {
		calls, heads["true"] = 140, result.Pass
	}
	ideal := idealHitRate(t, "../../../examples/agents/trace.jsonl", calls)
	for cache, want := range heads {
		r, p := rehearsePlan(t, loadExample(t, "agents", "prefix_cache="+cache))
		for _, b := range p.Benchmarks {
			for i := range b.Cells {
				b.Cells[i].Workload.Load.Requests = calls
			}
		}
		doc, err := r.Run(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range doc.Gates {
			if g.Verdict != want {
				t.Errorf("prefix cache %s, %s: %s", cache, g.Addr, g.Verdict)
			}
		}
		for _, b := range doc.Benchmarks {
			for _, run := range b.Cells[0].Runs { // of the base
				rate := run.Metrics["prefix_cache.hit_rate"]
				if b.Addr == "benchmark.agents" && math.Abs(rate-ideal) > 0.01 || rate > ideal+0.01 {
					t.Errorf("%s: hit rate %.4f, the trace's is %.4f", b.Addr, rate, ideal)
				}
				if s := run.Metrics["session_time.mean"]; s < 2 || s > 8 {
					t.Errorf("%s: sessions of %g s", b.Addr, s)
				}
			}
		}
		if err := judge.Verify(doc, nil); err != nil {
			t.Errorf("judged again: %v", err)
		}
	}
}
