package judge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/steps"
)

// What others have published is judged by gates as it stands: by what it states of launches
// nothing can be decided, other work is refused, and a file beside itself does not differ.
func TestPublishedResultsAreJudged(t *testing.T) {
	published, err := filepath.Abs(filepath.Join("..", "convert", "testdata", "published"))
	if err != nil {
		t.Fatal(err)
	}
	const paired = `
baseline "paired" "base" {
  axis  = "side"
  value = "base"
}
`
	for name, tt := range map[string]struct {
		results []string // each may begin with labels
		matrix  string
		base    string // the baseline's block
		metrics string
	}{
		"vllm-mooncake": {
			results: []string{"side=base:%s/vllm-mooncake.csv?subsection=MooncakeTransferEngine with TCP backend",
				"side=head:%s/vllm-mooncake.csv?subsection=MooncakeTransferEngine with RDMA backend"},
			matrix: "qps = [2, 4, 6, 8]\n input_len = [256]", base: paired, metrics: "metric.ttft.p50, metric.tpot.p50",
		},
		"vllm-ray": {
			results: []string{"side=base:%s/vllm-ray.csv?subsection=✍️ Test 2: 2 GPU pods hosted in the same node (Available KV cache memory: " +
				"12.02 GiB)",
				"side=head:%s/vllm-ray.csv?subsection=✍️ Test 1: 2 GPU pods hosted on 2 different nodes (Available KV cache memory: 11.03 GiB)"},
			matrix: "input_len = [1024]\n output_len = [1024]\n num_prompts = [10, 50]", base: paired, metrics: "metric.ttft.p50",
		},
		"vllm-lengths": {
			results: []string{"side=base:%s/vllm-lengths.csv?seq_length=80", "side=head:%s/vllm-lengths.csv?seq_length=10000"},
			base:    paired, metrics: "metric.ttft.mean",
		},
		"vllm-sharegpt": {
			results: []string{"side=head:%s/vllm-sharegpt.txt"}, metrics: "metric.ttft.p50, metric.e2el.p50",
			base: "baseline \"file\" \"published\" {\n  path = \"" + published + "/vllm-sharegpt.csv\"\n}\n",
		},
		"sglang-random": {
			results: []string{"side=head:%s/sglang-random.txt"}, metrics: "metric.ttft.p50, metric.itl_token.p50",
			base: "baseline \"file\" \"published\" {\n  path = \"" + published + "/sglang-random.csv\"\n}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tool, _, _ := strings.Cut(name, "-")
			cfg := judgedFile(t, tool, tt.matrix, tt.base, tt.metrics)
			var runs []convert.Run
			for _, arg := range tt.results {
				more, err := convert.ReadArgument(fmt.Sprintf(arg, published), convert.ReadOptions{Tool: tool}, nil)
				if err != nil {
					t.Fatal(err)
				}
				runs = append(runs, more...)
			}
			doc, err := judge.Imported(cfg, runs, convert.FitOptions{Options: convert.Options{OneLaunchPerFile: true}}, nil, time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, g := range doc.Gates {
				for _, d := range g.Decisions {
					fmt.Fprintf(&b, "%v %s: %.6g → %.6g, %+.1f %%, n %d, %s: %s\n", d.Values, d.Metric, orZero(d.BaseValue), orZero(d.HeadValue),
						100*orZero(d.Change), d.N, d.Verdict, d.Reason)
				}
			}
			fmt.Fprintf(&b, "exit status %d\n", doc.ExitCode)
			golden.Equal(t, "testdata/published-"+name+".txt", b.String())
		})
	}
}

// judgedFile is a pipeline file that runs nothing and judges results.
func judgedFile(t *testing.T, tool, matrix, baseline, metrics string) *config.Config {
	t.Helper()
	kind := "paired.base"
	if strings.Contains(baseline, `"file"`) {
		kind = "file.published"
	}
	text := fmt.Sprintf("benchmark \"nightly\" {\n  matrix {\n    side = [\"base\", \"head\"]\n%s\n  }\n  driver \"results\" {\n    tool = "+
		"%q\n  }\n}\n%s\ngate \"night\" {\n  benchmark = benchmark.nightly\n  baseline  = baseline.%s\n  metrics   = [%s]\n  margin    = "+
		"\"5%%\"\n  where     = %s\n}\n",
		matrix, tool, baseline, kind, metrics, `matrix.side == "head"`)
	path := filepath.Join(t.TempDir(), "gates.hcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	registry, err := steps.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{Paths: []string{path}, Registry: registry, Version: "1.0.0"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return cfg.Config
}

func orZero(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}
