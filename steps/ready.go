package steps

import "time"

// RefusedError is an answer that does not change with time: the server runs, but it lacks the path, does not
// accept the key, cannot read the request, answers in another form, or has a certificate that is not trusted.
type RefusedError struct {
	Err error
	// Ours reports that this machine cannot speak with the server: it does not trust its certificate, or lacks its protocol.
	Ours bool
}

// Error returns the text of the server's answer.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the answer's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// StatePreparing is the state of a server before its start, while its launcher gets what it needs, such as
// its image.
const StatePreparing = "preparing"

// The states of a server on its way from start to ready, as [Engine].Ready returns them,
// in their order. Each includes the ones before it.
const (
	StateStarting  = "starting"  // the address does not answer yet
	StateListening = "listening" // the port accepts connections
	StateHealthy   = "healthy"   // the engine's health endpoint returns 200
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
	// DefaultAttachTimeout is the timeout for a server that is expected to run already.
	DefaultAttachTimeout = time.Minute
	DefaultStopGrace     = 30 * time.Second
)

// WithDefaults replaces zero fields by their defaults, except Path: its default depends on the engine.
func (r Readiness) WithDefaults() Readiness {
	if r.Timeout <= 0 {
		r.Timeout = DefaultReadyTimeout
	}
	if r.Interval <= 0 {
		r.Interval = DefaultReadyInterval
	}
	return r
}

// Readiness returns how long and how often to poll the server. The timeout of a server with a URL is shorter,
// because it runs already.
func (s ServerSpec) Readiness() Readiness {
	r := s.Ready
	if s.URL != "" && r.Timeout <= 0 {
		r.Timeout = DefaultAttachTimeout
	}
	return r.WithDefaults()
}
