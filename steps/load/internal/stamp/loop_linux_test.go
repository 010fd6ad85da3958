package stamp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// loopPairs are connections that one loop reads, with their servers' ends.
func loopPairs(t *testing.T, n int) (clients []*Conn, servers []net.Conn) {
	t.Helper()
	loop, err := NewLoop()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(loop.Close)
	for range n {
		_, c, server := tcpPair(t)
		client, err := loop.Adopt(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		clients, servers = append(clients, client), append(servers, server)
	}
	return clients, servers
}

// soon is a deadline that only what hangs reaches.
func soon() time.Time { return time.Now().Add(30 * time.Second) }

// until is a sink that has enough once the text has come.
func until(got *bytes.Buffer, text string) Sink {
	return func(b []byte, _ int64, _ bool) bool {
		got.Write(b)
		return !bytes.HasSuffix(got.Bytes(), []byte(text))
	}
}

// TestLoopReadsEachToken: one exchange after the other over one connection, each read
// once it has come, with its stamp.
func TestLoopReadsEachToken(t *testing.T) {
	clients, servers := loopPairs(t, 1)
	request := make([]byte, 3)
	for range 3 {
		seen := make(chan int64)
		ended := make(chan error, 1)
		go func() {
			tokens := 0
			_, err := clients[0].Exchange(t.Context(), soon(), []byte("ask"), func(_ []byte, stamp int64, drained bool) bool {
				if !drained {
					t.Error("something was left behind")
				}
				seen <- stamp
				tokens++
				return tokens < 100
			})
			ended <- err
		}()
		if _, err := io.ReadFull(servers[0], request); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			before := time.Now().UnixNano()
			if _, err := servers[0].Write([]byte("token")); err != nil {
				t.Fatal(err)
			}
			if stamp := <-seen; stamp != 0 && (stamp < before || stamp > time.Now().UnixNano()) {
				t.Errorf("written at %d or later and stamped %d", before, stamp)
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if !clients[0].Alive() {
			t.Fatal("the connection is taken for dead")
		}
	}
}

// TestLoopSeesTheEnd that came with the last bytes, of which no later edge tells.
func TestLoopSeesTheEnd(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"closed": func(c net.Conn) { _ = c.Close() },
		"reset": func(c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			clients, servers := loopPairs(t, 1)
			if _, err := servers[0].Write([]byte("last")); err != nil {
				t.Fatal(err)
			}
			end(servers[0]) // before the loop looks
			var got bytes.Buffer
			_, err := clients[0].Exchange(t.Context(), soon(), nil, until(&got, "more"))
			if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error %v after %q", err, &got)
			}
			if name == "closed" && (!errors.Is(err, io.EOF) || got.String() != "last") {
				t.Errorf("error %v after %q", err, &got)
			}
			if clients[0].Alive() {
				t.Error("the connection is taken for alive")
			}
		})
	}
}

// TestLoopWritesWhatDidNotFit: a request larger than the socket's buffers, to a server that
// begins to read it late.
func TestLoopWritesWhatDidNotFit(t *testing.T) {
	clients, servers := loopPairs(t, 1)
	request := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	received := make(chan []byte, 1)
	go func() {
		awaitWatched(clients[0].loop, 1) // then the client has written what fits
		b := make([]byte, len(request))
		_, _ = io.ReadFull(servers[0], b)
		received <- b
		_, _ = servers[0].Write([]byte("thanks"))
	}()
	var got bytes.Buffer
	sent, err := clients[0].Exchange(t.Context(), soon(), request, until(&got, "thanks"))
	if sent != nil || err != nil {
		t.Fatal(sent, err)
	}
	if b := <-received; !bytes.Equal(b, request) {
		t.Error("another request arrived")
	}
}

