package steps

import (
	"context"
	"io"
	"iter"
)

// EngineCapabilities holds the optional features of an [Engine]; nil marks an unsupported one.
type EngineCapabilities struct {
	Observer Observer
	Profiler Profiler
	Sleeper  Sleeper
	Spreader Spreader
	// Programs turns the launcher of a place into one whose servers have [ServerCapabilities.Run]. It is nil for
	// engines whose servers answer requests.
	Programs func(Launcher) Launcher
	// History yields the observations of a server's last run, if servers record them, as often as it is asked; it is nil
	// for a server without any. Such servers cannot be observed during a run because virtual time does not pass then.
	History func(ctx context.Context, ep Endpoint) iter.Seq[Observation]
	// MeasureOverhead starts to measure the latency that a router adds to answers. The returned function
	// stops the measurement and returns it in seconds, by the names of reports/result (AddedPerChunk and so
	// on); events that did not occur are absent.
	MeasureOverhead func(ctx context.Context, ep Endpoint) (end func(context.Context) (map[string]float64, error), err error)
}

// LauncherCapabilities holds the optional features of a [Launcher]; nil marks an unsupported one.
type LauncherCapabilities struct {
	// Prepare makes a process ready to start. It does the work that does not count as a server's start-up,
	// such as pulling its image. It can take long and be called more than once.
	Prepare func(ctx context.Context, p Process) error
	// Program runs a program to its end in a model of it and returns the file that it writes. It is nil for
	// launchers that start processes.
	Program func(ctx context.Context, p Process, log io.Writer) (written []byte, err error)
}

// ServerCapabilities holds the optional features of a running [Server]; nil marks an unsupported one.
type ServerCapabilities struct {
	// Describe returns facts about the started server, such as the digest of an image. Keys begin with the
	// launcher's prefix ("container.image"). Facts that differ from start to start are left out.
	Describe func() map[string]string
	// Applied holds what another tool applied to start the server; nil if unknown.
	Applied *Applied
	// WatchPauses watches for pauses until ctx ends: another party suspends the job, freezes the cgroup or
	// stops the server's process while it serves. Measurements during a pause are not valid. The returned
	// function describes the pauses since its previous call, or since the start; "" means none. An error
	// means that pauses could not be detected; the next call then covers that time as well.
	WatchPauses func(ctx context.Context) (paused func(context.Context) (string, error))
	// Evicted returns an *EvictionError if the server has lost its place: its node fails, or its job is cancelled. That is not
	// its fault. It returns nil if the server has its place still or it is not known.
	Evicted func(ctx context.Context) error
	// Starved returns which processes of the server the kernel has killed for lack of memory since the start,
	// and by which limit, in a sentence without a final stop; "" means none. An engine reports only that a
	// worker is gone. Starved must be called before the server is stopped.
	Starved func(ctx context.Context) string
	// Run starts the program of the target with words added to its command line, waits for its end and returns
	// the file that it wrote to the path output. A *[ProgramError] means that the program failed. When ctx ends,
	// Run stops the program. Run is nil for servers that answer requests.
	Run func(ctx context.Context, words []string, output string) (written []byte, err error)
	// Fetch copies the files of dir, a folder of a server on another machine, into a folder of this machine.
	Fetch func(ctx context.Context, dir, into string) error
	// Exec runs a short program beside the server, on its machine or in its container, to its end and returns
	// the beginning of its output. An error that wraps [ErrNotStarted] means that the program does not exist
	// there.
	Exec func(ctx context.Context, argv []string) (stdout, stderr string, err error)
}

// ChildCapabilities holds the optional features of a [Child]; nil marks an unsupported one.
type ChildCapabilities struct {
	// Frozen records the processes that belong to the child now. The function that it returns names the one
	// that is stopped or frozen at the time of its call; "" means none.
	Frozen func() (look func() string)
	// Evicted returns an *EvictionError if the child has lost its place, nil if it has it still or it is not known.
	Evicted func(ctx context.Context) error
}
