package github

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Time limits for GitHub. A gate with a verdict must not hold a GPU for a comment, and an API that
// hangs must not block a job.
const (
	startBudget   = 30 * time.Second
	checkBudget   = 60 * time.Second
	statusBudget  = 30 * time.Second
	commentBudget = 90 * time.Second
	// MaxFinish is the longest time that Finish takes.
	MaxFinish    = checkBudget + statusBudget + commentBudget
	issuesBudget = 5 * time.Minute
	// callBudget is the budget of a single request outside any larger task.
	callBudget = 3 * time.Minute
)

// errBudget reports that the time for GitHub is used up.
var errBudget = errors.New("GitHub took longer than it is waited for")

// budget is the time for one task: requests and the waits between them. It is measured by the
// injected clock, so that it also holds in virtual time.
type budget struct {
	mu   sync.Mutex
	left time.Duration
}

type budgetKey struct{}

// withBudget limits the requests under the context.
func withBudget(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, budgetKey{}, &budget{left: d})
}

func budgetOf(ctx context.Context) *budget {
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok {
		return b
	}
	return &budget{left: callBudget}
}

func (b *budget) remaining() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

func (b *budget) spend(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left -= max(d, 0)
}

// pause waits if the budget allows it.
func pause(ctx context.Context, clock Clock, d time.Duration) error {
	b := budgetOf(ctx)
	if d >= b.remaining() {
		return errBudget
	}
	b.spend(d)
	return clock.Sleep(ctx, d)
}

// laterError requests a retry, after a time if GitHub asked for one.
type laterError struct{ wait time.Duration }

func (*laterError) Error() string { return "GitHub asks to try again" }

// retry calls do until it returns nil or a permanent error, at most tries times and within the
// budget. The waits start at first, double each time, and are at least as long as the error asks
// for. They are randomized, so that jobs that failed together do not retry together.
func retry(ctx context.Context, clock Clock, left *budget, first time.Duration, tries uint64, do func() error) error {
	w := &waits{left: left, BackOff: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(first*4/5), backoff.WithRandomizationFactor(0.25), backoff.WithMultiplier(2), backoff.WithMaxElapsedTime(0))}
	ask := func() error {
		err := do()
		w.asked = retryWait(err)
		return err
	}
	return backoff.RetryNotifyWithTimer(ask, backoff.WithContext(backoff.WithMaxRetries(w, tries-1), ctx), nil, &timer{ctx: ctx, clock: clock})
}

// waits returns the times between tries, as long as the budget allows them.
type waits struct {
	backoff.BackOff
	left  *budget
	asked time.Duration
}

func (w *waits) NextBackOff() time.Duration {
	d := max(w.BackOff.NextBackOff(), w.asked)
	if d >= w.left.remaining() {
		return backoff.Stop
	}
	w.left.spend(d)
	return d
}

// timer is a backoff.Timer of the injected clock. Start waits.
type timer struct {
	ctx     context.Context
	clock   Clock
	expired chan time.Time
}

func (t *timer) Start(d time.Duration) {
	t.expired = make(chan time.Time, 1)
	if t.clock.Sleep(t.ctx, d) == nil {
		t.expired <- t.clock.Now()
	}
}

func (t *timer) C() <-chan time.Time { return t.expired }
func (*timer) Stop()                 {}

// jittered returns a random duration between three quarters of d and d.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/4+1) }

// pollsAfterLoss are the waits before each poll after a creation with a lost reply. A list may lag
// by seconds, so one immediate poll proves nothing.
var pollsAfterLoss = []time.Duration{3 * time.Second, 6 * time.Second}

// createTries is the number of attempts of a creation whose replies are lost or server errors.
const createTries = 4

// createOnce creates something once, as far as GitHub can tell. After a lost reply it polls for the
// object and creates it again only if it is missing. unsure reports that a second one may exist,
// hidden by a list that lags longer.
func createOnce[T any](ctx context.Context, clock Clock, create func() (T, error), find func() (T, bool)) (made T, unsure bool, err error) {
	for try := 1; ; try++ {
		made, err = create()
		if err == nil || !uncertain(err) || try == createTries || ctx.Err() != nil {
			return made, unsure, err
		}
		for _, wait := range pollsAfterLoss {
			if pause(ctx, clock, max(jittered(wait), retryWait(err))) != nil {
				return made, true, err
			}
			if found, ok := find(); ok {
				return found, unsure, nil
			}
		}
		unsure = true
	}
}

// settled lists until the list shows the last write, and with it all earlier ones: a list that lags
// shows objects in order. It gives up after a few polls.
func settled[T any](ctx context.Context, clock Clock, list func() (all []T, shown bool, err error)) ([]T, error) {
	var all []T
	err := retry(ctx, clock, budgetOf(ctx), 2*time.Second, 5, func() error {
		var shown bool
		var err error
		if all, shown, err = list(); err != nil || shown {
			return backoff.Permanent(err)
		}
		return &laterError{}
	})
	if _, lags := errors.AsType[*laterError](err); lags {
		err = nil
	}
	return all, err
}
