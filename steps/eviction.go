package steps

// EvictionError says how a place for servers was lost, or why there is none.
type EvictionError struct {
	// Class is one word for machines, such as "node_lost".
	Class string
	// Reason is one sentence without a final stop.
	Reason string
}

// Error says the reason with its class.
func (e *EvictionError) Error() string { return e.Reason + " (" + e.Class + ")" }
