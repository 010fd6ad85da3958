package convert_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

var full = flag.Bool("full", false, "import files of a million requests, not of a hundred thousand")

// detailedFile writes the --save-detailed file of n requests of tokens each, without ever
// holding it: request i has a TTFT of (100 + i mod 50) ms and gaps of 10 ms.
func detailedFile(w io.Writer, n, tokens int) error {
	column := func(name string, value func(i int) string) {
		fmt.Fprintf(w, ", %q: [", name)
		for i := range n {
			if i > 0 {
				_, _ = io.WriteString(w, ", ")
			}
			_, _ = io.WriteString(w, value(i))
		}
		_, _ = io.WriteString(w, "]")
	}
	fmt.Fprintf(w, `{"backend": "vllm", "duration": 1000.0, "completed": %d, "failed": 0, "mean_ttft_ms": 124.5, "total_output_tokens": %d`,
		n, n*tokens)
	gaps := "["
	for k := range tokens - 1 {
		if k > 0 {
			gaps += ", "
		}
		gaps += "0.01"
	}
	gaps += "]"
	column("input_lens", func(int) string { return "512" })
	column("output_lens", func(int) string { return strconv.Itoa(tokens) })
	column("ttfts", func(i int) string { return strconv.FormatFloat(float64(100+i%50)/1000, 'f', -1, 64) })
	column("itls", func(int) string { return gaps })
	column("start_times", func(i int) string { return strconv.FormatFloat(5000+float64(i)/200, 'f', -1, 64) })
	column("generated_texts", func(int) string { return `"a long answer that nobody needs to keep in memory"` })
	column("errors", func(int) string { return `""` })
	_, err := io.WriteString(w, "}\n")
	return err
}

// largeImport makes the test binary an importer of its standard input, so that the memory
// of an import can be distinguished from that of the tests: the limit of events is its value.
const largeImport = "CONVERT_TEST_IMPORT"

// imported is what the importer reports of the one run that it read.
type imported struct {
	Metrics  map[string]float64
	Warnings []string
	Requests int // kept as records
}

func TestMain(m *testing.M) {
	if events := os.Getenv(largeImport); events != "" {
		importLarge(events)
		return
	}
	m.Run() // its status is the program's
}

func importLarge(events string) {
	n, _ := strconv.Atoi(events) // 0 means the default
	runs, err := convert.Read(os.Stdin, "large.json", convert.ReadOptions{Records: true, Limits: convert.Limits{Events: n}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // and nothing that the test could read
		return
	}
	out := imported{Metrics: runs[0].Metrics, Warnings: runs[0].Warnings()}
	if runs[0].Records != nil {
		out.Requests = runs[0].Records.Requests.Len()
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// TestLargeFile: a file of a million requests with their tokens is imported exactly, in
// memory that its size does not decide: beyond the limit of events it costs next to nothing.
func TestLargeFile(t *testing.T) {
	tests := []struct {
		name             string
		requests, tokens int
		events           int // limit, 0 for the default
		kept             bool
		megabytes        int64 // of the whole process
	}{
		{"a million", 1_000_000, 16, 0, true, 450},
		{"a million, beyond the limit", 1_000_000, 40, 100_000, false, 300},
	}
	if !*full {
		for i := range tests {
			tests[i].requests, tests[i].megabytes = tests[i].requests/10, max(tests[i].megabytes/6, 120)
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), largeImport+"="+strconv.Itoa(tt.events), "GOGC=100") // as users have it
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriterSize(in, 1<<16)
			if err := errors.Join(detailedFile(w, tt.requests, tt.tokens), w.Flush(), in.Close(), cmd.Wait()); err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			var got imported
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			if kept := got.Requests == tt.requests; kept != tt.kept {
				t.Fatalf("%d requests kept, warnings %q", got.Requests, got.Warnings)
			}
			if v := got.Metrics["ttft.mean"]; math.Abs(v-0.1245) > 1e-9 {
				t.Errorf("ttft.mean = %v", v)
			}
			if v, ok := got.Metrics["tpot.p99"]; ok != tt.kept || tt.kept && math.Abs(v-0.01) > 1e-9 {
				t.Errorf("tpot.p99 = %v (%v)", v, ok)
			}
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" { // elsewhere in another unit
				t.Logf("%d MiB at most", usage.Maxrss>>10)
				if used := usage.Maxrss >> 10; used > tt.megabytes {
					t.Errorf("%d MiB of memory, at most %d allowed", used, tt.megabytes)
				}
			}
		})
	}
}
