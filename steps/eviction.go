package steps

import "context"

// Evictable is a [Child] whose place can be taken from it: its node fails, or its job is
// cancelled. That is not its fault and says nothing about it.
type Evictable interface {
	// Evicted returns an *EvictionError if the child has lost its place, nil if it has it
	// still or it is not known.
	Evicted(ctx context.Context) error
}

// EvictionError says how a place for servers was lost, or why there is none.
type EvictionError struct {
	// Class is one word for machines, such as "node_lost".
	Class string
	// Reason is one sentence without a final stop.
	Reason string
}

// Error says the reason with its class.
func (e *EvictionError) Error() string { return e.Reason + " (" + e.Class + ")" }
