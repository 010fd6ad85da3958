package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// betweenFile has six runs on one server, whose first requests are planned for their beginning.
const betweenFile = `
server "vllm" "sut" {
  url   = "%s"
  model = "m"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 4
}

benchmark "short" {
  target  = server.vllm.sut
  dataset = dataset.random.short
  matrix {
    rate = [200, 201, 202, 203, 204, 205]
  }
  load {
    arrival  = "constant"
    rate     = matrix.rate
    requests = 50
  }
}
`

// BenchmarkBetweenRuns measures the time between two runs of a launch, in which records and journal of the first are written,
// and prompts and connections of the next are prepared. It prints between_s of the results as "said", and the idle time of
// the server as "seen".
func BenchmarkBetweenRuns(b *testing.B) {
	var said, seen []float64
	for i := range b.N {
		s := answering(b)
		dir := b.TempDir()
		file, run := filepath.Join(dir, "between.pipeline.hcl"), filepath.Join(dir, "run")
		if err := os.WriteFile(file, fmt.Appendf(nil, betweenFile, s.URL), 0o600); err != nil {
			b.Fatal(err)
		}
		out, code := pipeline(b, dir, "run", "--progress", "quiet", "--repeat", "1", "--out", run, file)
		data, err := os.ReadFile(filepath.Join(run, "results.json"))
		if err != nil {
			b.Fatalf("exit status %d: %v\n%s", code, err, out)
		}
		var doc result.Document
		if err := json.Unmarshal(data, &doc); err != nil {
			b.Fatal(err)
		}
		for _, c := range doc.Benchmarks[0].Cells {
			if between := c.Runs[0].Between; between > 0 {
				said = append(said, between)
			}
		}
		for at := 50; at < len(s.pauses); at += 50 {
			seen = append(seen, s.pauses[at])
		}
		if len(said) != 5*(i+1) || len(seen) != len(said) {
			b.Fatalf("between_s of %d runs, and %d pauses of the server, of 6 runs", len(said), len(seen))
		}
	}
	for name, list := range map[string][]float64{"said": said, "seen": seen} {
		slices.Sort(list)
		b.ReportMetric(1000*list[len(list)/2], "ms/"+name+"(median)")
		b.ReportMetric(1000*list[len(list)-1], "ms/"+name+"(max)")
	}
}

// idle is a server that notes when it has nothing to do.
type idle struct {
	*httptest.Server
	mu     sync.Mutex
	active int
	since  time.Time
	pauses []float64 // seconds with nothing to do before each measured request, 0 while another is answered
}

func answering(tb testing.TB) *idle {
	tb.Helper()
	s := &idle{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"m"}]}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Contains(body, []byte(`"stream":true`)) { // whether it is ready
			fmt.Fprint(w, `{"choices":[{"index":0,"text":" t"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
			return
		}
		s.begin()
		defer s.end()
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 4 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"text\":\" t%d\"}]}\n\n", i)
		}
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":64,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n")
	}))
	tb.Cleanup(s.Close)
	return s
}

func (s *idle) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := 0.0
	if s.active == 0 && !s.since.IsZero() {
		pause = time.Since(s.since).Seconds()
	}
	s.pauses = append(s.pauses, pause)
	s.active++
}

func (s *idle) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	s.since = time.Now()
}
