package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
)

// profileTimeout limits the start and the end of a profile, when the server writes its traces.
// Callers have their own limits.
const profileTimeout = time.Hour

// errShort reports a profile that never began.
var errShort = errors.New("the load was over before the profiler was to start; shorten delay, or measure longer")

// errNoProfiler reports a server that was not started with a profiler, or whose engine has none.
var errNoProfiler = errors.New("the server has no profiler: POST /start_profile is not found")

// Control starts and stops a profiler of a server.
type Control struct {
	// Start returns when the profiler runs, Stop when it has written everything.
	Start, Stop func(context.Context) error
	// Tokens returns the number of tokens that the server has generated, nil if it does not count
	// them.
	Tokens func(context.Context) *float64
}

// Profile starts a server's profiler by POST /start_profile with a body, nil for none, after the
// window's delay. At the end of the window it stops it by POST /stop_profile. vLLM and SGLang have
// these paths. observe reads the server's counters.
func (c *Client) Profile(ctx context.Context, ep steps.Endpoint, w steps.ProfileWindow, body any,
	observe func(context.Context, steps.Endpoint) (steps.Observation, error),
) (stop func(context.Context) (steps.Profiled, error), err error) {
	return Profile(ctx, w, Control{
		Start: func(ctx context.Context) error {
			a, err := c.do(ctx, profileTimeout, http.MethodPost, ep, "/start_profile", body)
			switch {
			case err != nil:
				return err
			case a.Status == http.StatusNotFound:
				return errNoProfiler
			case !a.OK():
				return a.Err("POST /start_profile")
			}
			return nil
		},
		Stop: func(ctx context.Context) error {
			a, err := c.do(ctx, profileTimeout, http.MethodPost, ep, "/stop_profile", nil)
			if err == nil && !a.OK() {
				err = a.Err("POST /stop_profile")
			}
			return err
		},
		Tokens: OutputTokens(ep, observe),
	}), nil
}

// OutputTokens returns a function that reads the number of generated tokens from observe.
func OutputTokens(ep steps.Endpoint, observe func(context.Context, steps.Endpoint) (steps.Observation,
	error)) func(context.Context) *float64 {
	return func(ctx context.Context) *float64 {
		o, err := observe(ctx, ep)
		n, counted := o.Counters[metric.CounterGenerationTokens]
		if err != nil || !counted {
			return nil
		}
		return &n
	}
}

// Profile runs a profiler for a window. stop ends it, at once if the window is not over. ctx must not end before the
// profiler has written everything, except to give it up.
func Profile(ctx context.Context, w steps.ProfileWindow, c Control) (stop func(context.Context) (steps.Profiled, error)) {
	p := &profile{Control: c}
	run, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if w.Delay > 0 && steps.Sleep(run, w.Delay) != nil {
			p.err = errShort
			return
		}
		if p.err = p.start(ctx); p.err != nil {
			return
		}
		_ = steps.Sleep(run, w.Window) // or until it is stopped
		p.err = p.stop(ctx)
	}()
	return func(ctx context.Context) (steps.Profiled, error) {
		cancel()
		select {
		case <-done:
			return p.got, p.err
		case <-ctx.Done():
			return steps.Profiled{}, fmt.Errorf("the profiler has not written what it has: %w", context.Cause(ctx))
		}
	}
}

// profile is a running profile of one server.
type profile struct {
	Control
	began  time.Time
	before *float64
	got    steps.Profiled
	err    error
}

func (p *profile) start(ctx context.Context) error {
	if err := p.Start(ctx); err != nil {
		return err
	}
	p.began, p.before = time.Now(), p.Tokens(ctx)
	return nil
}

func (p *profile) stop(ctx context.Context) error {
	p.got.Time = time.Since(p.began)
	if after := p.Tokens(ctx); p.before != nil && after != nil && *after > *p.before {
		put := *after - *p.before
		p.got.Tokens = &put
	}
	return p.Stop(ctx)
}
