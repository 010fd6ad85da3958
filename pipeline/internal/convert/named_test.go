package convert_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// vllmLike is a result of vLLM without its times to first token.
const vllmLike = `{"backend": "vllm", "model_id": "m", "num_prompts": 100, "duration": 20, "completed": 100, "total_output_tokens": 12800,
 "request_throughput": 5, "output_throughput": 640, "mean_tpot_ms": 12, TTFT}`

// TestUnitsInStrings: a time whose unit is in its value is read, whether its key has a unit or not.
func TestUnitsInStrings(t *testing.T) {
	for member, want := range map[string]float64{
		`"mean_ttft_ms": "115 ms"`: 0.115, `"mean_ttft": "115 ms"`: 0.115, `"mean_ttft_ms": "0.115s"`: 0.115, `"Mean TTFT": "115000 µs"`: 0.115,
		`"ttft_mean": "115ms"`: 0.115, `"mean_ttft_ms": 115`: 0.115,
	} {
		runs, err := convert.Read(strings.NewReader(strings.Replace(vllmLike, "TTFT", member, 1)), "x.json", convert.ReadOptions{})
		if err != nil || len(runs) != 1 || runs[0].Metrics["ttft.mean"] != want {
			t.Errorf("%s: %+v, %v", member, runs, err)
		}
	}
	runs, err := convert.Read(strings.NewReader(`{"model": "m", "completed": 9, "mean_ttft": "115 ms"}`), "x.json", convert.ReadOptions{})
	if err != nil || len(runs) != 1 || runs[0].Metrics["ttft.mean"] != 0.115 {
		t.Errorf("a file with no other time: %+v, %v", runs, err)
	}
}

// TestWhatIsNotReadIsNamed: what looks like a measured time and is not read is named in a note or an error.
func TestWhatIsNotReadIsNamed(t *testing.T) {
	of := func(tool, from, to string) string {
		text, err := os.ReadFile(filepath.Join("testdata", "tools", tool))
		if err != nil || !strings.Contains(string(text), from) {
			t.Fatalf("%s: no %s, %v", tool, from, err)
		}
		return strings.Replace(string(text), from, to, 1)
	}
	vllm := func(member string) string { return strings.Replace(vllmLike, "TTFT", member, 1) }
	for name, tt := range map[string]struct{ file, text, want string }{
		"another unit than the key's": {"x.json", vllm(`"mean_ttft_ms": "115s"`), "mean_ttft_ms is read as 115s"},
		"no unit":                     {"x.json", vllm(`"mean_ttft": 115`), `"mean_ttft"`},
		"an object":                   {"x.json", vllm(`"ttft": {"mean": "115 ms", "p99": "300 ms"}`), "ttft is not read: it is an object with"},
		"a list":                      {"x.json", vllm(`"percentiles_ttft_ms": [[99, 300]]`), "percentiles_ttft_ms is not read: it is a list"},
		"an unknown distribution": {"x.json", of("aiperf.json", `"request_latency"`,
			`"time_to_second_token": {"unit": "ms", "avg": 5}, "request_latency"`), `"time_to_second_token"`},
		"an unknown percentile": {"x.json", of("aiperf.json", `"p95": 4051`, `"p97": 4100, "p95": 4051`), `"time_to_first_token/p97"`},
		"a structure for a number": {"x.json", of("inference-perf.json", `{"mean": 0.25, "median": 0.2`,
			`{"mean": {"value": 0.25}, "median": 0.2`),
			`"an object with \"value\"" is not a number`},
		"a column that is no statistic": {"x.md", "| Metric | Mean | Trimmed mean | P50 |\n|---|---|---|---|\n| TTFT (ms) | 115 | 114 | 110 |\n" +
			"| TPOT (ms) | 12 | 12 | 12 |\n", `"Trimmed mean"`},
		"a row that is no time": {"x.md", "| Metric | Mean | P50 |\n|---|---|---|\n| TTFT (ms) | 115 | 110 |\n| Tokens/s per user | 80 | 81 |\n",
			`not read: "Tokens/s per user"`},
		"blank cells below a setting": {"x.md", "| config | qps | TTFT mean (ms) | TPOT mean (ms) |\n|---|---|---|---|\n" +
			"| TCP | 1 | 115 | 12 |\n| | 2 | 130 | 13 |\n| RDMA | 1 | 90 | 11 |\n| | 2 | 95 | 11 |\n", `the cell of "config" is blank`},
		"a table of one figure": {"x.md", "| qps | TTFT mean (ms) |\n|---|---|\n| 1 | 115 |\n", "stands alone"},
	} {
		runs, err := convert.Read(strings.NewReader(tt.text), tt.file, convert.ReadOptions{})
		said := strings.Join(convert.Notes(runs), "\n")
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, tt.want) {
			t.Errorf("%s: no word of %s: %s", name, tt.want, said)
		}
	}
}
