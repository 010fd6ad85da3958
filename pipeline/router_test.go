package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// TestRouters judges two policies of SGLang's router, each way round, before simulated engines: the policy that follows the
// caches is an improvement, and the one that takes turns is a regression.
func TestRouters(t *testing.T) {
	dir := os.Getenv("PIPELINE_ROUTER")
	if dir == "" {
		skipOrFail(t, "router", "PIPELINE_ROUTER does not name a folder that examples/routers/setup.sh filled")
	}
	file, err := filepath.Abs(filepath.Join("..", "examples", "routers", "routers.pipeline.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		exit int
		want map[string]result.Verdict
	}{
		{"worse", []string{"--var", "base=cache_aware", "--var", "head=round_robin"}, 1,
			map[string]result.Verdict{"prefix_cache.hit_rate": result.Regression, "ttft.mean": result.Regression,
				"replica.balancedness": result.Pass}},
		{"better", nil, 0, map[string]result.Verdict{"prefix_cache.hit_rate": result.Improvement, "ttft.mean": result.Improvement}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			out := filepath.Join(folder, "out")
			keepLogs(t, out)
			args := append([]string{"run", file, "--simulate", "--out", out, "--progress", "plain", "--var", "dir=" + dir}, tt.args...)
			text, code := marked(t, folder, args...)
			doc, err := store.ReadDocument(out)
			if err != nil || code != tt.exit {
				t.Fatalf("exit status %d, want %d: %v\n%s", code, tt.exit, err, text)
			}
			got := map[string]result.Verdict{}
			for _, g := range doc.Gates {
				for _, d := range g.Decisions {
					got[d.Metric] = d.Verdict
				}
			}
			for metric, want := range tt.want {
				if got[metric] != want {
					t.Errorf("%s is %q, want %q\n%s", metric, got[metric], want, text)
				}
			}
			noProcessLeft(t, folder)
		})
	}
}
