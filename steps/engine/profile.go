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

// Control is how a profiler of a server is started and stopped.
type Control struct {
	// Start and Stop return when the profiler is on, and when all that it has is written.
	Start, Stop func(context.Context) error
	// Tokens is how many tokens the server has put out so far, nil where it does not count them.
	Tokens func(context.Context) *float64
	// Wait lets time go by.
	Wait func(context.Context, time.Duration) error
}

// Profile starts a server's profiler by POST /start_profile with a body, nil for none, after a
// window's delay, and stops it by POST /stop_profile at its end, as vLLM and SGLang have them.
// observe reads the server's counters.
func (c *Client) Profile(ctx context.Context, ep steps.Endpoint, w steps.ProfileWindow, body any,
	wait func(context.Context, time.Duration) error,
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
		Tokens: OutputTokens(ep, observe), Wait: wait,
	}), nil
}

// OutputTokens reads how many tokens a server has put out so far from what observe returns.
func OutputTokens(ep steps.Endpoint, observe func(context.Context, steps.Endpoint) (steps.Observation,
	error)) func(context.Context) *float64 {
	return func(ctx context.Context) *float64 {
		o, err := observe(ctx, ep)
		n, counted := o.Counters[steps.CounterGenerationTokens]
		if err != nil || !counted {
			return nil
		}
		return &n
	}
}

// Profile has a profiler on for a window. stop ends that, at once if the time is not over.
func Profile(ctx context.Context, w steps.ProfileWindow, c Control) (stop func(context.Context) (steps.Profiled, error)) {
	p := &profile{Control: c}
	ctx = context.WithoutCancel(ctx) // which ends with the load
	run, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if w.Delay > 0 && c.Wait(run, w.Delay) != nil {
			p.err = errShort
			return
		}
		if p.err = p.start(ctx); p.err != nil {
			return
		}
		_ = c.Wait(run, w.Window) // or until it is stopped
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

// profile of one server in the course of being made.
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