// TestLoopLeavesNobodyOut where more are ready than one look takes.
func TestLoopLeavesNobodyOut(t *testing.T) {
	const n = 2*loopBatch + 10
	clients, servers := loopPairs(t, n)
	ended, held, release := make(chan error, n), make(chan bool), make(chan bool)
	for i, c := range clients {
		go func() {
			_, err := c.Exchange(t.Context(), soon(), nil, func([]byte, int64, bool) bool {
				if i == 0 {
					held <- true
					<-release
				}
				return false
			})
			ended <- err
		}()
	}
	awaitWatched(clients[0].loop, n)
	for i, s := range servers {
		if _, err := s.Write([]byte("token")); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-held
		}
	}
	close(release) // now all the others are ready
	for range n {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

// awaitWatched returns when a loop watches so many connections.
func awaitWatched(l *Loop, n int) {
	for watched := 0; watched < n; runtime.Gosched() {
		watched = 0
		l.mu.Lock()
		for _, c := range l.watched {
			if c != nil {
				watched++
			}
		}
		l.mu.Unlock()
	}
}

// TestLoopReadsMoreThanItsBuffer and says when something is left behind.
func TestLoopReadsMoreThanItsBuffer(t *testing.T) {
	clients, servers := loopPairs(t, 1)
	go func() { _, _ = servers[0].Write(append(make([]byte, 5*loopBuffer), "end"...)) }()
	var got bytes.Buffer
	if _, err := clients[0].Exchange(t.Context(), soon(), nil, until(&got, "end")); err != nil || got.Len() != 5*loopBuffer+3 {
		t.Errorf("%d bytes, error %v", got.Len(), err)
	}
}

// TestExchangesAreStopped by their context, and by their deadline.
func TestExchangesAreStopped(t *testing.T) {
	clients, servers := loopPairs(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx      context.Context
		deadline time.Time
	}{{ctx, time.Time{}}, {t.Context(), time.Unix(1, 0)}} {
		if _, err := clients[0].Exchange(c.ctx, c.deadline, nil, until(&bytes.Buffer{}, "x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	}
	go func() { _, _ = servers[0].Write([]byte("x")) }()
	if _, err := clients[0].Exchange(t.Context(), soon(), nil, until(&bytes.Buffer{}, "x")); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestLoopStoppedUntilTheDeadline: a process that was stopped finds at its end an answer that came in time, and one that did not.
func TestLoopStoppedUntilTheDeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		say      string
		early    bool // the deadline was before the answer
		want     error
		received string
	}{
		"in time":    {say: "answer.", received: "answer."},
		"late":       {say: "answer.", early: true, want: os.ErrDeadlineExceeded},
		"incomplete": {say: "answ", want: os.ErrDeadlineExceeded, received: "answ"},
	} {
		t.Run(name, func(t *testing.T) {
			clients, servers := loopPairs(t, 1)
			c := clients[0]
			for stamped := false; !stamped; { // the kernel begins with it a moment later
				if _, err := servers[0].Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				prime := func(_ []byte, stamp int64, _ bool) bool { stamped = stamp != 0; return false }
				if _, err := c.Exchange(t.Context(), soon(), nil, prime); err != nil {
					t.Fatal(err)
				}
			}
			deadline := time.Now()
			if !tt.early {
				deadline = soon()
			}
			var got bytes.Buffer
			c.sink = until(&got, ".") // as in an exchange that the loop does not get to
			if _, err := servers[0].Write([]byte(tt.say)); err != nil {
				t.Fatal(err)
			}
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, -1); err != nil {
				t.Fatal(err)
			}
			if err := c.abandon(deadline); !errors.Is(err, tt.want) || got.String() != tt.received {
				t.Errorf("error %v after %q", err, &got)
			}
		})
	}
}

func TestLoopAllocatesNothingForAToken(t *testing.T) {
	clients, servers := loopPairs(t, 1)
	seen, ended, message := make(chan bool), make(chan bool), []byte("token")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		_, _ = clients[0].Exchange(ctx, time.Time{}, nil, func([]byte, int64, bool) bool { seen <- true; return true })
	}()
	allocs := testing.AllocsPerRun(500, func() {
		if _, err := servers[0].Write(message); err != nil {
			t.Fatal(err)
		}
		<-seen
	})
	cancel()
	<-ended
	if allocs > 0 {
		t.Errorf("%v allocations a token", allocs)
	}
}

// TestLoopLateRequest: a request whose deadline has passed, or that nobody waits for, does not go out.
func TestLoopLateRequest(t *testing.T) {
	clients, servers := loopPairs(t, 1)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, exchange := range map[string]struct {
		ctx      context.Context
		deadline time.Time
	}{
		"late":      {t.Context(), time.Now()},
		"cancelled": {cancelled, soon()},
	} {
		_, err := clients[0].Exchange(exchange.ctx, exchange.deadline, []byte("ask"), func([]byte, int64, bool) bool { return false })
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := unix.Shutdown(clients[0].fd, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(servers[0]); err != nil || len(got) > 0 {
		t.Errorf("the server got %q, %v", got, err)
	}
}

// TestLoopThatFails: exchanges do not wait for a loop that reads no more.
func TestLoopThatFails(t *testing.T) {
	clients, servers := loopPairs(t, 2)
	ended := make(chan error, 1)
	go func() {
		_, err := clients[0].Exchange(t.Context(), soon(), []byte("ask"), func([]byte, int64, bool) bool { return true })
		ended <- err
	}()
	if _, err := io.ReadFull(servers[0], make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	loop := clients[0].loop
	if err := loop.file.SetReadDeadline(time.Unix(1, 0)); err != nil { // which ends its wait
		t.Fatal(err)
	}
	if err := <-ended; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the exchange under way ended with %v", err)
	}
	<-loop.ended
	if _, err := clients[1].Exchange(t.Context(), soon(), []byte("ask"), func([]byte, int64, bool) bool { return true }); !errors.Is(err,
		os.ErrDeadlineExceeded) {
		t.Errorf("the next exchange ended with %v", err)
	}
}
