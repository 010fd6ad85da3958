package steps

import (
	"context"
	"time"
)

// Profiler profiles servers while they serve: an [Engine] that starts and stops its own profiler,
// or one that works from outside of the server.
type Profiler interface {
	// Profiled is the spec of a server that can be profiled and leaves its traces in a folder, as
	// the server finds it. version is the engine's as far as it is known. It is nothing that a
	// measured server is started with.
	Profiled(spec ServerSpec, dir, version string) (ServerSpec, error)
	// Profile has a server profile itself for a while. stop ends that, at once if the time is not
	// over, and returns when the traces are written.
	Profile(ctx context.Context, ep Endpoint, w ProfileWindow) (stop func(context.Context) (Profiled, error), err error)
}

// ProfileWindow is when a server is profiled.
type ProfileWindow struct {
	// Dir is the folder of the traces, as the server finds it.
	Dir string
	// Delay is the time from now until the profiler starts, and Window how long it is on.
	Delay, Window time.Duration
}

// Profiled is what was profiled of a server.
type Profiled struct {
	Time time.Duration
	// Tokens that the server put out in that time, nil where it does not count them.
	Tokens *float64
}
