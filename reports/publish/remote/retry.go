package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// callBudget is the budget of a single request outside any larger task.
const callBudget = 3 * time.Minute

// errBudget reports that the time for the service is used up.
var errBudget = errors.New("it took longer than it is waited for")

// budget is the time for one task: requests and the waits between them. It is measured by the
// injected clock, so that it also holds in virtual time.
type budget struct {
	mu   sync.Mutex
	left time.Duration
}

type budgetKey struct{}

// WithBudget limits the requests under the context.
func WithBudget(ctx context.Context, d time.Duration) context.Context {
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

// Pause waits if the budget allows it.
func Pause(ctx context.Context, clock Clock, d time.Duration) error {
	b := budgetOf(ctx)
	if d >= b.remaining() {
		return errBudget
	}
	b.spend(d)
	return clock.Sleep(ctx, d)
}

// laterError requests a retry, after a time if the service asked for one.
type laterError struct{ wait time.Duration }

func (*laterError) Error() string { return "the service asks to try again" }

// Retry calls do until it returns nil or a permanent error, at most tries times and within the
// budget. The waits start at first, double each time, and are at least as long as the error asks
// for. They are randomized, so that jobs that failed together do not retry together.
func Retry(ctx context.Context, clock Clock, first time.Duration, tries uint64, do func() error) error {
	w := &waits{left: budgetOf(ctx), BackOff: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(first*4/5), backoff.WithRandomizationFactor(0.25), backoff.WithMultiplier(2), backoff.WithMaxElapsedTime(0))}
	ask := func() error {
		err := do()
		w.asked = RetryWait(err)
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

// Jittered returns a random duration between three quarters of d and d.
func Jittered(d time.Duration) time.Duration { return d - rand.N(d/4+1) }

// PollsAfterLoss are the waits before each poll after a creation with a lost reply. A list may lag
// by seconds, so one immediate poll proves nothing.
var PollsAfterLoss = []time.Duration{3 * time.Second, 6 * time.Second}

// createTries is the number of attempts of a creation whose replies are lost or server errors.
const createTries = 4

// CreateOnce creates something once, as far as the service can tell. After a lost reply it polls for the
// object and creates it again only if it is missing. unsure reports that a second one may exist,
// hidden by a list that lags longer.
func CreateOnce[T any](ctx context.Context, clock Clock, create func() (T, error), find func() (T, bool)) (made T, unsure bool, err error) {
	for try := 1; ; try++ {
		made, err = create()
		if err == nil || !Uncertain(err) || try == createTries || ctx.Err() != nil {
			return made, unsure, err
		}
		for _, wait := range PollsAfterLoss {
			if Pause(ctx, clock, max(Jittered(wait), RetryWait(err))) != nil {
				return made, true, err
			}
			if found, ok := find(); ok {
				return found, unsure, nil
			}
		}
		unsure = true
	}
}

// Settled lists until the list shows the last write, and with it all earlier ones: a list that lags
// shows objects in order. It gives up after a few polls.
func Settled[T any](ctx context.Context, clock Clock, list func() (all []T, shown bool, err error)) ([]T, error) {
	var all []T
	err := Retry(ctx, clock, 2*time.Second, 5, func() error {
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
