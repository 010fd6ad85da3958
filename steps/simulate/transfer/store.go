package transfer

import (
	"context"
	"sync"
	"time"
)

// store holds the KV of complete prompts under their keys until it is fetched.
type store struct {
	mu      sync.Mutex
	entries map[string]*entry
	// changed is closed and replaced whenever an entry comes or goes.
	changed chan struct{}
	tokens  int
}

type entry struct {
	tokens int
	since  time.Duration
	// request of the engine that holds the blocks, -1 if none does.
	request int
}

func newStore() *store {
	return &store{entries: make(map[string]*entry), changed: make(chan struct{})}
}

func (s *store) put(key string, e entry) (replaced *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.entries[key]; old != nil {
		s.tokens -= old.tokens
		replaced = old
	}
	s.entries[key] = &e
	s.tokens += e.tokens
	s.signal()
	return replaced
}

func (s *store) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// take returns an entry and, unless keep is set, removes it; with wait it waits for one
// until ctx ends.
func (s *store) take(ctx context.Context, key string, wait, keep bool) (entry, bool) {
	for {
		s.mu.Lock()
		e, changed := s.entries[key], s.changed
		if e != nil {
			if !keep {
				delete(s.entries, key)
				s.tokens -= e.tokens
				s.signal()
			}
			s.mu.Unlock()
			return *e, true
		}
		s.mu.Unlock()
		if !wait {
			return entry{}, false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return entry{}, false
		}
	}
}

// waitRoom waits until at most limit tokens are held, 0 for no limit, or ctx ends. It is
// false if there was room at once.
func (s *store) waitRoom(ctx context.Context, limit int) (waited bool) {
	for limit > 0 {
		s.mu.Lock()
		full, changed := s.tokens > limit, s.changed
		s.mu.Unlock()
		if !full {
			break
		}
		waited = true
		select {
		case <-changed:
		case <-ctx.Done():
			return waited
		}
	}
	return waited
}

// expire removes entries that were not fetched since the given time and returns them.
func (s *store) expire(before time.Duration) []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []entry
	for key, e := range s.entries {
		if e.since < before {
			gone = append(gone, *e)
			delete(s.entries, key)
			s.tokens -= e.tokens
		}
	}
	if gone != nil {
		s.signal()
	}
	return gone
}

// trim drops the oldest entries until at most limit are left.
func (s *store) trim(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.entries) > limit {
		oldest := ""
		for key, e := range s.entries {
			if oldest == "" || e.since < s.entries[oldest].since {
				oldest = key
			}
		}
		s.tokens -= s.entries[oldest].tokens
		delete(s.entries, oldest)
	}
}
