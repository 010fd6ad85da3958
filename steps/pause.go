package steps

import "context"

// Pausable is a [Server] that somebody else can pause and continue while it serves: its job is
// suspended, its cgroup is frozen, its process is stopped. What is measured meanwhile says
// nothing about it.
type Pausable interface {
	// WatchPauses starts to look for pauses, until ctx ends. The function that it returns says
	// how the server was paused since its previous call, or since the start; "" means that no
	// pause was seen. An error means that this is not known; the next call then covers that
	// time as well.
	WatchPauses(ctx context.Context) (paused func(context.Context) (string, error))
}

// Freezable is a [Child] that can tell whether somebody else holds up its processes.
type Freezable interface {
	// Frozen returns a function that says which of the processes that belong to the child now
	// is stopped or frozen at the time of its call; "" means none.
	Frozen() (look func() string)
}
