package transfer

import (
	"context"
	"sync"
	"time"
)

// store holds the KV of complete prompts by key until it is fetched.
type store struct {
	mu      sync.Mutex
	entries map[string]*entry
	// changed is closed and replaced whenever an entry is added or removed.
	changed chan struct{}
}

type entry struct {
	tokens int
	since  time.Duration
	// request of the engine that holds the blocks.
	request int
}

func newStore() *store {
	return &store{entries: make(map[string]*entry), changed: make(chan struct{})}
}

func (s *store) put(key string, e entry) (replaced *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.entries[key]; old != nil {
		replaced = old
	}
	s.entries[key] = &e
	s.signal()
	return replaced
}

func (s *store) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// take removes an entry and returns it; with wait it waits for one until ctx ends.
func (s *store) take(ctx context.Context, key string, wait bool) (entry, bool) {
	for {
		s.mu.Lock()
		e, changed := s.entries[key], s.changed
		if e != nil {
			delete(s.entries, key)
			s.signal()
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

// expire removes and returns the entries that are older than the given time.
func (s *store) expire(before time.Duration) []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []entry
	for key, e := range s.entries {
		if e.since < before {
			gone = append(gone, *e)
			delete(s.entries, key)
		}
	}
	if gone != nil {
		s.signal()
	}
	return gone
}
