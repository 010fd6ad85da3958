package steps

import "time"

// RefusedError is an answer that more patience does not change: the server runs, and it
// has no such path, does not know the key, or cannot read the request.
type RefusedError struct{ Err error }

// Error is what the server said.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the answer's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// StatePreparing is the state of a server before its start, while its launcher gets what
// it needs, such as its image.
const StatePreparing = "preparing"

// The states of a server on its way from start to ready, as [Engine].Ready returns them,
// in their order. Each includes the ones before it.
const (
	StateStarting  = "starting"  // nothing answers at the address yet
	StateListening = "listening" // the port accepts connections
	StateHealthy   = "healthy"   // the engine's health endpoint says 200
	StateModels    = "models"    // the model is listed
	StateReady     = "ready"     // one short completion came back with a token
)

// The states of a server that stays loaded while others are measured.
const (
	StateAsleep = "asleep"
	StateAwake  = "awake"
)

// Defaults of arguments of a server block. An evaluated [ServerSpec] that leaves them at
// zero means these.
const (
	DefaultReadyTimeout  = 10 * time.Minute
	DefaultReadyInterval = time.Second
	// DefaultAttachTimeout is that of a server which is said to run already.
	DefaultAttachTimeout = time.Minute
	DefaultStopGrace     = 30 * time.Second
)

// WithDefaults fills what was left at zero; Path stays as it is, the engine knows its own.
func (r Readiness) WithDefaults() Readiness {
	if r.Timeout <= 0 {
		r.Timeout = DefaultReadyTimeout
	}
	if r.Interval <= 0 {
		r.Interval = DefaultReadyInterval
	}
	return r
}

// Readiness returns how long and how often to look at the server: one that is given by its
// address is there already, and not waited for as one that loads a model.
func (s ServerSpec) Readiness() Readiness {
	r := s.Ready
	if s.URL != "" && r.Timeout <= 0 {
		r.Timeout = DefaultAttachTimeout
	}
	return r.WithDefaults()
}
