package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps"
)

// profileTimeout bounds the start and the end of a profile, when the server writes its traces.
// Whoever asks has limits of its own.
const profileTimeout = time.Hour

// errShort is a profile that never began.
var errShort = errors.New("the load was over before the profiler was to start; shorten delay, or measure longer")

// errNoProfiler is a server that was not started to be profiled, or whose engine cannot.
var errNoProfiler = errors.New("the server has no profiler: POST /start_profile is not found")

// Profile starts a server's profiler by POST /start_profile with a body, nil for none, after a
// window's delay, and stops it by POST /stop_profile at its end, as vLLM and SGLang have them.
// observe reads the server's counters.
func (c *Client) Profile(ctx context.Context, ep steps.Endpoint, w steps.ProfileWindow, body any, wait func(context.Context, time.Duration) error,
	observe func(context.Context, steps.Endpoint) (steps.Observation, error),
) (stop func(context.Context) (steps.Profiled, error), err error) {
	p := &profile{client: c, ep: ep, observe: observe}
	ctx = context.WithoutCancel(ctx) // which ends with the load
	run, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if wait(run, w.Delay) != nil {
			p.err = errShort
			return
		}
		if p.err = p.start(ctx, body); p.err != nil {
			return
		}
		_ = wait(run, w.Window) // or until it is stopped
		p.err = p.stop(ctx)
	}()
	return func(ctx context.Context) (steps.Profiled, error) {
		cancel()
		select {
		case <-done:
			return p.got, p.err
		case <-ctx.Done():
			return steps.Profiled{}, fmt.Errorf("the profiler has not written its traces: %w", context.Cause(ctx))
		}
	}, nil
}

// profile of one server in the course of being made.
type profile struct {
	client  *Client
	ep      steps.Endpoint
	observe func(context.Context, steps.Endpoint) (steps.Observation, error)
	began   time.Time
	before  *float64
	got     steps.Profiled
	err     error
}

func (p *profile) start(ctx context.Context, body any) error {
	a, err := p.client.do(ctx, profileTimeout, http.MethodPost, p.ep, "/start_profile", body)
	switch {
	case err != nil:
		return err
	case a.Status == http.StatusNotFound:
		return errNoProfiler
	case !a.OK():
		return a.Err("POST /start_profile")
	}
	p.began, p.before = time.Now(), p.tokens(ctx)
	return nil
}

func (p *profile) stop(ctx context.Context) error {
	p.got.Time = time.Since(p.began)
	if after := p.tokens(ctx); p.before != nil && after != nil && *after > *p.before {
		put := *after - *p.before
		p.got.Tokens = &put
	}
	a, err := p.client.do(ctx, profileTimeout, http.MethodPost, p.ep, "/stop_profile", nil)
	if err == nil && !a.OK() {
		err = a.Err("POST /stop_profile")
	}
	return err
}

// tokens that the server has put out so far.
func (p *profile) tokens(ctx context.Context) *float64 {
	o, err := p.observe(ctx, p.ep)
	n, counted := o.Counters[steps.CounterGenerationTokens]
	if err != nil || !counted {
		return nil
	}
	return &n
}
