package convert_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// TestRealFiles: what the tools of today write is read as it is, with the parameters that
// distinguish cells, and without a warning in any of them.
func TestRealFiles(t *testing.T) {
	load := func(rate string, more ...string) map[string]string {
		m := map[string]string{"request_rate": rate, "num_prompts": "40"}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	forty := convert.Counts{Sent: 40, Succeeded: 40, FailedKnown: true, InputTokens: 2563, OutputTokens: 640}
	twenty := convert.Counts{Sent: 20, Succeeded: 20, FailedKnown: true, InputTokens: 1283, OutputTokens: 320}
	unreported := convert.Counts{Succeeded: 40, InputTokens: 2560, OutputTokens: 640}
	reported := convert.Counts{Sent: 40, Succeeded: 40, FailedKnown: true, InputTokens: 2560, OutputTokens: 640}
	tests := map[string][]want{
		"real/vllm-0.32-appended.json": {
			{format: "vllm", line: 1, counts: forty, params: load("5", "model", "tiny", "backend", "openai"),
				metrics: map[string]float64{"ttft.p99": 0.05094432478097587, "e2el.p90": 0.20501226430133104}},
			{format: "vllm", line: 2, counts: forty, params: load("10"), metrics: map[string]float64{"ttft.p50": 0.021271798499583383}},
		},
		"real/vllm-0.32-detailed.json": {
			{format: "vllm", line: 1, counts: twenty, params: map[string]string{"request_rate": "5"},
				metrics: map[string]float64{"itl.std": 0.001402911330756939}},
			{format: "vllm", line: 2, counts: twenty, params: map[string]string{"request_rate": "10"}},
		},
		"real/vllm-0.32.log": {
			{format: convert.FormatBlock, line: 39, counts: forty, params: load("5", "model", "tiny", "input_len", "64", "output_len", "16",
				"ignore_eos", "true"), metrics: map[string]float64{"ttft.p99": 0.05094}},
		},
		"real/sglang-0.5.23.jsonl": {
			{format: "sglang", line: 1, counts: unreported, params: map[string]string{"request_rate": "5", "backend": "vllm", "input_len": "64"},
				metrics: map[string]float64{"itl.p99": 0.01643347754103159}},
			{format: "sglang", line: 2, counts: unreported, params: map[string]string{"request_rate": "10"}},
		},
		"real/sglang-0.5.23-details.jsonl": {
			{format: "sglang", line: 1, counts: reported, params: map[string]string{"request_rate": "5"},
				metrics: map[string]float64{"e2el.p50": 0.088961824, "itl.std": 0.003649324183453797}},
		},
		"real/sglang-0.5.23.log": {
			{format: convert.FormatBlock, line: 50, counts: reported, params: load("5", "model", "tiny", "input_len", "64", "output_len", "16"),
				metrics: map[string]float64{"itl.max": 0.03341}},
		},
		"real/guidellm-0.8.1.json": {{
			format: "guidellm", line: 1, absent: []string{"ttft", "e2el"},
			counts: convert.Counts{Sent: 50, Succeeded: 50, FailedKnown: true, InputTokens: 3350, OutputTokens: 800},
			params: map[string]string{"request_rate": "5", "model": "tiny", "input_len": "64", "output_len": "16",
				"endpoint_type": "/v1/chat/completions", "num_prompts": "50"},
			metrics: map[string]float64{"guidellm_ttft.p95": 0.02823805809020996, "guidellm_e2el.p50": 0.08133459091186523},
		}},
		"real/aiperf-0.13.0.json": {{
			format: "aiperf", line: 1, absent: []string{"itl", "output_throughput"},
			counts: convert.Counts{Sent: 50, Succeeded: 50, FailedKnown: true, InputTokens: 3200, OutputTokens: 951},
			params: map[string]string{"request_rate": "5", "arrival": "poisson", "model": "tiny", "input_len": "64", "output_len": "16",
				"num_prompts": "50", "dataset_name": "synthetic"},
			metrics: map[string]float64{"ttft.p50": 0.0243069505, "e2el.p99": 0.8324364473699998},
			warning: `what is not known here is not read: "time_to_second_token", "time_to_first_output_token"`,
		}},
	}
	for name, wants := range tests {
		t.Run(filepath.Base(name), func(t *testing.T) {
			runs := readFile(t, name, convert.ReadOptions{Records: true})
			if len(runs) != len(wants) {
				t.Fatalf("%d runs, want %d", len(runs), len(wants))
			}
			for i, w := range wants {
				checkDefined(t, &runs[i])
				w.check(t, &runs[i])
			}
		})
	}
}

// TestPrintedAgreesWithFile: the block that a run printed and the file that it wrote are
// the same figures, each as exactly as it can.
func TestPrintedAgreesWithFile(t *testing.T) {
	for printed, file := range map[string]string{
		"real/vllm-0.32.log": "real/vllm-0.32-appended.json", "real/sglang-0.5.23.log": "real/sglang-0.5.23.jsonl",
	} {
		a, b := readFile(t, printed, convert.ReadOptions{})[0], readFile(t, file, convert.ReadOptions{})[0]
		compared := 0
		for id, v := range a.Metrics {
			w, ok := b.Metrics[id]
			if !ok {
				continue // the file of SGLang has no largest gap
			}
			compared++
			factor := 1e2
			if isTime(id) {
				factor = 1e5 // printed to the hundredth of a millisecond
			}
			if math.Round(v*factor) != math.Round(w*factor) {
				t.Errorf("%s: %s is %v, %v in the file", printed, id, v, w)
			}
		}
		if compared < 20 || math.Abs(a.Duration-b.Duration) > 0.005 {
			t.Errorf("%s: %d figures, %v and %v s", printed, compared, a.Duration, b.Duration)
		}
	}
}

// isTime says that a metric is one of the groups of times.
func isTime(id string) bool {
	return !strings.Contains(id, "throughput") && !strings.HasPrefix(id, "concurrency.")
}

// TestRecomputedFromRequests: our figures from the requests of a file alone are the file's
// own aggregates, to the last digit that the tool prints, and beyond it to a nanosecond.
func TestRecomputedFromRequests(t *testing.T) {
	own := regexp.MustCompile(`^(?:mean|median|std|p\d+)_(?:ttft|tpot|itl|e2el)_ms$|^(?:request|output|total_token)_throughput$`)
	for _, name := range []string{"real/vllm-0.32-detailed.json", "real/sglang-0.5.23-details.jsonl"} {
		whole := readFile(t, name, convert.ReadOptions{})
		alone, err := convert.Read(without(t, name, own), "alone.json", convert.ReadOptions{})
		if err != nil || len(alone) != len(whole) {
			t.Fatalf("%d runs of %d: %v", len(alone), len(whole), err)
		}
		compared := 0
		for i := range whole {
			for id, want := range whole[i].Metrics {
				group, _, _ := strings.Cut(id, ".")
				switch group {
				case "ttft", "tpot", "itl", "e2el", "request_throughput", "output_throughput", "total_throughput":
				default:
					continue
				}
				got, ok := alone[i].Metrics[id]
				if strings.HasSuffix(id, ".peak_second") {
					continue // of another definition, and left in the file
				}
				compared++
				scale := 1.0
				if isTime(id) {
					scale = 1e3
				}
				if a, b := strconv.FormatFloat(scale*got, 'f', 2, 64), strconv.FormatFloat(scale*want, 'f', 2, 64); !ok || a != b ||
					math.Abs(got-want) > 1e-9*math.Max(1, want) {
					t.Errorf("%s: %s is %v (%v) by the requests and %v by the file", whole[i].At(), id, got, ok, want)
				}
			}
		}
		if compared < 15*len(whole) {
			t.Errorf("%s: %d figures", name, compared)
		}
	}
}

// without copies the objects of a file, less the keys that match.
func without(t *testing.T, name string, keys *regexp.Regexp) io.Reader {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for in := json.NewDecoder(bytes.NewReader(bytes.ReplaceAll(text, []byte("Infinity"), []byte("null")))); ; {
		object := map[string]json.RawMessage{}
		if err := in.Decode(&object); errors.Is(err, io.EOF) {
			return &out
		} else if err != nil {
			t.Fatal(err)
		}
		for key := range object {
			if keys.MatchString(key) {
				delete(object, key)
			}
		}
		if err := json.NewEncoder(&out).Encode(object); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLogBesideFile: a folder has the log and the file of a run, which are one result: the
// file's, with all its digits.
func TestLogBesideFile(t *testing.T) {
	for log, file := range map[string]string{"real/vllm-0.32.log": "real/vllm-0.32-appended.json",
		"real/sglang-0.5.23.log": "real/sglang-0.5.23.jsonl"} {
		a, b := readFile(t, log, convert.ReadOptions{}), readFile(t, file, convert.ReadOptions{})
		for _, both := range [][]convert.Run{append(slices.Clone(a), b...), append(slices.Clone(b), a...)} {
			doc, err := convert.Document(both, convert.Options{By: []string{"qps"}})
			if err != nil {
				t.Fatal(err)
			}
			cells := doc.Benchmarks[0].Cells
			if len(cells) != 2 || len(cells[0].Runs) != 1 || cells[0].Runs[0].Metrics["ttft.mean"] != b[0].Metrics["ttft.mean"] {
				t.Errorf("%d cells, warnings %q", len(cells), doc.Warnings)
			}
			if w := strings.Join(doc.Warnings, "\n"); !strings.Contains(w, "is what the run of "+file+":1 printed and left out") {
				t.Errorf("warnings %q", w)
			}
		}
	}
}
