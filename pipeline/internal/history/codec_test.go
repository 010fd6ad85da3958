package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// night is the record of a night's session.
func night(n int, ttft float64) Record {
	return Record{
		ID: fmt.Sprintf("run-%03d", n), Kind: Session, Time: time.Date(2026, 8, n, 3, 0, 0, 0, time.UTC), Source: Source{Commit: "c",
			Branch: "main"},
		Cells: []Cell{{Benchmark: "benchmark.b", Hash: "h", Label: "rate=4", Metrics: map[string]float64{"ttft.p50": ttft}}},
	}
}

// Whatever is stored comes back the same, and no single byte of it can be changed unseen.
func TestRecordsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := night(rapid.IntRange(0, 1000).Draw(rt, "night"), rapid.Float64Range(1e-6, 1e6).Draw(rt, "value"))
		r.Cells[0].Label = rapid.String().Draw(rt, "label")
		data, err := encode(r)
		if err != nil {
			rt.Fatal(err)
		}
		back, err := decode(data)
		if err != nil {
			rt.Fatal(err)
		}
		again, err := encode(back)
		if err != nil || string(again) != string(data) {
			rt.Fatalf("%v: %s became %s", err, data, again)
		}
		at := strings.Index(string(data), `"record":`) + len(`"record":`) +
			rapid.IntRange(0, len(data)-strings.Index(string(data), `"record":`)-13).Draw(rt, "at")
		data[at] ^= 1
		if _, err := decode(data); err == nil {
			rt.Fatalf("a changed byte at %d was not noticed in %s", at, data)
		}
	})
}

func FuzzDecode(f *testing.F) {
	data, err := encode(night(1, 0.1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":"pipeline/history/1.0","sha256":"","record":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if err != nil {
			return
		}
		if _, err := encode(r); err != nil {
			t.Errorf("a record that was read cannot be written: %v", err)
		}
	})
}
