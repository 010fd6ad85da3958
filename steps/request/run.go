package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/timer"
	"github.com/zclconf/go-cty/cty"
)

// maxAnswer is the largest response body in bytes.
const maxAnswer = 4 << 20

// Action sends requests.
type Action struct{ client *http.Client }

var _ steps.Action = (*Action)(nil)

// New returns the action.
func New() *Action {
	return &Action{&http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: sameHost,
	}}
}

// sameHost follows redirects on one host only, because headers may hold secrets.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > 5 || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// Run sends the request of obj, retries it if there is a retry block, and returns the outputs. It logs one line
// per attempt, without headers and bodies.
func (a *Action) Run(ctx context.Context, env steps.ActionEnv, obj steps.Object) (map[string]string, error) {
	log := env.Log
	if log == nil {
		log = io.Discard
	}
	spec, err := read(obj)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		started := time.Now()
		status, body, err := a.once(ctx, spec)
		report(log, spec, attempt, status, err, time.Since(started))
		if err == nil {
			return take(body, spec.outputs)
		}
		if attempt >= spec.attempts || final(status) || ctx.Err() != nil {
			return nil, err
		}
		if err := timer.Sleep(ctx, spec.interval); err != nil {
			return nil, err
		}
	}
}

// spec holds a request with all arguments read.
type spec struct {
	method, url, shown string
	headers            []steps.EnvVar
	body               []byte
	json               bool
	statuses           []int
	timeout, interval  time.Duration
	attempts           int
	outputs            []steps.EnvVar
}

func read(obj steps.Object) (spec, error) {
	s := spec{
		method: obj.Text("method"), url: obj.Text("url"),
		timeout: obj.Duration("timeout"), attempts: 1, interval: DefaultInterval,
	}
	u, err := url.Parse(s.url)
	if err != nil || u.Host == "" {
		return s, errors.New("url is not an http or https address")
	}
	s.shown = u.Scheme + "://" + u.Host + u.EscapedPath()
	if s.method == "" {
		s.method = http.MethodGet
	}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	for _, r := range obj.Blocks["retry"] {
		s.attempts = max(r.Int("attempts"), 1)
		s.interval = r.Duration("interval")
	}
	if s.statuses, err = expected(obj); err != nil {
		return s, err
	}
	if s.headers, err = obj.Env("headers"); err != nil {
		return s, err
	}
	if s.outputs, err = obj.Env("outputs"); err != nil {
		return s, err
	}
	if !obj.Has("body") {
		return s, nil
	}
	if obj.Value("body").Type() == cty.String {
		s.body = []byte(obj.Text("body"))
		return s, nil
	}
	s.json = true
	s.body, err = obj.JSON("body")
	return s, err
}

func (a *Action) once(ctx context.Context, s spec) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, s.method, s.url, bytes.NewReader(s.body))
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", s.method, s.shown, withoutURL(err))
	}
	if s.json {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range s.headers {
		req.Header.Set(h.Name, h.Value)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", s.method, s.shown, withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }() // the body has been read
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return resp.StatusCode, nil, fmt.Errorf("%s %s: the answer was cut: %w", s.method, s.shown, err)
	case len(body) > maxAnswer:
		return resp.StatusCode, nil, fmt.Errorf("%s %s: the answer is larger than %d bytes", s.method, s.shown, maxAnswer)
	case !s.accepts(resp.StatusCode):
		return resp.StatusCode, nil, fmt.Errorf("%s %s: status %d was not expected", s.method, s.shown, resp.StatusCode)
	}
	return resp.StatusCode, body, nil
}

func (s spec) accepts(status int) bool {
	if s.statuses == nil {
		return status/100 == 2
	}
	return slices.Contains(s.statuses, status)
}

// final reports whether a retry would get the same response.
func final(status int) bool {
	retryable := []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}
	return status/100 == 4 && !slices.Contains(retryable, status)
}

// withoutURL removes the address from an error of net/http: its query may hold a secret.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func report(log io.Writer, s spec, attempt, status int, err error, took time.Duration) {
	took = took.Round(time.Millisecond)
	if err != nil {
		fmt.Fprintf(log, "attempt %d of %d: %v (%s)\n", attempt, s.attempts, err, took)
		return
	}
	fmt.Fprintf(log, "attempt %d of %d: %s %s: status %d (%s)\n", attempt, s.attempts, s.method, s.shown, status, took)
}

// take reads the declared outputs from a JSON response.
func take(body []byte, outputs []steps.EnvVar) (map[string]string, error) {
	out := make(map[string]string, len(outputs))
	if len(outputs) == 0 {
		return out, nil
	}
	doc, err := decode(body)
	if err != nil {
		return nil, err
	}
	for _, o := range outputs {
		value, err := lookup(doc, o.Value)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", o.Name, err)
		}
		out[o.Name] = value
	}
	return out, nil
}
