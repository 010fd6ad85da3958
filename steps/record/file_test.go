package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func drawRequest(t *rapid.T, i int) Request {
	when := rapid.Int64Range(-1, 1e13)
	r := Request{
		Index: i, Planned: when.Draw(t, "planned"), Sent: when.Draw(t, "sent"), Headers: when.Draw(t, "headers"), Done: when.Draw(t, "done"),
		PromptTokens: rapid.IntRange(0, 1e6).Draw(t, "prompt"), WantTokens: rapid.IntRange(0, 1e5).Draw(t, "want"),
		OutputTokens: rapid.IntRange(0, 1e5).Draw(t, "output"), CachedTokens: rapid.IntRange(-1, 100).Draw(t, "cached"),
		Status: rapid.SampledFrom([]int{0, 200, 503}).Draw(t, "status"), Finish: rapid.SampledFrom([]string{"", "length"}).Draw(t, "finish"),
		Failure: rapid.SampledFrom([]Failure{"", FailCut}).Draw(t, "failure"), Error: rapid.String().Draw(t, "error"),
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
		r.Events = append(r.Events, Event{At: at, Tokens: n})
	}
	return r
}

func TestFileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := Run{Duration: 5e9, Audit: Audit{Clock: "user", LagP99: 7, WorkHash: "sha256:x"}}
		for i := range rapid.IntRange(0, 8).Draw(t, "n") {
			run.Requests = append(run.Requests, drawRequest(t, i))
		}
		var b bytes.Buffer
		if err := Write(&b, Header{Meta: map[string]string{"cell": "c"}}, run); err != nil {
			t.Fatal(err)
		}
		h, got, err := Read(&b, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if h.Schema != Schema || h.Meta["cell"] != "c" {
			t.Fatalf("header %+v", h)
		}
		// Invalid UTF-8 in an error text is replaced by JSON; rapid draws valid strings.
		if d := cmp.Diff(run, got); d != "" {
			t.Fatal(d)
		}
	})
}

func TestFileIsCompact(t *testing.T) {
	var run Run
	r := Request{Sent: 1e9}
	for k := range 10000 {
		r.Events = append(r.Events, Event{At: 2e9 + int64(k)*10_000_000 + int64(k*7919%100_000), Tokens: k + 1})
	}
	run.Requests = append(run.Requests, r)
	var b bytes.Buffer
	if err := Write(&b, Header{}, run); err != nil {
		t.Fatal(err)
	}
	if perToken := float64(b.Len()) / 10000; perToken > 5 {
		t.Errorf("%.1f bytes per token", perToken)
	}
}

func zipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.Bytes()
}

func TestReadRefuses(t *testing.T) {
	head := func(n string) string { return `{"schema":"pipeline/records/1.0","requests":` + n + "}\n" }
	one := `{"i":0,"p":0,"s":0,"h":0,"d":0,"in":1,"want":1,"out":1,"cached":-1,"status":200`
	tests := []struct {
		name string
		file []byte
		want error
	}{
		{"not gzip", []byte("hello"), ErrNotRecords},
		{"empty", zipped(""), ErrNotRecords},
		{"other JSON", zipped("{}\n"), ErrNotRecords},
		{"other schema", zipped(`{"schema":"pipeline/events/1.0"}` + "\n"), ErrNotRecords},
		{"newer major", zipped(`{"schema":"pipeline/records/2.0"}` + "\n"), ErrVersion},
		{"cut", zipped(head("2") + one + "}\n"), ErrTruncated},
		{"cut in a line", zipped(head("1") + one), ErrTruncated},
		{"more than said", zipped(head("1") + one + "}\n" + one + "}\n"), ErrNotRecords},
		{"too many", zipped(head("1001")), ErrTooLarge},
		{"negative", zipped(head("-1")), ErrTooLarge},
		{"long line", zipped(head("1") + strings.Repeat(" ", 5000) + one + "}\n"), ErrTooLarge},
		{"bomb", zipped(head("900") + strings.Repeat(one+"}\n", 900)), ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Read(bytes.NewReader(tt.file), Limits{Line: 4096, Bytes: 65536, Requests: 1000})
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	for _, bad := range []string{
		one + `,"t":[9223372036854775807,9223372036854775807]}`,
		one + `,"t":[1,2],"n":[1]}`,
		one + `,"t":"x"}`,
	} {
		if _, _, err := Read(bytes.NewReader(zipped(head("1")+bad+"\n")), Limits{}); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	run := Run{Requests: []Request{{Index: 1, Sent: 5, Events: []Event{{At: 7, Tokens: 2}, {At: 9, Tokens: 3}}}}}
	if err := Write(&b, Header{}, run); err != nil {
		f.Fatal(err)
	}
	zr, _ := gzip.NewReader(&b)
	text, _ := io.ReadAll(zr)
	f.Add(string(text))
	f.Add(`{"schema":"pipeline/records/1.0","requests":1}` + "\n" + `{"i":0,"t":[1,-5],"n":[0,3]}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, run, err := Read(bytes.NewReader(zipped(text)), Limits{Line: 1 << 16, Bytes: 1 << 20})
		if err != nil {
			return
		}
		// What was read is written and read again without a change.
		var b bytes.Buffer
		if err := Write(&b, h, run); err != nil {
			t.Fatal(err)
		}
		_, again, err := Read(&b, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(run, again); d != "" {
			t.Fatal(d)
		}
	})
}

func TestHistograms(t *testing.T) {
	var run Run
	readJSON(t, "testdata/run.json", &run)
	enc, err := Histograms(run)
	if err != nil {
		t.Fatal(err)
	}
	s := Collect(run)
	for id, v := range map[string][]float64{"ttft": s.TTFT, "tpot": s.TPOT, "itl": s.ITL, "e2el": s.E2EL} {
		h, err := hdrhistogram.Decode([]byte(enc[id]))
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if h.TotalCount() != int64(len(v)) {
			t.Errorf("%s: %d values, want %d", id, h.TotalCount(), len(v))
		}
		if got := h.Mean() / 1e6; !near(got, Mean(v), 2e-3) {
			t.Errorf("%s: mean %v, want %v within the histogram's resolution", id, got, Mean(v))
		}
	}
	if enc, err := Histograms(Run{}); err != nil || len(enc) != 0 {
		t.Errorf("Histograms of an empty run: %v, %v", enc, err)
	}
}
