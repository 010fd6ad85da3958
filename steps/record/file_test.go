package record_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/steps/record"
)

func drawRequest(t *rapid.T, i int) record.Request {
	when := rapid.Int64Range(-1, 1e13)
	r := record.Request{
		Index: i, Planned: when.Draw(t, "planned"), Sent: when.Draw(t, "sent"), Headers: when.Draw(t, "headers"), Done: when.Draw(t, "done"),
		PromptTokens: rapid.IntRange(0, 1e6).Draw(t, "prompt"), WantTokens: rapid.IntRange(0, 1e5).Draw(t, "want"),
		OutputTokens: rapid.IntRange(0, 1e5).Draw(t, "output"), CachedTokens: rapid.IntRange(-1, 100).Draw(t, "cached"),
		Status: rapid.SampledFrom([]int{0, 200, 503}).Draw(t, "status"), Finish: rapid.SampledFrom([]string{"", "length"}).Draw(t, "finish"),
		Failure: rapid.SampledFrom([]record.Failure{"", record.FailCut}).Draw(t, "failure"), Error: rapid.String().Draw(t, "error"),
	}
	at, n := r.Sent, 0
	one := rapid.Bool().Draw(t, "one")
	for range rapid.IntRange(0, 20).Draw(t, "events") {
		at += rapid.Int64Range(-5, 1e12).Draw(t, "gap")
		if one {
			n++
		} else {
			n += rapid.IntRange(0, 5).Draw(t, "tokens")
		}
		r.Events = append(r.Events, record.Event{At: at, Tokens: n})
	}
	return r
}

func requestsOf(l record.List) (out []record.Request) {
	for i := range l.Len() {
		out = append(out, l.At(i))
	}
	return out
}

func TestFileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := record.Run{Duration: 5e9, Audit: record.Audit{Clock: "user", LagP99: 7, WorkHash: "sha256:x"}}
		for i := range rapid.IntRange(0, 8).Draw(t, "n") {
			run.Requests.Add(drawRequest(t, i))
		}
		var b bytes.Buffer
		if err := record.Write(&b, record.Header{Meta: map[string]string{"cell": "c"}}, run, nil); err != nil {
			t.Fatal(err)
		}
		h, got := readBack(t, &b)
		if h.Schema != record.Schema || h.Meta["cell"] != "c" {
			t.Fatalf("header %+v", h)
		}
		// Invalid UTF-8 in an error text is replaced by JSON; rapid draws valid strings.
		if d := cmp.Diff(run, got, cmp.Transformer("requests", requestsOf)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestFileIsCompact(t *testing.T) {
	var run record.Run
	r := record.Request{Sent: 1e9}
	for k := range 10000 {
		r.Events = append(r.Events, record.Event{At: 2e9 + int64(k)*10_000_000 + int64(k*7919%100_000), Tokens: k + 1})
	}
	run.Requests.Add(r)
	var b bytes.Buffer
	if err := record.Write(&b, record.Header{}, run, nil); err != nil {
		t.Fatal(err)
	}
	if perToken := float64(b.Len()) / 10000; perToken > 5 {
		t.Errorf("%.1f bytes per token", perToken)
	}
}

// readBack reads a file as it is documented: what every event adds to the one before.
func readBack(t interface{ Fatal(...any) }, r io.Reader) (h record.Header, run record.Run) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(zr)
	if err := in.Decode(&h); err != nil {
		t.Fatal(err)
	}
	run = record.Run{Duration: h.Duration, Audit: h.Audit, Goodput: h.Goodput}
	for range h.Requests {
		var l struct {
			Index    int            `json:"i"`
			Planned  int64          `json:"p"`
			Sent     int64          `json:"s"`
			Headers  int64          `json:"h"`
			Done     int64          `json:"d"`
			Times    []int64        `json:"t"`
			Counts   []int          `json:"n"`
			Prompt   int            `json:"in"`
			Want     int            `json:"want"`
			Output   int            `json:"out"`
			Cached   int            `json:"cached"`
			Status   int            `json:"status"`
			Finish   string         `json:"finish"`
			Failure  record.Failure `json:"failure"`
			ErrorMsg string         `json:"error"`
		}
		if err := in.Decode(&l); err != nil {
			t.Fatal(err)
		}
		q := record.Request{
			Index: l.Index, Planned: l.Planned, Sent: l.Sent, Headers: l.Headers, Done: l.Done,
			PromptTokens: l.Prompt, WantTokens: l.Want, OutputTokens: l.Output, CachedTokens: l.Cached,
			Status: l.Status, Finish: l.Finish, Failure: l.Failure, Error: l.ErrorMsg,
		}
		e := record.Event{At: l.Sent}
		for k, d := range l.Times {
			e.At, e.Tokens = e.At+d, e.Tokens+1
			if l.Counts != nil {
				e.Tokens += l.Counts[k] - 1
			}
			q.Events = append(q.Events, e)
		}
		run.Requests.Add(q)
	}
	if in.More() {
		t.Fatal("more requests than the header says")
	}
	return h, run
}

func TestHistograms(t *testing.T) {
	var run record.Run
	readJSON(t, "testdata/run.json", &run)
	enc, err := record.Histograms(run)
	if err != nil {
		t.Fatal(err)
	}
	s := record.Collect(run)
	for id, v := range map[string][]float64{"ttft": s.TTFT, "tpot": s.TPOT, "itl": s.ITL, "e2el": s.E2EL} {
		h, err := hdrhistogram.Decode([]byte(enc[id]))
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if h.TotalCount() != int64(len(v)) {
			t.Errorf("%s: %d values, want %d", id, h.TotalCount(), len(v))
		}
		if got := h.Mean() / 1e6; !near(got, record.Mean(v), 2e-3) {
			t.Errorf("%s: mean %v, want %v within the histogram's resolution", id, got, record.Mean(v))
		}
	}
	if enc, err := record.Histograms(record.Run{}); err != nil || len(enc) != 0 {
		t.Errorf("Histograms of an empty run: %v, %v", enc, err)
	}
}
