package steps

import "context"

// EngineCapabilities are what an [Engine] can do beyond what every engine does; nil stands for what it cannot.
type EngineCapabilities struct {
	Observer Observer
	Profiler Profiler
	Sleeper  Sleeper
	Spreader Spreader
	// History returns what a server was in the course of its last run, where servers keep that by themselves. They are not
	// observed meanwhile, because no time passes while a run is carried out.
	History func(ctx context.Context, ep Endpoint) []Observation
	// MeasureOverhead begins to measure what a router adds to the latencies of those that answer. The function that it returns
	// ends that and returns it in seconds, by the names of reports/result (AddedPerChunk and so on); what did not occur is
	// absent.
	MeasureOverhead func(ctx context.Context, ep Endpoint) (end func(context.Context) (map[string]float64, error), err error)
}

// LauncherCapabilities are what a [Launcher] can do beyond starting processes; nil stands for what it cannot.
type LauncherCapabilities struct {
	// Prepare makes a process ready to start: it does what is no part of a server's start-up, such as pulling its image. It
	// can take long and be called more than once.
	Prepare func(ctx context.Context, p Process) error
}

// ServerCapabilities are what a running [Server] can be asked beyond what every server can; nil stands for what it cannot.
type ServerCapabilities struct {
	// Describe returns what was started, such as the digest of an image. Keys begin with the launcher's own word
	// ("container.image"). What differs from start to start is left out.
	Describe func() map[string]string
	// WatchPauses starts to look for pauses, until ctx ends: somebody else suspends the job, freezes the cgroup or stops the
	// process of the server while it serves. What is measured meanwhile says nothing about it. The function that it returns
	// says how the server was paused since its previous call, or since the start; "" means that no pause was seen. An error
	// means that this is not known; the next call then covers that time as well.
	WatchPauses func(ctx context.Context) (paused func(context.Context) (string, error))
	// Evicted returns an *EvictionError if the server has lost its place: its node fails, or its job is cancelled. That is not
	// its fault. It returns nil if the server has its place still or it is not known.
	Evicted func(ctx context.Context) error
	// Starved returns what the kernel has killed of the server for want of memory since the start, and by which limit, in a
	// sentence without a final stop; "" for nothing. An engine says only that one of its workers is gone. It is asked before
	// the server is stopped.
	Starved func(ctx context.Context) string
	// Fetch copies the files of a folder of the server, which is not on this machine, into one of this machine.
	Fetch func(ctx context.Context, dir, into string) error
	// Exec runs a short program beside the server, on its machine or in its container, to its end and returns the beginning of
	// what it prints. An error that is [ErrNotStarted] means that the program is not there.
	Exec func(ctx context.Context, argv []string) (stdout, stderr string, err error)
}

// ChildCapabilities are what a [Child] can be asked beyond what every child can; nil stands for what it cannot.
type ChildCapabilities struct {
	// Frozen returns a function that says which of the processes that belong to the child now is stopped or frozen at the time
	// of its call; "" means none.
	Frozen func() (look func() string)
	// Evicted returns an *EvictionError if the child has lost its place, nil if it has it still or it is not known.
	Evicted func(ctx context.Context) error
}
