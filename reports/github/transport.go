package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxTries = 5
	// The first wait after an error that does not give a time; it doubles.
	firstWait = time.Second
	maxBody   = 32 << 20 // of an answer
	// oneTry limits a single request: GitHub itself gives up after 10 seconds.
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

// clockOr returns c, or the system's clock if it is nil.
func clockOr(c Clock) Clock {
	if c == nil {
		return systemClock{}
	}
	return c
}

// transport sends requests with the token, only to its own host, and retries them. It always
// retries after a rate limit, because nothing was done. After a lost reply or a server error it
// retries only idempotent requests.
type transport struct {
	next http.RoundTripper
	// scheme and host are those of the API: the token is sent nowhere else.
	scheme, host string
	token        string
	clock        Clock
}

// sameOrigin follows redirects only within the API, such as those of a renamed repository.
func (t *transport) sameOrigin(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || req.URL.Host != t.host || req.URL.Scheme != t.scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

type idempotentKey struct{}

// idempotent marks whether the requests of a context may be sent twice. By default a POST may not,
// and other methods may.
func idempotent(ctx context.Context, is bool) context.Context {
	return context.WithValue(ctx, idempotentKey{}, is)
}

func isIdempotent(req *http.Request) bool {
	if marked, ok := req.Context().Value(idempotentKey{}).(bool); ok {
		return marked
	}
	return req.Method != http.MethodPost
}

// RoundTrip is of http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	left := budgetOf(req.Context())
	var resp *http.Response
	var sent error
	waited := retry(req.Context(), t.clock, left, firstWait, maxTries, func() error {
		resp, sent = t.send(req, body, left) //nolint:bodyclose // its body is a buffer
		if wait, again := t.again(resp, sent, isIdempotent(req)); again {
			return &laterError{wait}
		}
		return nil
	})
	if _, gaveUp := errors.AsType[*laterError](waited); waited != nil && !gaveUp {
		return nil, fmt.Errorf("waiting for GitHub: %w", waited)
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
func (t *transport) send(req *http.Request, body []byte, left *budget) (resp *http.Response, err error) {
	limit := min(oneTry, left.remaining())
	if limit <= 0 {
		return nil, errBudget
	}
	ctx, cancel := context.WithTimeout(req.Context(), limit)
	defer cancel()
	start := t.clock.Now()
	defer func() {
		left.spend(t.clock.Now().Sub(start))
		if err != nil && ctx.Err() != nil && req.Context().Err() == nil {
			err = fmt.Errorf("no answer within %s: %w", limit.Round(time.Second), context.DeadlineExceeded)
		}
	}()
	clone := req.Clone(ctx)
	if body != nil {
		clone.Body = io.NopCloser(bytes.NewReader(body))
	}
	clone.Header.Del("Authorization")
	if clone.URL.Host == t.host && clone.URL.Scheme == t.scheme {
		clone.Header.Set("Authorization", "Bearer "+t.token)
	}
	resp, err = t.next.RoundTrip(clone)
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
func (t *transport) again(resp *http.Response, err error, idempotent bool) (time.Duration, bool) {
	switch {
	case err != nil:
		return 0, idempotent
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusForbidden:
		return t.limited(resp)
	case resp.StatusCode >= http.StatusInternalServerError:
		wait, _ := retryAfter(resp, t.clock.Now())
		return wait, idempotent
	}
	return 0, false
}

// limited reports a rate limit, primary or secondary, and how long it asks to wait; 0 if it does
// not tell.
func (t *transport) limited(resp *http.Response) (time.Duration, bool) {
	if wait, ok := retryAfter(resp, t.clock.Now()); ok {
		return wait, true
	}
	if resp.Header.Get("X-Ratelimit-Remaining") == "0" {
		reset, err := strconv.ParseInt(resp.Header.Get("X-Ratelimit-Reset"), 10, 64)
		if err != nil {
			return 0, true
		}
		return max(time.Unix(reset, 0).Sub(serverTime(resp, t.clock.Now())), 0) + time.Second, true
	}
	return 0, resp.StatusCode == http.StatusTooManyRequests || strings.Contains(peek(resp), "secondary rate limit")
}

// peek reads an answer without consuming it.
func peek(resp *http.Response) string {
	content, _ := io.ReadAll(resp.Body) // a buffer
	resp.Body = io.NopCloser(bytes.NewReader(content))
	return strings.ToLower(string(content))
}

// retryAfter reads the header in both of its forms.
func retryAfter(resp *http.Response, now time.Time) (time.Duration, bool) {
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
