package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load/internal/stamp"
	"github.com/servegate/pipeline/steps/record"
)

// TestBusyConnectionThatCloses: a request on a connection that was busy a moment ago, which closes
// without an answer, has failed. Nothing sends it again.
func TestBusyConnectionThatCloses(t *testing.T) {
	var n atomic.Int64 // each connection is served by itself
	s := serve(t, func(w net.Conn, _ string, _ map[string]any) bool {
		if n.Add(1) == 3 {
			return false
		}
		return oneToken(w)
	})
	w := steps.Workload{
		Dataset: steps.Dataset{Kind: "sonnet", InputMin: 32, InputMax: 32, OutputMin: 1, OutputMax: 1, PrefixLen: 8},
		Load:    steps.Load{Arrival: Closed, Requests: 6, MaxConcurrency: 1},
	}
	res, err := Run(t.Context(), Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	failed, classes := record.Failures(res.Run)
	if failed != 1 || classes["connect"] != 1 || res.Run.Audit.Redials != 0 || n.Load() != 6 {
		t.Errorf("%d failed (%v), %d redials, %d requests came", failed, classes, res.Run.Audit.Redials, n.Load())
	}
}

// TestRestedConnection: a connection that was idle may close just when it is used. The request is sent
// again then, and that it was is reported.
func TestRestedConnection(t *testing.T) {
	for _, tt := range []struct {
		idle   time.Duration
		resent bool
	}{{0, false}, {minRest / 2, false}, {2 * minRest, true}} {
		var n atomic.Int64
		s := serveRaw(t, func(w net.Conn, _ string, _ map[string]any) bool {
			if n.Add(1) == 1 {
				return false
			}
			return oneToken(w)
		})
		target, err := parseTarget(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		c := &client{pool: &pool{target: target}, clock: newClock(time.Now())}
		cn, err := c.pool.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cn.idle, cn.served = time.Now().Add(-tt.idle), true
		enc := encoder{target: target}
		_, resent, err := c.exchange(t.Context(), cn, cn.patience(true), enc.post("/v1/completions", []byte("{}")),
			time.Now().Add(time.Minute), &page{})
		if resent != tt.resent || (err == nil) != tt.resent {
			t.Errorf("idle for %v: sent again %v, error %v", tt.idle, resent, err)
		}
		c.pool.close()
	}
}

// TestServerThatEndsAtWork: a connection that breaks a while after a request was sent on it was not closed for its idle time.
// The server took the request and ended, so the request is not sent again.
func TestServerThatEndsAtWork(t *testing.T) {
	for after, want := range map[time.Duration]bool{0: true, minRest / 2: true, 3 * minRest: false} {
		synctest.Test(t, func(t *testing.T) {
			c := &client{pool: &pool{target: target{addr: "127.0.0.1:0"}}, clock: newClock(time.Now())}
			cn := &conn{line: endingLine(after), idle: time.Now().Add(-2 * minRest), served: true}
			_, resent, err := c.exchange(t.Context(), cn, cn.patience(true), nil, time.Time{}, &page{})
			if resent != want || err == nil {
				t.Errorf("after %v: sent again %v, error %v", after, resent, err)
			}
		})
	}
}

// endingLine takes a request and ends a while later.
type endingLine time.Duration

func (l endingLine) Exchange(context.Context, time.Time, []byte, stamp.Sink) (sent, err error) {
	time.Sleep(time.Duration(l))
	return nil, io.EOF
}
func (endingLine) Alive() bool   { return true }
func (endingLine) Untaken() bool { return false }
func (endingLine) Close() error  { return nil }

// TestUntakenRequest: a server that closes a connection just before a request reaches it has not taken
// the request, which is sent again however short the connection was idle. llama.cpp does so.
func TestUntakenRequest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says whether a request was taken")
	}
	for _, loop := range []bool{true, false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan error)
		go func() {
			c, err := l.Accept()
			if err == nil {
				err = c.Close()
			}
			closed <- err
			if c, err = l.Accept(); err == nil {
				if _, err := c.Read(make([]byte, 1024)); err == nil {
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				}
				_ = c.Close()
			}
		}()
		target, err := parseTarget("http://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := &client{pool: &pool{target: target}, clock: newClock(time.Now())}
		var cn *conn
		if loop {
			cn, err = c.pool.dial(t.Context())
		} else {
			var raw net.Conn
			if raw, err = net.Dial("tcp", target.addr); err == nil {
				cn = &conn{line: &plain{Conn: raw, raw: raw, quiet: true}}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		cn.idle, cn.served = time.Now(), true
		enc := encoder{target: target}
		_, resent, err := c.exchange(t.Context(), cn, 0, enc.post("/v1/completions", []byte("{}")), time.Now().Add(time.Minute), &page{})
		if !resent || err != nil {
			t.Errorf("in a loop %v: sent again %v, error %v", loop, resent, err)
		}
		c.pool.close()
		_ = l.Close()
	}
}

// TestServerThatClosesAfterStreams: such a server, which promises to keep the connection and drops what
// arrives on it, is asked on a new one each time, and loses nothing. llama.cpp is one.
func TestServerThatClosesAfterStreams(t *testing.T) {
	s := serve(t, func(c net.Conn, path string, body map[string]any) bool {
		keep := healthy(c, path, body)
		if tcp, ok := c.(*net.TCPConn); ok && keep {
			_ = tcp.CloseWrite()
			_, _ = io.Copy(io.Discard, tcp)
		}
		return false
	})
	w := workload(0)
	w.Load = steps.Load{Arrival: Closed, MaxConcurrency: 2, Requests: 40}
	run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run
	if failed, classes := record.Failures(run); failed > 0 || run.Audit.Redials > 0 {
		t.Errorf("%d failed (%v), %d redials", failed, classes, run.Audit.Redials)
	}
}

// TestConnectionsOfAServerThatCloses: once the server has shown that it closes connections after streams, none
// of those that it has not closed yet is used.
func TestConnectionsOfAServerThatCloses(t *testing.T) {
	p := &pool{}
	for _, open := range []bool{false, true, true} {
		p.put(&conn{line: fakeLine(open), streamed: true})
	}
	p.put(&conn{line: fakeLine(true)})
	first, second := p.pop(), p.pop()
	if first == nil || first.streamed || second != nil || p.shown != closes {
		t.Errorf("%+v and %+v are used; want the connection without a stream alone", first, second)
	}
	if p.put(&conn{line: fakeLine(true), streamed: true}); p.closed != 4 {
		t.Errorf("%d connections are counted as closed, want 4", p.closed)
	}
}

// TestConnectionsThatAreClosed: the audit counts the connections that a server closes after its answers.
func TestConnectionsThatAreClosed(t *testing.T) {
	for header, want := range map[string]int{"Connection: close\r\n": 5, "": 0} {
		s := serve(t, func(c net.Conn, _ string, _ map[string]any) bool {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", header, len(vectorAnswer), vectorAnswer)
			return header == ""
		})
		w := workload(5)
		w.Endpoint = "embeddings"
		run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run
		if failed, classes := record.Failures(run); failed > 0 || run.Audit.Closed != want {
			t.Errorf("%q: %d failed (%v), %d connections closed, want %d", header, failed, classes, run.Audit.Closed, want)
		}
	}
}

// TestConnectionAfterAStream: until the server has shown that it keeps a connection on which it has sent a
// stream, such a one is not used, however slowly the server closes it.
func TestConnectionAfterAStream(t *testing.T) {
	for _, tt := range []struct {
		rest time.Duration
		open bool
		used bool
		want keeping
	}{
		{minRest / 2, true, false, unknown},
		{minRest / 2, false, false, closes},
		{2 * minRest, true, true, keeps},
		{2 * minRest, false, false, unknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &pool{idle: []*conn{{line: fakeLine(tt.open), streamed: true, idle: time.Now().Add(-tt.rest)}}}
			if c := p.pop(); (c != nil && c.Alive()) != tt.used || p.shown != tt.want {
				t.Errorf("after %v, open %v: used %v, the server is %d; want %v, %d", tt.rest, tt.open, c != nil, p.shown, tt.used, tt.want)
			}
		})
	}
}

// fakeLine is an idle connection that is open, or not.
type fakeLine bool

func (fakeLine) Exchange(context.Context, time.Time, []byte, stamp.Sink) (sent, err error) {
	return nil, io.EOF
}
func (l fakeLine) Alive() bool { return bool(l) }
func (fakeLine) Untaken() bool { return false }
func (fakeLine) Close() error  { return nil }

// oneToken answers with one token.
func oneToken(w net.Conn) bool {
	streamHead(w)
	piece(w, "data: "+completion("a", 1, "length")+"\n\n")
	piece(w, "data: [DONE]\n\n")
	return streamEnd(w)
}
