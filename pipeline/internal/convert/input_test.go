package convert_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// dockerised is a text as Docker's json-file driver keeps it: a line each, long ones in parts.
func dockerised(t *testing.T, text string) string {
	t.Helper()
	const most = 60
	var b strings.Builder
	for line := range strings.Lines(text) {
		for line != "" {
			part := line[:min(len(line), most)]
			line = line[len(part):]
			j, err := json.Marshal(map[string]string{"log": part, "stream": "stdout", "time": "2026-01-02T03:04:05.678901234Z"})
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(j, '\n'))
		}
	}
	return b.String()
}

// TestPackedInput: what is around a file changes nothing of what is in it.
func TestPackedInput(t *testing.T) {
	block := "vllm bench serve --model m --request-rate 4 --num-prompts 8\n" + printedBlock(8, 640, 50)
	object := `{"backend": "vllm", "completed": 8, "duration": 10.05, "num_prompts": 8, "mean_ttft_ms": 50.0}` + "\n"
	table := "tool,qps,num_prompts,completed,mean_ttft_ms\nvllm,4,8,8,50\n"
	for name, text := range map[string]string{"x.log": block, "x.json": object, "x.csv": table} {
		for packed, file := range map[string]struct{ name, text string }{
			"gzip":                     {name + ".gz", gzipped(t, text)},
			"gzip without a name":      {"-", gzipped(t, text)},
			"Docker's log":             {"abc-json.log", dockerised(t, text)},
			"Docker's log in gzip":     {"abc-json.log.gz", gzipped(t, dockerised(t, text))},
			"Docker's log, cut at end": {"abc-json.log", dockerised(t, text+"and more\n")},
		} {
			if packed == "Docker's log, cut at end" && name != "x.log" {
				continue
			}
			runs, err := convert.Read(strings.NewReader(file.text), file.name, convert.ReadOptions{})
			if err != nil || len(runs) != 1 || runs[0].Metrics["ttft.mean"] != 0.05 || runs[0].Counts.Succeeded != 8 {
				t.Errorf("%s, %s: %+v, %v", name, packed, runs, err)
			}
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"\x28\xb5\x2f\xfd\x00\x01", "compressed with zstd; unpack it: zstd -dc FILE | pipeline import -"},
		{"\xfd7zXZ\x00\x01", "compressed with xz"},
		{"PK\x03\x04\x14", "archive of zip; unpack it, and import the folder"},
		{tarred(t, block), "archive of tar"},
		{gzipped(t, tarred(t, block)), "archive of tar"},
		{gzipped(t, block)[:40], "unexpected EOF"},
		{"\x1f\x8b\x00\x00", "x.log: "},
		{strings.ReplaceAll(dockerised(t, block), `"stream":"stdout"`, `"stream":"stdout`), "x.log"},
	} {
		if _, err := convert.Read(strings.NewReader(tt.text), "x.log", convert.ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text[:4], err, tt.want)
		}
	}
	bomb := gzipped(t, strings.Repeat("0", 1<<20))
	if _, err := convert.Read(strings.NewReader(bomb), "x.log", convert.ReadOptions{Limits: convert.Limits{Bytes: 10_000}}); err == nil ||
		!strings.Contains(err.Error(), "more than 10000 bytes") {
		t.Errorf("a file that is large when unpacked: %v", err)
	}
}

// tarred returns an archive with a text as its only file.
func tarred(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: "results/x.log", Mode: 0o600, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	_, err := io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestImplausible: what nothing measures is an error with its line, in every form.
func TestImplausible(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"x.log", rule + "Successful requests: 8\nMean TTFT (ms): 1e30\n" + end, `x.log:3: Mean TTFT (ms): "1e30" is not plausible`},
		{"x.log", rule + "Successful requests: 8\nBenchmark duration (s): 1e20\n" + end,
			`x.log:3: Benchmark duration (s): "1e20" is not plausible`},
		{"x.log", rule + "Successful requests: 8\nRequest throughput (req/s): 1e30\n" + end, "x.log:3: "},
		{"x.log", rule + "Successful requests: 8\nMean TTFT (ms): nan\n" + end,
			"x.log:3: Mean TTFT (ms) is not a number, although 8 requests succeeded"},
		{"x.csv", "tool,completed,mean_ttft_ms\nvllm,8,9e30\n", "x.csv:2: mean_ttft_ms: "},
		{"x.csv", "tool,completed,ttft.mean,ttft.p99\nvllm,8,1e27,2\n", `x.csv:2: ttft.mean: "1e27" is not plausible`},
		{"x.csv", "tool,completed,guidellm_ttft.mean,ttft.p99\nguidellm,8,-1,2\n", `x.csv:2: guidellm_ttft.mean: "-1" is negative`},
		{"x.json", "{\"completed\": 8, \"duration\": 2,\n\"mean_ttft_ms\": 1e30}", `x.json:2: mean_ttft_ms: "1e30" is not plausible`},
		{"x.json", "{\"completed\": 8, \"duration\": 2,\n\"mean_ttft_ms\": NaN}",
			"x.json:2: mean_ttft_ms is not a number, although 8 requests succeeded"},
	} {
		_, err := convert.Read(strings.NewReader(tt.text), tt.name, convert.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
	runs, err := convert.Read(strings.NewReader(rule+"Successful requests: 8\nMedian TTFT (ms): 50\nP99 TTFT (ms): 20\n"+end), "x.log",
		convert.ReadOptions{})
	if err != nil || !strings.Contains(strings.Join(convert.Notes(runs), "\n"), "ttft.p50 is 0.05 and ttft.p99 is 0.02") {
		t.Errorf("a p99 below the median: %v, %q", err, convert.Notes(runs))
	}
}

// TestNotesBySeverity: of many notes the most serious come first, and similar ones are one.
func TestNotesBySeverity(t *testing.T) {
	var files strings.Builder
	for i := range 5 {
		fmt.Fprintf(&files,
			`{"backend":"vllm","num_prompts":100,"duration":%d,"completed":9%d,"mean_ttft_ms":10%d,"std_ttft_ms":NaN,"p99_itl_ms":0.0,"mean_itl_ms":0.0,"max_output_tokens_per_s":12}`+"\n", 20+i, i, i)
	}
	runs, err := convert.Read(strings.NewReader(files.String()), "x.json", convert.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	notes := convert.Notes(runs)
	if len(notes) == 0 || !strings.Contains(notes[0], "of 100 requests did not succeed") ||
		!strings.Contains(notes[0], "(and 4 more like it)") || len(notes) > 4 {
		t.Errorf("%d notes: %q", len(notes), notes)
	}
}
