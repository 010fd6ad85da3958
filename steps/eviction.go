package steps

// EvictionError reports how a place for servers was lost, or why none was granted.
type EvictionError struct {
	// Class is one word for machines, such as "node_lost".
	Class string
	// Reason is one sentence without a final stop.
	Reason string
}

// Error returns the reason with its class.
func (e *EvictionError) Error() string { return e.Reason + " (" + e.Class + ")" }
