package steps

import "errors"

// ErrNoReset reports that an engine cannot clear the server's caches: the server has no endpoint for it, or
// was started without the option that enables it. A run then starts with warm caches, and the result must
// record that.
var ErrNoReset = errors.New("the server cannot clear its caches")

// ErrWrongModel reports that a server answers and lists its models, but without the requested one. Waiting
// does not help.
var ErrWrongModel = errors.New("the server does not serve the model")

// ProgramError reports that the program of a target did not do its work: it could not be started, failed, or did
// not end in time. That is a failure of the target.
type ProgramError struct{ Err error }

// Error returns the cause.
func (e *ProgramError) Error() string { return "the program of the target: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ProgramError) Unwrap() error { return e.Err }

// ErrUnsupported reports that a block is valid but not implemented. The fault is in the file, not in the
// machine. [Unsupported] wraps it.
var ErrUnsupported = errors.New("not supported yet")

// UnsupportedError names a block that is not implemented and what it would need. errors.Is(err,
// ErrUnsupported) holds.
type UnsupportedError struct {
	// Addr of the block, for example server.vllm.sut, or "" if not known.
	Addr string
	// Reason is one sentence without a final stop: what the block would need to run.
	Reason string
}

// Unsupported returns an [UnsupportedError].
func Unsupported(addr, reason string) error {
	return &UnsupportedError{Addr: addr, Reason: reason}
}

// Error returns the address, if there is one, and the reason.
func (e *UnsupportedError) Error() string {
	if e.Addr == "" {
		return e.Reason
	}
	return e.Addr + ": " + e.Reason
}

// Is reports whether target is ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }
