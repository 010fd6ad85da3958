package load

// LostError reports that the process of a load generator did not start or was lost. Its measurements are lost
// too, and the cause is not known to be the server.
type LostError struct{ Err error }

// Error describes the loss, with the cause.
func (e *LostError) Error() string {
	return "the load generator was lost: " + e.Err.Error() + " (" + string(CauseLost) + ")"
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }
