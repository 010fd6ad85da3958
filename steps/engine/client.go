package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

const (
	// maxBody limits how much of an answer is read. SGLang's /server_info of a large deployment has
	// some hundred kilobytes.
	maxBody = 4 << 20
	// lookTimeout limits one request to the server: an engine whose event loop hangs must not keep
	// the poller from seeing that the process has died.
	lookTimeout = 10 * time.Second
	// slowTimeout is for data that the server has to collect first: vLLM runs programs to inspect
	// its environment, and continues after the client has given up.
	slowTimeout = time.Minute
	// canaryTimeout limits the first completion, which may compile kernels.
	canaryTimeout = 2 * time.Minute
)

// Client talks to one server at a time. It uses no proxy from the environment, follows no redirects
// and keeps no connections between calls.
type Client struct{ http *http.Client }

// NewClient returns a client.
func NewClient() *Client {
	return &Client{http: &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DisableKeepAlives: true, DisableCompression: true,
			TLSClientConfig: &tls.Config{NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}, // as the load
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// Answer is an answer of a server.
type Answer struct {
	Status int
	Body   []byte
}

// OK reports whether the status is 200.
func (a Answer) OK() bool { return a.Status == http.StatusOK }

// Err returns an error for an unexpected answer, with the beginning of its body.
func (a Answer) Err(what string) error {
	err := fmt.Errorf("%s: status %d%s", what, a.Status, excerpt(a.Body))
	if refuses(a.Status) {
		return &steps.RefusedError{Err: err}
	}
	return err
}

// refuses reports whether retries would get the same status. Servers that are loading, and proxies
// before them, answer with other ones (5xx, 408, 425, 429).
func refuses(status int) bool {
	return status >= 300 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooEarly &&
		status != http.StatusTooManyRequests ||
		status == http.StatusNotImplemented
}

// Get fetches a path of the server.
func (c *Client) Get(ctx context.Context, ep steps.Endpoint, path string) (Answer, error) {
	return c.do(ctx, lookTimeout, http.MethodGet, ep, path, nil)
}

// GetSlow is Get for a path whose data the server has to collect first.
func (c *Client) GetSlow(ctx context.Context, ep steps.Endpoint, path string) (Answer, error) {
	return c.do(ctx, slowTimeout, http.MethodGet, ep, path, nil)
}

// Post sends a JSON body, or none if body is nil, to a path of the server.
func (c *Client) Post(ctx context.Context, ep steps.Endpoint, path string, body any) (Answer, error) {
	return c.do(ctx, canaryTimeout, http.MethodPost, ep, path, body)
}

func (c *Client) do(ctx context.Context, limit time.Duration, method string, ep steps.Endpoint, path string, body any) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return Answer{}, fmt.Errorf("%s %s: %w", method, path, err)
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(ep.BaseURL, "/")+path, payload)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	for name, value := range ep.Headers {
		req.Header.Set(name, value)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", method, path, withoutURL(err))
		return Answer{}, refusal(err)
	}
	defer func() { _ = resp.Body.Close() }() // the data that was read counts
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: the answer was cut: %w", method, path, err)
	}
	if len(data) > maxBody {
		return Answer{}, fmt.Errorf("%s %s: the answer is larger than %d bytes", method, path, maxBody)
	}
	return Answer{Status: resp.StatusCode, Body: data}, nil
}

// noProtocol is the alert of TLS by which a server says that it lacks the protocols that are offered.
const noProtocol = tls.AlertError(120)

// refusal returns an error of a connection as a [steps.RefusedError] if another attempt gets the same.
func refusal(err error) error {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	alert, _ := errors.AsType[tls.AlertError](err)
	text := err.Error()
	switch {
	case untrusted:
		err = fmt.Errorf("%w; name the file of its certificate authority by SSL_CERT_FILE", err)
		return &steps.RefusedError{Err: err, Ours: true}
	case alert == noProtocol, strings.Contains(text, http2Frame):
		err = fmt.Errorf("%w; the server speaks HTTP/2 alone, and load is sent over HTTP/1.1: turn that on in the server", err)
		return &steps.RefusedError{Err: err, Ours: true}
	case strings.Contains(text, "malformed HTTP response"):
		return &steps.RefusedError{Err: err}
	}
	return err
}

// http2Frame is the end of the length, and the type, of the first frame of HTTP/2, as net/http quotes a malformed response.
const http2Frame = `malformed HTTP response "\x00\x00`

// withoutURL removes the address from an error of net/http. The caller names the path, and reports
// the address once.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// excerpt returns the beginning of a body on one line, for an error message.
func excerpt(body []byte) string {
	text := steps.Line(string(body), 200)
	if text == "" {
		return ""
	}
	return ": " + text
}
