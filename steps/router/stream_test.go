package router_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/servegate/pipeline/steps/router"
)

// stream is a decode server whose events the test lets go one by one.
func stream(next <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		for {
			select {
			case s, ok := <-next:
				if !ok {
					return
				}
				_, _ = io.WriteString(w, s)
				_ = rc.Flush()
			case <-req.Context().Done():
				return
			}
		}
	}
}

// TestStreamsWithoutBuffering sends the next event only after the client has the one
// before: a router that held anything back would stand still.
func TestStreamsWithoutBuffering(t *testing.T) {
	next := make(chan string)
	p := newFake(t, answer(200, `{"kv_transfer_params":`+kvParams+`}`))
	d := newFake(t, stream(next))
	c := router.Config{Protocol: router.NIXL}
	c.Prefill, c.Decode = backends(p, d, 0)
	r, base := start(t, c)
	go func() { next <- event(0) }()
	resp := open(t, base)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for i := range 100 {
		if i > 0 {
			next <- event(i)
		}
		got := make([]byte, len(event(i)))
		if _, err := io.ReadFull(lines, got); err != nil || string(got) != event(i) {
			t.Fatalf("event %d: %q, %v", i, got, err)
		}
	}
	close(next)
	if rest, err := io.ReadAll(lines); len(rest) != 0 || err != nil {
		t.Errorf("after the last event: %q, %v", rest, err)
	}
	if resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Router-Prefill") != "p" {
		t.Errorf("header %v", resp.Header)
	}
	r.Close()
	s := r.Stats()
	if s.Succeeded != 1 || s.InFlight != 0 || s.Chunk.Count != 100 || s.Prefill.Count != 1 || s.Dispatch.Count != 1 || s.Handover.Count != 1 {
		t.Errorf("stats %+v", s)
	}
}

// TestThousandStreams opens a thousand streams before any may go on, in each protocol
// that differs, and checks that none got another's events.
func TestThousandStreams(t *testing.T) {
	const streams = 1000
	for _, protocol := range []string{router.NIXL, router.SGLang} {
		t.Run(protocol, func(t *testing.T) {
			var open sync.WaitGroup
			open.Add(streams)
			p := newFake(t, answer(200, `{"kv_transfer_params":`+kvParams+`}`))
			d := newFake(t, func(w http.ResponseWriter, req *http.Request) {
				id := req.Header.Get("X-Request-Id")
				rc := http.NewResponseController(w)
				_, _ = io.WriteString(w, id+" first\n")
				_ = rc.Flush()
				open.Done()
				open.Wait()
				for i := range 5 {
					_, _ = fmt.Fprintf(w, "%s %d\n", id, i)
					_ = rc.Flush()
				}
			})
			c := router.Config{Protocol: protocol}
			c.Prefill, c.Decode = backends(p, d, 8998)
			r, base := start(t, c)
			cl := client(t)
			var wg sync.WaitGroup
			for i := range streams {
				wg.Go(func() {
					req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/completions", strings.NewReader(`{"prompt":"a"}`))
					id := fmt.Sprint("id", i)
					req.Header.Set("X-Request-Id", id)
					resp, err := cl.Do(req)
					if err != nil {
						t.Error(err)
						open.Done()
						return
					}
					defer resp.Body.Close()
					got, err := io.ReadAll(resp.Body)
					want := fmt.Sprintf("%[1]s first\n%[1]s 0\n%[1]s 1\n%[1]s 2\n%[1]s 3\n%[1]s 4\n", id)
					if err != nil || string(got) != want {
						t.Errorf("%s got %q, %v", id, got, err)
					}
				})
			}
			wg.Wait()
			r.Close()
			if s := r.Stats(); s.Succeeded != streams || s.Failed != 0 || s.InFlight != 0 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

// TestSlowReaderHoldsUpNobody leaves one client that does not read until the pipe to it
// is full, while another gets its whole answer.
func TestSlowReaderHoldsUpNobody(t *testing.T) {
	full := make(chan struct{})
	d := newFake(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Request-Id") != "slow" {
			_, _ = io.WriteString(w, "quick")
			return
		}
		chunk := make([]byte, 1<<20)
		rc := http.NewResponseController(w)
		// More than all buffers between the two sockets hold: whoever has taken it has read.
		for i := range 64 {
			if i == 1 {
				close(full)
			}
			if _, err := w.Write(chunk); err != nil {
				t.Error(err)
				return
			}
			_ = rc.Flush()
		}
	})
	c := router.Config{Protocol: router.RoundRobin}
	_, c.Decode = backends(nil, d, 0)
	_, base := start(t, c)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn,
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	<-full
	for range 20 {
		if _, body := post(t, base, "/v1/completions", `{}`, nil); body != "quick" {
			t.Fatalf("got %q", body)
		}
	}
	n, err := io.Copy(io.Discard, conn)
	if err != nil || n < 64<<20 {
		t.Errorf("the slow reader got %d bytes, %v", n, err)
	}
}

// TestClientLeaves wants both servers to learn that the client has gone.
func TestClientLeaves(t *testing.T) {
	for name, tt := range map[string]struct {
		protocol string
		gone     int // how many servers have something under way
	}{
		"prefill of two phases": {router.NIXL, 1},
		"both at once":          {router.SGLang, 2},
		"decode, streaming":     {router.RoundRobin, 1},
	} {
		t.Run(name, func(t *testing.T) {
			reached, ended := make(chan struct{}, 2), make(chan struct{}, 2)
			hang := func(_ http.ResponseWriter, req *http.Request) {
				reached <- struct{}{}
				<-req.Context().Done()
				ended <- struct{}{}
			}
			p, d := newFake(t, hang), newFake(t, hang)
			c := router.Config{Protocol: tt.protocol}
			c.Prefill, c.Decode = backends(p, d, 8998)
			if tt.protocol == router.RoundRobin {
				c.Prefill = nil
			}
			r, err := router.New(c)
			if err != nil {
				t.Fatal(err)
			}
			answered := make(chan struct{})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				defer close(answered)
				r.ServeHTTP(w, req)
			}))
			defer srv.Close()
			ctx, leave := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/v1/completions", strings.NewReader(`{}`))
				resp, err := client(t).Do(req)
				if err == nil {
					resp.Body.Close()
				}
				done <- err
			}()
			for range tt.gone {
				<-reached
			}
			leave()
			if err := <-done; err == nil {
				t.Error("the client got an answer")
			}
			for range tt.gone {
				<-ended
			}
			<-answered
			r.Close()
			if s := r.Stats(); s.ClientGone != 1 || s.InFlight != 0 || s.Failed != 0 || len(s.Failures) != 0 || s.Succeeded != 0 {
				t.Errorf("a client that left is no failure of a server: %+v", s)
			}
		})
	}
}
