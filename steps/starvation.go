package steps

import "context"

// Starvable is a [Server] that can tell whether the kernel has killed processes of it for want of memory: an
// engine says only that one of its workers is gone, and the worker says nothing.
type Starvable interface {
	// Starved says what was killed since the start and by which limit, in a sentence without a final stop; ""
	// for nothing. It is asked before the server is stopped.
	Starved(ctx context.Context) string
}
