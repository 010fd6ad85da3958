package simulate

import (
	"context"
	"sync"
	"time"
)

// pauses sum up the time in which an engine stands: a connector before V1 serializes
// tensors in the engine's own process, whose interpreter runs one thread at a time.
type pauses struct {
	mu     sync.Mutex
	sum    time.Duration // of those that are over
	since  time.Duration
	active int
	over   chan struct{} // closed when the last active one is over
}

func (p *pauses) begin(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active++; p.active == 1 {
		p.since, p.over = now, make(chan struct{})
	}
}

func (p *pauses) end(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active--; p.active == 0 {
		p.sum += now - p.since
		close(p.over)
	}
}

// total of all pauses until now.
func (p *pauses) total(now time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active > 0 {
		return p.sum + now - p.since
	}
	return p.sum
}

// wait until no transfer goes on; false if none did.
func (p *pauses) wait(ctx context.Context) bool {
	p.mu.Lock()
	active, over := p.active > 0, p.over
	p.mu.Unlock()
	if !active {
		return false
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	return true
}

// stepInProgress is the prefill server's step as transfers before V1 see it: once its
// kernels are queued, copies to the host go behind them.
type stepInProgress struct {
	mu    sync.Mutex
	start time.Duration
	done  chan struct{} // nil between steps
}

func (s *stepInProgress) begin(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.done = now, make(chan struct{})
}

func (s *stepInProgress) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.done)
	s.done = nil
}

// wait for a step that began at the given time or before.
func (s *stepInProgress) wait(ctx context.Context, before time.Duration) {
	s.mu.Lock()
	start, done := s.start, s.done
	s.mu.Unlock()
	if done == nil || start > before {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
