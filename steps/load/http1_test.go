package load

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parse feeds text in pieces of n bytes and returns the response and its body.
func parse(text string, n int) (*response, string, error) {
	r, body := &response{}, strings.Builder{}
	for rest := text; rest != ""; {
		k := min(n, len(rest))
		err := r.feed([]byte(rest[:k]), func(b []byte) error { body.Write(b); return nil })
		if err != nil {
			return r, body.String(), err
		}
		rest = rest[k:]
	}
	return r, body.String(), nil
}

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"

func TestResponse(t *testing.T) {
	tests := []struct {
		name, text, body string
		status           int
		complete, close  bool
	}{
		{"length", okHead + "Content-Length: 5\r\n\r\nhello", "hello", 200, true, false},
		{"empty", okHead + "Content-Length: 0\r\n\r\n", "", 200, true, false},
		{"short", okHead + "Content-Length: 9\r\n\r\nhello", "hello", 200, false, false},
		{"chunked", okHead + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n", "hello!", 200, true, false},
		{"trailer", okHead + "Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n", "0123456789", 200, true, false},
		{"chunked and cut", okHead + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "hel", 200, false, false},
		{"until close", okHead + "\r\nhello", "hello", 200, false, true},
		{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", 200, true, true},
		{"close", okHead + "Connection: close\r\nContent-Length: 2\r\n\r\nhi", "hi", 200, true, true},
		{"continue first", "HTTP/1.1 100 Continue\r\n\r\n" + okHead + "Content-Length: 2\r\n\r\nhi", "hi", 200, true, false},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", "", 204, true, false},
		{"bare newlines", "HTTP/1.1 503 \nRetry-After: 3\nContent-Length: 1\n\nx", "x", 503, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 3, 1 << 20} {
				r, body, err := parse(tt.text, n)
				if err != nil {
					t.Fatalf("pieces of %d: %v", n, err)
				}
				if body != tt.body || r.status != tt.status || (r.state == complete) != tt.complete || r.close != tt.close {
					t.Errorf("pieces of %d: body %q, %+v", n, body, r)
				}
			}
		})
	}
}

func TestResponseRefuses(t *testing.T) {
	for _, text := range []string{
		"SSH-2.0-x\r\n", "hello", "HTTP/2 200\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2xx OK\r\n", "HTTP/1.1 200 OK\r\nnonsense\r\n",
		okHead + "Content-Length: -1\r\n\r\n", okHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
		okHead + "Transfer-Encoding: gzip\r\n\r\n", okHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		okHead + "Transfer-Encoding: chunked\r\n\r\n\r\n", okHead + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
		okHead + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		okHead + "Content-Length: 1\r\n\r\nab", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", maxHead) + "\r\n",
	} {
		if _, _, err := parse(text, 7); !errors.Is(err, errProtocol) {
			t.Errorf("%.60q: error %v", text, err)
		}
	}
}

// TestResponseAgainstNetHTTP parses drawn chunked responses like net/http does.
func TestResponseAgainstNetHTTP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rec strings.Builder
		rec.WriteString(okHead + "Transfer-Encoding: chunked\r\n\r\n")
		cw := newChunkedWriter(&rec)
		for range rapid.IntRange(0, 6).Draw(t, "chunks") {
			cw(rapid.StringN(1, 40, 200).Draw(t, "chunk"))
		}
		rec.WriteString("0\r\n\r\n")
		want, err := http.ReadResponse(bufio.NewReader(strings.NewReader(rec.String())), nil)
		if err != nil {
			t.Fatal(err)
		}
		wantBody, err := io.ReadAll(want.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = want.Body.Close()
		r, body, err := parse(rec.String(), rapid.IntRange(1, 50).Draw(t, "piece"))
		if err != nil || r.state != complete || body != string(wantBody) {
			t.Fatalf("state %v, error %v, body %q; net/http reads %q", r.state, err, body, wantBody)
		}
	})
}

func newChunkedWriter(w io.Writer) func(string) {
	return func(s string) {
		const hex = "0123456789abcdef"
		size := ""
		for n := len(s); n > 0; n /= 16 {
			size = string(hex[n%16]) + size
		}
		_, _ = io.WriteString(w, size+"\r\n"+s+"\r\n")
	}
}

func FuzzResponse(f *testing.F) {
	f.Add(okHead+"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", uint8(2))
	f.Add(okHead+"Content-Length: 5\r\n\r\nhello", uint8(1))
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		a, bodyA, errA := parse(text, 1<<20)
		b, bodyB, errB := parse(text, int(step)+1)
		if (errA == nil) != (errB == nil) || (errA == nil && (bodyA != bodyB || a.state != b.state || a.status != b.status)) {
			t.Fatalf("cut differently: %v %q %v, %v %q %v", errA, bodyA, a.state, errB, bodyB, b.state)
		}
	})
}
