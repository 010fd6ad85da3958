package interchange_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/interchange"
)

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
	fmt.Fprintf(w, `{"backend": "vllm", "duration": 1000.0, "completed": %d, "failed": 0, "mean_ttft_ms": 124.5, "total_output_tokens": %d`, n, n*tokens)
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

// peakReader notes the largest heap while a file is read.
type peakReader struct {
	io.Reader
	reads int
	peak  uint64
}

func (p *peakReader) Read(b []byte) (int, error) {
	if p.reads++; p.reads%200 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.peak = max(p.peak, m.HeapAlloc)
	}
	return p.Reader.Read(b)
}

// TestLargeFile: 200,000 requests with their tokens are imported exactly; and a file with
// more tokens than are kept costs no more memory than the limit allows.
func TestLargeFile(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	tests := []struct {
		name             string
		requests, tokens int
		lim              interchange.Limits
		kept             bool
		megabytes        uint64
	}{
		{"all kept", 200_000, 8, interchange.Limits{}, true, 400},
		{"beyond the limit", 50_000, 40, interchange.Limits{Events: 100_000}, false, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			pr, pw := io.Pipe()
			go func() {
				w := bufio.NewWriterSize(pw, 1<<16)
				err := detailedFile(w, tt.requests, tt.tokens)
				pw.CloseWithError(errors.Join(err, w.Flush()))
			}()
			in := &peakReader{Reader: pr}
			runs, err := interchange.Read(in, "large.json", interchange.ReadOptions{Records: true, Limits: tt.lim})
			if err != nil {
				t.Fatal(err)
			}
			r := runs[0]
			if (r.Records != nil) != tt.kept {
				t.Fatalf("records kept: %v, warnings %q", r.Records != nil, r.Warnings)
			}
			if v := r.Metrics["ttft.mean"]; math.Abs(v-0.1245) > 1e-9 {
				t.Errorf("ttft.mean = %v", v)
			}
			if v, ok := r.Metrics["tpot.p99"]; ok != tt.kept || tt.kept && math.Abs(v-0.01) > 1e-9 {
				t.Errorf("tpot.p99 = %v (%v)", v, ok)
			}
			if used := (in.peak - min(in.peak, before.HeapAlloc)) >> 20; used > tt.megabytes {
				t.Errorf("%d MiB of heap, at most %d allowed", used, tt.megabytes)
			}
		})
	}
}
