package calibrate

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

// Delay is a proxy that makes one server look slower by a known share. It stretches the time from a request to each
// part of its answer by that share. Time to first token, time per token and every gap of a stream grow by the share.
// The server itself does not change.
//
//	d, err := calibrate.NewDelay("http://127.0.0.1:8000", 0.10)
//	// send requests to d.URL()
//	err = d.Close()
//
// It tests whether slow-downs of a known size are detected. It does not model a slow server: requests do not queue
// longer because others do.
type Delay struct {
	server   *http.Server
	listener net.Listener
	failed   chan error
}

// NewDelay starts a proxy in front of a server that delays its answers by a share: 0.10 for 10 %. A share of 0 forwards
// everything without delay.
func NewDelay(target string, share float64) (*Delay, error) {
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
	d := &Delay{listener: l, failed: make(chan error, 1)}
	d.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
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
	d.server.RegisterOnShutdown(transport.CloseIdleConnections)
	go func() { d.failed <- d.server.Serve(l) }()
	return d, nil
}

// began is the context key of the time at which a request arrived.
type began struct{}

// URL returns the address of the proxy.
func (d *Delay) URL() string { return "http://" + d.listener.Addr().String() }

// Close stops the proxy and aborts all its requests.
func (d *Delay) Close() error {
	err := d.server.Close()
	if served := <-d.failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// chunk holds the data of one read and the time at which it may be forwarded.
type chunk struct {
	data []byte
	due  time.Time
	err  error
}

// readAhead is the number of chunks that are read before the first of them is forwarded. It suffices for a stream of
// that many tokens.
const readAhead = 1 << 14

// stretched is a response body whose chunks are delayed. It reads the inner body as fast as the data arrives, so that
// neither the server nor its connection waits.
type stretched struct {
	inner  io.ReadCloser
	chunks chan chunk
	closed chan struct{}
	rest   chunk
}

func stretch(body io.ReadCloser, start time.Time, share float64) io.ReadCloser {
	s := &stretched{inner: body, chunks: make(chan chunk, readAhead), closed: make(chan struct{})}
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

// Close closes the body for the reader and for the server.
func (s *stretched) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return s.inner.Close()
}
