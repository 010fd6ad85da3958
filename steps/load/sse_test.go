package load

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type emitted struct {
	Data    string
	IsError bool
	At      int64
}

// collect feeds pieces, the i-th at time i+1, and returns what came out.
func collect(t interface{ Fatal(...any) }, pieces ...string) (out []emitted, junk bool) {
	p := sse{}
	p.emit = func(data []byte, isError bool, at int64) { out = append(out, emitted{string(data), isError, at}) }
	for i, s := range pieces {
		b := []byte(s)
		if err := p.feed(b, int64(i+1)); err != nil {
			t.Fatal(err)
		}
		for j := range b { // the reader reuses its buffer
			b[j] = 'X'
		}
	}
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	return out, p.junk
}

func TestSSE(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		want   []emitted
		junk   bool
	}{
		{"one", []string{"data: a\n\n"}, []emitted{{"a", false, 1}}, false},
		{"no space", []string{"data:a\n\n"}, []emitted{{"a", false, 1}}, false},
		{"two spaces", []string{"data:  a\n\n"}, []emitted{{" a", false, 1}}, false},
		{"crlf", []string{"data: a\r\n\r\ndata: b\r\n\r\n"}, []emitted{{"a", false, 1}, {"b", false, 1}}, false},
		{"crlf cut in the middle", []string{"data: a\r", "\n\r", "\n"}, []emitted{{"a", false, 1}}, false},
		{"cr", []string{"data: a\r\rdata: b\rdata: c\r", "\r: d\r", "data: e\r\r"},
			[]emitted{{"a", false, 1}, {"b\nc", false, 1}, {"e", false, 3}}, false},
		{"byte order mark", []string{"\xef\xbb", "\xbfdata: a\n\n"}, []emitted{{"a", false, 2}}, false},
		{"five in one read", []string{"data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\ndata: 5\n\n"},
			[]emitted{{"1", false, 1}, {"2", false, 1}, {"3", false, 1}, {"4", false, 1}, {"5", false, 1}}, false},
		{"half a rune", []string{"data: \xe2\x82", "\xac\n\n"}, []emitted{{"€", false, 2}}, false},
		{"line separators are text", []string{"data: a\u2028b\u0085c\n\n"}, []emitted{{"a\u2028b\u0085c", false, 1}}, false},
		{"comment", []string{": keep-alive\n\ndata: a\n\n:\n\n"}, []emitted{{"a", false, 1}}, false},
		{"joined data", []string{"data: a\ndata: b\ndata:\n\n"}, []emitted{{"a\nb\n", false, 1}}, false},
		{"joined over reads", []string{"data: a\n", "data: b\n", "\n"}, []emitted{{"a\nb", false, 2}}, false},
		{"event name", []string{"event: message\nid: 7\nretry: 1\ndata: a\n\n"}, []emitted{{"a", false, 1}}, false},
		{"error event", []string{"event: error\ndata: a\n\ndata: b\n\n"}, []emitted{{"a", true, 1}, {"b", false, 1}}, false},
		{"the empty line comes later", []string{"data: a\n", "\n"}, []emitted{{"a", false, 1}}, false},
		{"no empty line at the end", []string{"data: a\n\ndata: [DONE]\n"}, []emitted{{"a", false, 1}, {"[DONE]", false, 1}}, false},
		{"no newline at the end", []string{"data: a"}, []emitted{{"a", false, 0}}, false},
		{"page", []string{"<html>\n<body>\n"}, nil, true},
		{"nothing", nil, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, junk := collect(t, tt.pieces...)
			if d := cmp.Diff(tt.want, got); d != "" || junk != tt.junk {
				t.Errorf("junk %v, want %v; events:\n%s", junk, tt.junk, d)
			}
		})
	}
}

// TestSSESplits: how reads cut the bytes does not change the events.
func TestSSESplits(t *testing.T) {
	text := ": hi\r\n\r\ndata: {\"a\":\"€\"}\n\ndata:b\ndata: c\n\nevent: error\r\ndata: d\r\n\r\nfoo\n\ndata: [DONE]\n\n"
	want, _ := collect(t, text)
	rapid.Check(t, func(t *rapid.T) {
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		got, _ := collect(t, pieces...)
		for i := range got {
			got[i].At = 1
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func TestSSEBounds(t *testing.T) {
	var got int
	p := sse{emit: func(data []byte, _ bool, _ int64) { got = len(data) }}
	big := "data: " + strings.Repeat("x", 1<<20) + "\n\n"
	for i := 0; i < len(big); i += 16 << 10 {
		if err := p.feed([]byte(big[i:min(i+16<<10, len(big))]), 1); err != nil {
			t.Fatal(err)
		}
	}
	if got != 1<<20 {
		t.Errorf("an event of 1 MiB came out as %d bytes", got)
	}
	endless := bytes.Repeat([]byte("y"), 1<<20)
	var err error
	for range 20 {
		if err = p.feed(endless, 1); err != nil {
			break
		}
	}
	if !errors.Is(err, errEventTooLong) {
		t.Errorf("an endless line: error %v", err)
	}
}

// FuzzSSE: no input makes the parser fail in a way that depends on how it is cut.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\n: c\n\ndata:b\ndata\n\n"), uint8(3))
	f.Add([]byte("event: error\ndata: {}\n\n\n\ndata"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		whole, junk := collect(t, string(b))
		var pieces []string
		for rest := string(b); rest != ""; {
			n := min(int(step)+1, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		cut, junkCut := collect(t, pieces...)
		for i := range whole {
			whole[i].At = 0
		}
		for i := range cut {
			cut[i].At = 0
		}
		if d := cmp.Diff(whole, cut); d != "" || junk != junkCut {
			t.Fatalf("junk %v and %v; %s", junk, junkCut, d)
		}
	})
}
