package github

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// The time that GitHub gets. A gate that has its verdict does not hold a GPU for the sake of
// a comment, and an API that hangs must not hold a job.
const (
	startPatience   = 30 * time.Second
	checkPatience   = 60 * time.Second
	statusPatience  = 30 * time.Second
	commentPatience = 90 * time.Second
	// MaxFinish is the longest that Finish takes.
	MaxFinish      = checkPatience + statusPatience + commentPatience
	issuesPatience = 5 * time.Minute
	// callPatience is that of a request which is part of nothing larger.
	callPatience = 3 * time.Minute
)

// errPatience says that the time for GitHub is used up.
var errPatience = errors.New("GitHub took longer than it is waited for")

// patience is the time that one purpose may take of GitHub: requests and the waits between
// them together. It is counted by the injected clock, so that it holds in virtual time.
type patience struct {
	mu   sync.Mutex
	left time.Duration
}

type patienceKey struct{}

// within bounds what is asked of GitHub under the context.
func within(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, &patience{left: d})
}

func patienceOf(ctx context.Context) *patience {
	if p, ok := ctx.Value(patienceKey{}).(*patience); ok {
		return p
	}
	return &patience{left: callPatience}
}

func (p *patience) remaining() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

func (p *patience) spend(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left -= max(d, 0)
}

// pause waits if the time allows it.
func pause(ctx context.Context, clock Clock, d time.Duration) error {
	p := patienceOf(ctx)
	if d >= p.remaining() {
		return errPatience
	}
	p.spend(d)
	return clock.Sleep(ctx, d)
}

// jittered is between three quarters of d and d: jobs that failed together do not come back
// together.
func jittered(d time.Duration) time.Duration {
	return d - rand.N(d/4+1)
}

// The looks after a creation whose reply was lost. A list may lag behind what was written by
// seconds, so that one look at once proves nothing.
var looksAfterLoss = []time.Duration{3 * time.Second, 6 * time.Second}

// createTries is how often something is created whose replies are lost or faults.
const createTries = 4

// createOnce creates something at most once as far as GitHub can be asked: after a reply
// that was lost it waits, looks whether the thing is there, and only then creates it again.
// unsure reports that a second one may exist all the same, which a list hides that lags
// for longer.
func createOnce[T any](ctx context.Context, clock Clock, create func() (T, error), find func() (T, bool)) (made T, unsure bool, err error) {
	for try := 1; ; try++ {
		made, err = create()
		if err == nil || !uncertain(err) || try == createTries || ctx.Err() != nil {
			return made, unsure, err
		}
		for _, wait := range looksAfterLoss {
			wait = max(jittered(wait), retryWait(err))
			if pause(ctx, clock, wait) != nil {
				return made, true, err
			}
			if found, ok := find(); ok {
				return found, unsure, nil
			}
		}
		unsure = true
	}
}

// settled lists until the list shows what was written last, and with it whatever was written
// before: a list that lags shows things in their order. It gives up after a few looks.
func settled[T any](ctx context.Context, clock Clock, list func() ([]T, bool, error)) ([]T, error) {
	for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second} {
		all, shown, err := list()
		if err != nil || shown {
			return all, err
		}
		if err := pause(ctx, clock, jittered(wait)); err != nil {
			return all, err
		}
	}
	all, _, err := list()
	return all, err
}
