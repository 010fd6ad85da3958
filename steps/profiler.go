package steps

import (
	"context"
	"time"
)

// Profiler profiles servers while they serve. An [Engine] implements it by its built-in profiler or by one
// outside of the server.
type Profiler interface {
	// Profiled returns spec changed such that the server can be profiled and writes its traces to dir, a path
	// as the server sees it. version is the engine's version, if known. Measured servers are started without
	// these changes.
	Profiled(spec ServerSpec, dir, version string) (ServerSpec, error)
	// Profile has a server profile itself for a while. stop ends that, before the time is over if necessary,
	// and returns when the traces are written.
	Profile(ctx context.Context, ep Endpoint, w ProfileWindow) (stop func(context.Context) (Profiled, error), err error)
}

// ProfileWindow is when a server is profiled.
type ProfileWindow struct {
	// Dir is the folder of the traces, as the server finds it.
	Dir string
	// Delay is the time from now until the profiler starts, and Window how long it is on.
	Delay, Window time.Duration
}

// Profiled describes a finished profile of a server.
type Profiled struct {
	Time time.Duration
	// Tokens that the server generated in that time, nil if it does not count them.
	Tokens *float64
}
