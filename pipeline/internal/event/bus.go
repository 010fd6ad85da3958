package event

import (
	"sync"
	"time"
)

// Handler gets every event of a bus, in order. It must not emit.
type Handler interface {
	Handle(Event)
}

// Bus numbers and stamps events and hands each to every handler, in the order in which
// they were attached. It is safe for concurrent use: handlers see one event at a time.
type Bus struct {
	now func() time.Time

	mu       sync.Mutex
	seq      int
	handlers []Handler
}

// NewBus returns a bus whose events carry the times of now. The first event has the
// number after+1; a resumed run continues the count of its journal.
func NewBus(now func() time.Time, after int, handlers ...Handler) *Bus {
	return &Bus{now: now, seq: after, handlers: handlers}
}

// Attach adds a handler behind those that are there. It sees later events only.
func (b *Bus) Attach(h Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handlers = append(b.handlers, h)
}

// Start emits the first event of a stream: the version.
func (b *Bus) Start(program, runID string) {
	b.Emit(Event{Type: Version, Schema: Schema, Program: program, RunID: runID})
}

// Emit numbers and stamps e and hands it on. It returns when every handler is done with
// it, so an event that a journal syncs is on the disk then, unless Err says otherwise.
func (b *Bus) Emit(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	e.Seq, e.Time = b.seq, b.now()
	for _, h := range b.handlers {
		h.Handle(e)
	}
}

// Err returns the first error of the first handler that has one (an Err method that
// returns it). A run whose journal cannot be written must not go on.
func (b *Bus) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.handlers {
		if f, ok := h.(interface{ Err() error }); ok {
			if err := f.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}
