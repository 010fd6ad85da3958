package router

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The roles of members.
const (
	rolePrefill = "prefill"
	roleDecode  = "decode"
)

// member is a server behind the router.
type member struct {
	Backend
	role      string
	base      *url.URL
	bootstrap bootstrap
	requests  atomic.Uint64
}

func (m *member) bootstrapHost() string {
	host := m.BootstrapHost
	if host == "" {
		host = m.base.Hostname()
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]" // IPv6
	}
	return host
}

func (m *member) bootstrapURL() string {
	return "http://" + m.bootstrapHost() + ":" + strconv.Itoa(m.BootstrapPort)
}

// idleTimeout of pooled connections. uvicorn, which both engines use, closes idle connections after 5 s; a
// request at that moment would fail without a fault of the server.
const idleTimeout = 2 * time.Second

// maxIdle limits the pooled connections to one server: as many as streams can end at once.
const maxIdle = 16384

func newTransport(t Timeouts) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: t.Dial, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    t.Dial,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// send sends a POST or GET request to a member. It does not retry once a byte was sent.
func (r *Router) send(ctx context.Context, m *member, method, path, query string, header http.Header, body []byte) (*http.Response, error) {
	u := *m.base
	u.Path += path
	u.RawQuery = query
	req := (&http.Request{
		Method: method, URL: &u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if body != nil {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = bodyAgain(header, body)
	}
	return r.transport.RoundTrip(req)
}

// bodyAgain lets the transport use another connection if the server closed a pooled one before a byte was
// written to it. With an idempotency key the transport would also resend requests that may have arrived, so
// bodyAgain returns nil.
func bodyAgain(header http.Header, body []byte) func() (io.ReadCloser, error) {
	if header["Idempotency-Key"] != nil || header["X-Idempotency-Key"] != nil {
		return nil
	}
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}

// hopByHop headers belong to one connection.
var hopByHop = map[string]bool{
	"Connection": true, "Proxy-Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Authorization": true,
	"Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	// The router sets these: the length of its body, and it does not wait for 100 Continue.
	"Content-Length": true, "Expect": true,
}

// forwardHeader returns the header for the servers from a client's header.
func forwardHeader(from http.Header, id string) http.Header {
	to := make(http.Header, len(from)+2)
	copyHeader(to, from)
	if _, set := to["User-Agent"]; !set {
		to["User-Agent"] = []string{""} // otherwise the transport adds Go's
	}
	to["X-Request-Id"] = []string{id}
	return to
}

// copyHeader copies all headers except hop-by-hop ones.
func copyHeader(to, from http.Header) {
	var named []string
	for _, value := range from["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			named = append(named, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
		}
	}
	for key, values := range from {
		if !hopByHop[key] {
			to[key] = values
		}
	}
	for _, name := range named {
		delete(to, name)
	}
}

// errTooLong reports an answer above the limit.
var errTooLong = errors.New("the answer is too long")

// readAll reads an answer of at most maxAnswer bytes and closes it.
func readAll(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close() //nolint:errcheck // the error has no effect
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(b) > maxAnswer {
		err = errTooLong
	}
	return b, err
}
