package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// twoBenchmarks are gates on two benchmarks of two rates, and a limit.
const twoBenchmarks = `
server "vllm" "sut" {
  for_each   = toset(["base", "head"])
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  env        = { SIDE = each.key }
}

dataset "random" "d" {
  input_len  = 32
  output_len = 4
}

benchmark "b" {
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.d
  matrix {
    side = ["base", "head"]
    rate = [4, 8]
  }
  load {
    rate     = matrix.rate
    requests = 20
  }
  repeat {
    min = 4
    max = 4
  }
}

benchmark "c" {
  target  = server.vllm.sut["head"]
  dataset = dataset.random.d
  matrix { concurrency = [1, 2] }
  load {
    arrival         = "closed"
    max_concurrency = matrix.concurrency
    requests        = 20
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.p50]
  margin    = "20%"
}

gate "limit" {
  benchmark = benchmark.c
  assert {
    condition     = self.errors == 0
    error_message = "requests failed"
  }
}
`

// What --only leaves out is not measured on purpose: it is not judged and listed, and not
// missing; and so it is when the run is judged again.
func TestOnlyWhatIsSelectedIsJudged(t *testing.T) {
	t.Parallel()
	type left struct {
		Gate            string
		Comparisons, Of int
	}
	for _, tt := range []struct {
		name, only string
		gates      []string
		left       []left
		want       string
	}{
		{"one rate", "rate=8", []string{"gate.latency"}, []left{{"gate.latency", 1, 2}, {"gate.limit", 2, 2}},
			"neither measured nor judged: gate.latency (1 of 2 comparisons), gate.limit"},
		{"one benchmark", "benchmark.c", []string{"gate.limit"}, []left{{"gate.latency", 2, 2}}, "neither measured nor judged: gate.latency"},
		{"the base alone", "side=base", nil, []left{{"gate.latency", 2, 2}, {"gate.limit", 2, 2}},
			"neither measured nor judged: gate.latency, gate.limit"},
		{"a head", "side=head", []string{"gate.latency"}, []left{{"gate.limit", 2, 2}}, "neither measured nor judged: gate.limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "f.hcl"), []byte(twoBenchmarks), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"plan", "--only", tt.only, "f.hcl"},
				{"run", "--simulate=virtual", "--progress", "quiet", "--out", "out", "--only", tt.only, "f.hcl"},
				{"gate", "out"}, {"report", "out"},
			} {
				out, code := pipeline(t, dir, args...)
				if flat := strings.Join(strings.Fields(out), " "); code != 0 || !strings.Contains(flat, tt.want) {
					t.Errorf("%s: exit status %d, want 0 with %q:\n%s", args[0], code, tt.want, out)
				}
			}
			text, err := os.ReadFile(filepath.Join(dir, "out", "results.json"))
			if err != nil {
				t.Fatal(err)
			}
			var doc struct {
				Gates       []struct{ Addr string }
				NotSelected []left `json:"not_selected"`
			}
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			var gates []string
			for _, g := range doc.Gates {
				gates = append(gates, g.Addr)
			}
			if !reflect.DeepEqual(gates, tt.gates) || !reflect.DeepEqual(doc.NotSelected, tt.left) {
				t.Errorf("judged %v, not selected %v; want %v and %v", gates, doc.NotSelected, tt.gates, tt.left)
			}
		})
	}
}

// Gates on what a run never measured are refused: it was not left out on purpose.
func TestWhatWasNotMeasuredIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"f.hcl": twoBenchmarks, "g.hcl": strings.Replace(twoBenchmarks, "rate = [4, 8]",
		"rate = [4, 8, 16]", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := pipeline(t, dir, "run", "--simulate=virtual", "--progress", "quiet", "--out", "out", "f.hcl"); code != 0 {
		t.Fatalf("exit status %d:\n%s", code, out)
	}
	if out, code := pipeline(t, dir, "gate", "-f", "g.hcl", "out"); code != 3 || !strings.Contains(out, "rate=16 was not measured") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
}
