package steps

import "errors"

// ErrNoReset says that an engine cannot clear the server's caches: the server has no
// endpoint for it, or was started without what enables it. A run then starts with the
// caches as they are, which the result must say.
var ErrNoReset = errors.New("the server cannot clear its caches")

// ErrWrongModel says that a server answers and lists its models, but not the one that
// was asked for. Waiting does not help.
var ErrWrongModel = errors.New("the server does not serve the model")

// ErrUnsupported says that a block is understood and checked but that nothing can carry
// it out yet. It is a fault of the file, not of the machine: wrapped by [Unsupported].
var ErrUnsupported = errors.New("not supported yet")

// UnsupportedError names the block that cannot be carried out and what it would need.
// errors.Is(err, ErrUnsupported) holds.
type UnsupportedError struct {
	// Addr of the block, for example server.vllm.sut, or "" if not known.
	Addr string
	// Reason is one sentence without a final stop: what running it would need.
	Reason string
}

// Unsupported returns an [UnsupportedError].
func Unsupported(addr, reason string) error {
	return &UnsupportedError{Addr: addr, Reason: reason}
}

// Error says the address, if there is one, and the reason.
func (e *UnsupportedError) Error() string {
	if e.Addr == "" {
		return e.Reason
	}
	return e.Addr + ": " + e.Reason
}

// Is reports whether target is ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }
