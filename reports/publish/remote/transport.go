package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxTries = 5
	// The first wait after an error that does not give a time; it doubles.
	firstWait = time.Second
	maxBody   = 32 << 20 // of an answer
	// oneTry limits a single request: GitHub itself gives up after 10 seconds, GitLab after 60.
	oneTry = 15 * time.Second
)

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// Sleep returns early with the context's error.
	Sleep(ctx context.Context, d time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ClockOr returns c, or the system's clock if it is nil.
func ClockOr(c Clock) Clock {
	if c == nil {
		return systemClock{}
	}
	return c
}

// Transport sends requests with the token, only to its own host, and retries them. It always
// retries after a rate limit, because nothing was done. After a lost reply or a server error it
// retries only idempotent requests.
type Transport struct {
	Service string            // "GitHub"
	Next    http.RoundTripper // nil means http.DefaultTransport
	// Scheme and Host are those of the API: the token is sent nowhere else.
	Scheme, Host string
	// Header is the header of the token, and Value its value; "" sends none.
	Header, Value string
	Clock         Clock
}

// Base parses the address of an API, which variable names. It must be https unless it is on this machine,
// so that no token is sent in the clear.
func Base(variable, address string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSuffix(address, "/") + "/")
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%s %q is not a valid URL", variable, address)
	}
	if clear := base.Scheme == "http" && loopback(base.Hostname()); base.Scheme != "https" && !clear {
		return nil, fmt.Errorf("%s %q is not https: the token would be sent in the clear", variable, address)
	}
	return base, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// SameOrigin follows redirects only within the API, such as those of a renamed repository.
func (t *Transport) SameOrigin(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || req.URL.Host != t.Host || req.URL.Scheme != t.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

type idempotentKey struct{}

// Idempotent marks whether the requests of a context may be sent twice. By default a POST may not,
// and other methods may.
func Idempotent(ctx context.Context, is bool) context.Context {
	return context.WithValue(ctx, idempotentKey{}, is)
}

func isIdempotent(req *http.Request) bool {
	if marked, ok := req.Context().Value(idempotentKey{}).(bool); ok {
		return marked
	}
	return req.Method != http.MethodPost
}

// RoundTrip is of http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	if _, bounded := req.Context().Value(budgetKey{}).(*budget); !bounded {
		req = req.WithContext(WithBudget(req.Context(), callBudget))
	}
	left := budgetOf(req.Context())
	var resp *http.Response
	var sent error
	waited := Retry(req.Context(), t.Clock, firstWait, maxTries, func() error {
		resp, sent = t.send(req, body, left) //nolint:bodyclose // its body is a buffer
		if wait, again := t.again(resp, sent, isIdempotent(req)); again {
			return &laterError{wait}
		}
		return nil
	})
	if _, gaveUp := errors.AsType[*laterError](waited); waited != nil && !gaveUp {
		return nil, fmt.Errorf("waiting for %s: %w", t.Service, waited)
	}
	return resp, sent
}

func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }() // a buffer
	return io.ReadAll(req.Body)
}

// send sends once and reads the whole answer, so that a connection that breaks within the answer
// counts as lost.
func (t *Transport) send(req *http.Request, body []byte, left *budget) (resp *http.Response, err error) {
	limit := min(oneTry, left.remaining())
	if limit <= 0 {
		return nil, errBudget
	}
	ctx, cancel := context.WithTimeout(req.Context(), limit)
	defer cancel()
	start := t.Clock.Now()
	defer func() {
		left.spend(t.Clock.Now().Sub(start))
		if err != nil && ctx.Err() != nil && req.Context().Err() == nil {
			err = fmt.Errorf("no answer within %s: %w", limit.Round(time.Second), context.DeadlineExceeded)
		}
	}()
	clone := req.Clone(ctx)
	if body != nil {
		clone.Body = io.NopCloser(bytes.NewReader(body))
	}
	clone.Header.Del("Authorization")
	clone.Header.Del(t.Header)
	if t.Value != "" && clone.URL.Host == t.Host && clone.URL.Scheme == t.Scheme {
		clone.Header.Set(t.Header, t.Value)
	}
	resp, err = t.next().RoundTrip(clone)
	switch {
	case err != nil:
		return nil, err
	case resp == nil || resp.Body == nil:
		return nil, errors.New("no answer")
	}
	answer := resp.Body
	defer func() { _ = answer.Close() }() // read to its end, or broken
	content, err := io.ReadAll(io.LimitReader(answer, maxBody))
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(content))
	return resp, nil
}

// again reports whether to retry a request, and how long GitHub asks to wait.
func (t *Transport) again(resp *http.Response, err error, idempotent bool) (time.Duration, bool) {
	switch {
	case err != nil:
		return 0, idempotent
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusForbidden:
		return t.limited(resp)
	case resp.StatusCode >= http.StatusInternalServerError:
		wait, _ := RetryAfter(resp, t.Clock.Now())
		return wait, idempotent
	}
	return 0, false
}

// limited reports a rate limit, primary or secondary, and how long it asks to wait; 0 if it does
// not tell.
func (t *Transport) limited(resp *http.Response) (time.Duration, bool) {
	if wait, ok := RetryAfter(resp, t.Clock.Now()); ok {
		return wait, true
	}
	if resp.Header.Get("X-Ratelimit-Remaining") == "0" {
		reset, err := strconv.ParseInt(resp.Header.Get("X-Ratelimit-Reset"), 10, 64)
		if err != nil {
			return 0, true
		}
		return max(time.Unix(reset, 0).Sub(serverTime(resp, t.Clock.Now())), 0) + time.Second, true
	}
	return 0, resp.StatusCode == http.StatusTooManyRequests || strings.Contains(peek(resp), "secondary rate limit")
}

// peek reads an answer without consuming it.
func peek(resp *http.Response) string {
	content, _ := io.ReadAll(resp.Body) // a buffer
	resp.Body = io.NopCloser(bytes.NewReader(content))
	return strings.ToLower(string(content))
}

// RetryAfter reads the header in both of its forms.
func RetryAfter(resp *http.Response, now time.Time) (time.Duration, bool) {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 && seconds < 1<<31 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(serverTime(resp, now)), 0), true
	}
	return 0, false
}

// serverTime returns the time of the answer by the server's clock. Times in an answer refer to that
// clock, and this machine's may be wrong by hours.
func serverTime(resp *http.Response, now time.Time) time.Time {
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		return at
	}
	return now
}

// next returns the transport that sends.
func (t *Transport) next() http.RoundTripper {
	if t.Next == nil {
		return http.DefaultTransport
	}
	return t.Next
}
