package load

// LostError is a load generator in a process of its own that did not come up or went away.
// What it had measured is gone with it, and nothing shows that the server did it.
type LostError struct{ Err error }

// Error says how, with the cause.
func (e *LostError) Error() string {
	return "the load generator was lost: " + e.Err.Error() + " (" + string(CauseLost) + ")"
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }
