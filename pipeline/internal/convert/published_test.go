package convert_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// printedAs is a figure of the published CSV files: how it is found in a run, and the
// power of ten from the run's unit to the printed one.
type printedAs struct {
	id    string
	shift float64
}

// vllmColumns are the figures of vLLM's block by the column of the CSV files.
var vllmColumns = map[string]printedAs{
	"successful_requests": {"#succeeded", 1}, "benchmark_duration_s": {"#duration", 1},
	"total_input_tokens": {"#input", 1}, "total_generated_tokens": {"#output", 1},
	"request_throughput_req_s": {"request_throughput.mean", 1}, "output_token_throughput_tok_s": {"output_throughput.mean", 1},
	"total_token_throughput_tok_s": {"total_throughput.mean", 1},
	"mean_ttft_ms":                 {"ttft.mean", 1e3}, "median_ttft_ms": {"ttft.p50", 1e3}, "p99_ttft_ms": {"ttft.p99", 1e3},
	"mean_tpot_ms": {"tpot.mean", 1e3}, "median_tpot_ms": {"tpot.p50", 1e3}, "p99_tpot_ms": {"tpot.p99", 1e3},
	"mean_itl_ms": {"itl.mean", 1e3}, "median_itl_ms": {"itl.p50", 1e3}, "p99_itl_ms": {"itl.p99", 1e3},
	"mean_e2el_ms": {"e2el.mean", 1e3}, "median_e2el_ms": {"e2el.p50", 1e3}, "p99_e2el_ms": {"e2el.p99", 1e3},
	"mean_token_latency_ms": {"token_latency.mean", 1e3}, "median_token_latency_ms": {"token_latency.p50", 1e3},
	"p99_token_latency_ms": {"token_latency.p99", 1e3},
}

// sglangColumns are those of SGLang's, whose definitions differ in places.
var sglangColumns = map[string]printedAs{
	"successful_requests": {"#succeeded", 1}, "benchmark_duration_s": {"#duration", 1},
	"total_input_tokens": {"#input", 1}, "total_generated_tokens": {"#output", 1},
	"request_throughput_req_s": {"request_throughput.mean", 1}, "input_token_throughput_tok_s": {"input_throughput.mean", 1},
	"output_token_throughput_tok_s": {"output_throughput.mean", 1}, "total_token_throughput_tok_s": {"total_throughput.mean", 1},
	"peak_output_token_throughput_tok_s": {"output_throughput.peak_second", 1}, "peak_concurrent_requests": {"concurrency.peak_second", 1},
	"concurrency":         {"concurrency.mean", 1},
	"mean_e2e_latency_ms": {"sglang_e2el.mean", 1e3}, "median_e2e_latency_ms": {"sglang_e2el.p50", 1e3},
	"p90_e2e_latency_ms": {"sglang_e2el.p90", 1e3}, "p99_e2e_latency_ms": {"sglang_e2el.p99", 1e3},
	"mean_ttft_ms": {"ttft.mean", 1e3}, "median_ttft_ms": {"ttft.p50", 1e3}, "p99_ttft_ms": {"ttft.p99", 1e3},
	"mean_tpot_ms": {"sglang_tpot.mean", 1e3}, "median_tpot_ms": {"sglang_tpot.p50", 1e3}, "p99_tpot_ms": {"sglang_tpot.p99", 1e3},
	"mean_itl_ms": {"itl_token.mean", 1e3}, "median_itl_ms": {"itl_token.p50", 1e3}, "p95_itl_ms": {"itl_token.p95", 1e3},
	"p99_itl_ms": {"itl_token.p99", 1e3}, "max_itl_ms": {"itl_token.max", 1e3},
	"total_input_text_tokens": {"@input_text_tokens", 1}, "total_generated_tokens_retokenized": {"@retokenized_tokens", 1},
}

func readFile(t *testing.T, name string, opt convert.ReadOptions) []convert.Run {
	t.Helper()
	runs, err := readPath(t, name, opt)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func readPath(t *testing.T, name string, opt convert.ReadOptions) ([]convert.Run, error) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	return convert.Read(f, name, opt)
}

