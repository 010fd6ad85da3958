package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/record"
)

// tokenEvents are reads of one event each, in the middle of a stream.
func tokenEvents(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = []byte("data: " + strings.Replace(vllmToken, `"completion_tokens":1`, fmt.Sprintf(`"completion_tokens":%d`, i+2), 1) + "\n\n")
	}
	return out
}

func openStream(want int) *stream {
	s := newStream(endpointCompletions, true, 1, &record.Request{Status: 200, WantTokens: want})
	_ = s.body([]byte("data: "+vllmToken+"\n\n"), 1)
	return s
}

// TestNoAllocationPerToken: between the first and the last event of a stream nothing is
// allocated, also when events are cut over two reads.
func TestNoAllocationPerToken(t *testing.T) {
	const n = 1000
	events := tokenEvents(n)
	s := openStream(2 * n)
	_ = s.body([]byte("data: {\"choices\":[{\"text\":\"a\"}]"), 2) // grows the buffers once
	_ = s.body([]byte("}\n\n"+strings.Repeat(": "+strings.Repeat("x", 600)+"\n", 1)), 3)
	i := 0
	perToken := testing.AllocsPerRun(n-10, func() {
		e := events[i]
		if err := s.body(e[:100], int64(10+2*i)); err != nil {
			t.Fatal(err)
		}
		if err := s.body(e[100:], int64(11+2*i)); err != nil {
			t.Fatal(err)
		}
		i++
	})
	if perToken != 0 {
		t.Errorf("%v allocations per token", perToken)
	}
	if len(s.rec.Events) < n-10 || s.garbage != "" {
		t.Errorf("%d events, garbage %q", len(s.rec.Events), s.garbage)
	}
}

func BenchmarkStreamPerToken(b *testing.B) {
	events := tokenEvents(4096)
	b.SetBytes(int64(len(events[0])))
	b.ReportAllocs()
	s := openStream(1 << 16)
	i := 0
	for b.Loop() {
		if i&(1<<16-1) == 0 { // keep the record's events from growing without end
			s.rec.Events = s.rec.Events[:0]
		}
		_ = s.body(events[i&4095], int64(i))
		i++
	}
}

// BenchmarkGeneratePerToken is SGLang's cumulative text of 4 KiB.
func BenchmarkGeneratePerToken(b *testing.B) {
	event := []byte(`data: {"text":"` + strings.Repeat("word ", 800) +
		`","meta_info":{"finish_reason":null,"prompt_tokens":8,"completion_tokens":800}}` + "\n\n")
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	s := newStream(endpointGenerate, true, 1, &record.Request{Status: 200, WantTokens: 10})
	for b.Loop() {
		_ = s.body(event, 1)
	}
}
