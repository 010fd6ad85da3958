// Package delay is a proxy that makes a server look slower by a known share: whatever
// arrives at a time after its request is handed on at that time stretched. So time to
// first token, time per token and every gap of a stream grow by the share, and nothing of
// the server changes.
//
//	p, err := delay.New("http://127.0.0.1:8000", 0.10)
//	… send requests to p.URL() …
//	err = p.Close()
//
// It shows whether slow-downs of a known size are found. It is no model of a slow server:
// requests do not queue longer because others do.
package delay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// Proxy in front of one server.
type Proxy struct {
	server   *http.Server
	listener net.Listener
	failed   chan error
}

// New starts a proxy in front of a server whose answers take longer by a share: 0.10 for
// 10 %. A share of 0 hands everything on as it comes.
func New(target string, share float64) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("the address of the server: %w", err)
	}
	if !(share >= 0 && share <= 100) {
		return nil, fmt.Errorf("a slow-down of %g cannot be planted; give a share from 0 on, such as 0.1", share)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the delaying proxy: %w", err)
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4096, ForceAttemptHTTP2: false}
	p := &Proxy{listener: l, failed: make(chan error, 1)}
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out = r.Out.WithContext(context.WithValue(r.Out.Context(), began{}, time.Now()))
		},
		ModifyResponse: func(r *http.Response) error {
			start, _ := r.Request.Context().Value(began{}).(time.Time)
			r.Body = stretch(r.Body, start, share)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	p.server.RegisterOnShutdown(transport.CloseIdleConnections)
	go func() { p.failed <- p.server.Serve(l) }()
	return p, nil
}

// began is the key of the time at which a request came.
type began struct{}

// URL is where the proxy is reached.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Close ends the proxy and all requests in it.
func (p *Proxy) Close() error {
	err := p.server.Close()
	if served := <-p.failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// chunk is what came in one read, and when it may be handed on.
type chunk struct {
	data []byte
	due  time.Time
	err  error
}

// ahead is how many chunks are read before the first of them is handed on: a stream of
// that many tokens, each of which waits.
const ahead = 1 << 14

// stretched is a body whose parts come later. It is read as fast as it comes, so that
// neither the server nor its connection waits.
type stretched struct {
	inner  io.ReadCloser
	chunks chan chunk
	closed chan struct{}
	rest   chunk
}

func stretch(body io.ReadCloser, start time.Time, share float64) io.ReadCloser {
	s := &stretched{inner: body, chunks: make(chan chunk, ahead), closed: make(chan struct{})}
	go func() {
		defer close(s.chunks)
		for {
			buf := make([]byte, 4096)
			n, err := body.Read(buf)
			now := time.Now()
			c := chunk{data: buf[:n], due: now.Add(time.Duration(share * float64(now.Sub(start)))), err: err}
			select {
			case s.chunks <- c:
			case <-s.closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

// Read waits until the next chunk is due.
func (s *stretched) Read(p []byte) (int, error) {
	for len(s.rest.data) == 0 {
		if s.rest.err != nil {
			return 0, s.rest.err
		}
		select {
		case c, open := <-s.chunks:
			if !open {
				return 0, io.ErrUnexpectedEOF
			}
			s.rest = c
		case <-s.closed:
			return 0, io.ErrClosedPipe
		}
		wait := time.NewTimer(time.Until(s.rest.due))
		select {
		case <-wait.C:
		case <-s.closed:
			wait.Stop()
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, s.rest.data)
	s.rest.data = s.rest.data[n:]
	return n, nil
}

// Close ends the body for both sides.
func (s *stretched) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return s.inner.Close()
}