func publishedRows(t *testing.T, name string) []map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "published", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, h := range all[0] {
			row[h] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// printed formats a figure of a run with as many decimals as the source has.
func printed(t *testing.T, r *convert.Run, as printedAs, like string) string {
	t.Helper()
	var v float64
	var ok bool
	switch as.id {
	case "#succeeded":
		v, ok = float64(r.Counts.Succeeded), true
	case "#duration":
		v, ok = r.Duration, true
	case "#input":
		v, ok = float64(r.Counts.InputTokens), true
	case "#output":
		v, ok = float64(r.Counts.OutputTokens), true
	default:
		if name, found := strings.CutPrefix(as.id, "@"); found {
			v, ok = r.Audit[name].(float64)
		} else {
			v, ok = r.Metrics[as.id]
		}
	}
	if !ok {
		return "(absent)"
	}
	_, decimals, _ := strings.Cut(like, ".")
	return strconv.FormatFloat(v*as.shift, 'f', len(decimals), 64)
}

// compareRow checks every figure of a row and returns how many there were.
func compareRow(t *testing.T, r *convert.Run, row map[string]string, columns map[string]printedAs) int {
	t.Helper()
	n := 0
	for column, as := range columns {
		want, ok := row[column]
		if !ok {
			continue
		}
		n++
		if got := printed(t, r, as, want); got != want {
			t.Errorf("%s: %s is %s, printed %s", r.At(), column, got, want)
		}
	}
	return n
}

func blocks(runs []convert.Run) []convert.Run {
	var out []convert.Run
	for _, r := range runs {
		if r.Format == convert.FormatBlock {
			out = append(out, r)
		}
	}
	return out
}

func TestPublishedBlocks(t *testing.T) {
	tests := []struct {
		text, csv string
		columns   map[string]printedAs
		blocks    int
		figures   int // per block
	}{
		{"vllm-mooncake.md", "vllm-mooncake.csv", vllmColumns, 25, 16},
		{"vllm-sharegpt.txt", "vllm-sharegpt.csv", vllmColumns, 1, 22},
		{"sglang-random.txt", "sglang-random.csv", sglangColumns, 1, 28},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			runs := blocks(readFile(t, "published/"+tt.text, convert.ReadOptions{}))
			rows := publishedRows(t, tt.csv)
			if len(runs) != tt.blocks || len(rows) != tt.blocks {
				t.Fatalf("%d blocks and %d rows, want %d", len(runs), len(rows), tt.blocks)
			}
			for i := range runs {
				if n := compareRow(t, &runs[i], rows[i], tt.columns); n != tt.figures {
					t.Errorf("row %d has %d figures, want %d", i, n, tt.figures)
				}
				if line, _ := strconv.Atoi(rows[i]["line"]); runs[i].Line != line {
					t.Errorf("block %d begins at line %d, want %d", i, runs[i].Line, line)
				}
				for _, w := range runs[i].Warnings() {
					t.Errorf("%s: warning %q", runs[i].At(), w)
				}
			}
		})
	}
}

// TestPublishedCSV: the files of figures are results of their own, all of which can be
// read; of the two sources without text they are all there is.
func TestPublishedCSV(t *testing.T) {
	for name, want := range map[string]int{
		"vllm-mooncake.csv": 25, "vllm-ray.csv": 25, "vllm-lengths.csv": 23, "vllm-sharegpt.csv": 1,
	} {
		runs := readFile(t, "published/"+name, convert.ReadOptions{Tool: "vllm"})
		rows := publishedRows(t, name)
		if len(runs) != want || len(rows) != want {
			t.Fatalf("%s: %d runs of %d rows, want %d", name, len(runs), len(rows), want)
		}
		for i := range runs {
			if n := compareRow(t, &runs[i], rows[i], vllmColumns); n < 15 {
				t.Errorf("%s: %d figures", runs[i].At(), n)
			}
		}
	}
}

// TestPublishedTables: the tables of a source agree with its blocks in every figure.
func TestPublishedTables(t *testing.T) {
	runs := readFile(t, "published/vllm-mooncake.md", convert.ReadOptions{})
	byLine := map[int]*convert.Run{}
	for i := range runs {
		byLine[runs[i].Line] = &runs[i]
	}
	rows := publishedRows(t, "vllm-mooncake.csv")
	tables := 0
	repeated := map[int]bool{}
	for i := range runs {
		r := &runs[i]
		if r.Format != convert.FormatTable {
			continue
		}
		tables++
		block := byLine[r.SameAs]
		if block == nil {
			t.Fatalf("%s repeats no block", r.At())
		}
		repeated[r.SameAs] = true
		for _, row := range rows {
			if row["line"] != strconv.Itoa(r.SameAs) {
				continue
			}
			if n := compareRow(t, r, row, vllmColumns); n != 16 {
				t.Errorf("%s: %d figures", r.At(), n)
			}
		}
		rate, _ := r.Param("qps")
		want, _ := block.Param("qps")
		if len(r.Params["request_rate"]) == 1 && rate != want {
			t.Errorf("%s has the rate %s, its block %s", r.At(), rate, want)
		}
	}
	if tables != 25 || len(repeated) != 25 {
		t.Errorf("%d rows of tables repeat %d blocks, want 25 and 25", tables, len(repeated))
	}
}

func TestParametersAroundBlocks(t *testing.T) {
	runs := blocks(readFile(t, "published/vllm-mooncake.md", convert.ReadOptions{}))
	rates := map[string]int{}
	for i := range runs {
		rate, _ := runs[i].Param("qps")
		length, _ := runs[i].Param("input_len")
		rates[length+" at "+rate]++
	}
	want := map[string]int{"1024 at 2": 5, "256 at 2": 5, "256 at 4": 5, "256 at 6": 5, "256 at 8": 5}
	for k, n := range want {
		if rates[k] != n {
			t.Errorf("%d blocks of %s, want %d: %v", rates[k], k, n, rates)
		}
	}
	if got := runs[2].Params["heading"]; got != "MooncakeTransferEngine with RDMA backend" {
		t.Errorf("heading %q", got)
	}
	sglang := readFile(t, "published/sglang-random.txt", convert.ReadOptions{})[0]
	for key, want := range map[string]string{
		"backend": "sglang", "input_len": "64", "output_len": "16", "range_ratio": "0", "request_rate": "inf", "num_prompts": "200", "seed": "1",
		"profile_activities": "['CPU', 'GPU']",
	} {
		if got, _ := sglang.Param(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if v, ok := sglang.Param("max_concurrency"); ok {
		t.Errorf("max_concurrency is %q, but it was not set", v)
	}
}

func TestEveryMetricIsDefined(t *testing.T) {
	for _, name := range []string{"vllm-mooncake.md", "vllm-sharegpt.txt", "sglang-random.txt"} {
		for _, r := range readFile(t, "published/"+name, convert.ReadOptions{}) {
			checkDefined(t, &r)
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
