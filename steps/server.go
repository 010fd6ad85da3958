package steps

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ServerSpec is one server instance, completely evaluated, as an engine gets it.
type ServerSpec struct {
	// Addr is the server's address in the file, for example server.vllm.sut["base"].
	Addr string
	// Engine is the block's kind.
	Engine string
	// OwnProgram and OwnImages are the Program and Images of its kind.
	OwnProgram, OwnImages []string `json:"-"`
	// Version of the engine that the flags are written for, "" if not stated.
	Version string

	// Exactly one of Image, Executable and URL is set.
	Image      string
	Executable []string // argv prefix, for example ["vllm"] or ["python3", "-m", "sglang.launch_server"]
	URL        string

	Model string
	// ServedName is the model name that clients send; empty means Model.
	ServedName string
	GPUs       int
	// Args pass through unchanged as flags, in source order: enable_chunked_prefill → --enable-chunked-prefill.
	Args []Arg
	Env  []EnvVar
	// Port that was asked for; 0 means that the launcher chooses a free one.
	Port int
	// Dir is the working directory of a process, "" for the pipeline file's folder.
	Dir string
	// Folder is the base of the server's relative paths, "" for the pipeline file's folder. If the file
	// before a change judges, the server of the change uses the change's folder.
	Folder string `json:"-"`
	// Under holds the words of a program, a profiler, that precede the server's command line and start the
	// server in place of the launcher. The server then runs in a separate process group.
	Under []string `json:"-"`
	// Node that it runs on, from 0: of a Slurm job, or of the file's Docker hosts. Without
	// either it has no meaning.
	Node int
	// Nodes that it is spread over, from Node on; 0 and 1 mean one. GPUs counts all of them.
	Nodes int
	// Listen is the address to listen on, "" for the one that [ServerSpec.ListenHost] finds.
	Listen string
	// APIKey is sent as a bearer token by clients. It is a secret.
	APIKey string

	Ready Readiness
	// StopGrace is the time between SIGTERM and SIGKILL.
	StopGrace time.Duration
	// Container holds the container block of a server with an image; nil if there is none.
	// It is completed by NewContainer.
	Container *ContainerSpec
	// Stack holds the commands of a server that other tools start and remove; nil for all others.
	Stack *StackSpec `json:",omitempty"`
	// Caches that are kept between launches.
	Caches []Cache
	// Simulate holds the simulate block, used only with --simulate.
	Simulate map[string]any
}

// StackSpec holds the commands by which a server is started, removed and looked at.
type StackSpec struct {
	Up, Down           []string
	Render, Logs, Lost []string // nil if there is none
}

// Applied holds what another tool applied to start a server, as rendered by that tool and without secrets.
type Applied struct {
	Digest string
	Text   string
	// Cut is true if Text is only the beginning of what the digest covers.
	Cut bool
}

// From returns the folder where the relative paths of the server start, given the pipeline file's folder.
func (s ServerSpec) From(dir string) string { return cmp.Or(s.Folder, dir) }

// ModelFolder returns the folder that the server would find its model in on this machine, given the pipeline file's
// folder.
func (s ServerSpec) ModelFolder(dir string) string { return s.Path(dir, s.Model) }

// Path returns the server's path for a path on this machine, given the pipeline file's folder: below its
// working directory, or below a mount of its container.
func (s ServerSpec) Path(dir, path string) string {
	dir = s.From(dir)
	if s.Container != nil {
		inside := path
		if s.Container.Workdir != "" && !filepath.IsAbs(path) {
			inside = filepath.Join(s.Container.Workdir, path)
		}
		for _, m := range s.Container.Mounts {
			rest, ok := strings.CutPrefix(inside+"/", strings.TrimRight(m.Target, "/")+"/")
			if ok && m.Source != "" && filepath.IsAbs(inside) {
				return filepath.Join(fromFolder(dir, m.Source), rest)
			}
		}
	}
	return fromFolder(fromFolder(dir, s.Dir), path)
}

// fromFolder resolves path against dir.
func fromFolder(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Arg is one engine argument. Value is a string, bool, float64, int64, []any or
// map[string]any (objects are rendered as JSON); nil omits the flag.
type Arg struct {
	Name  string
	Value any
}

// EnvVar is one environment variable. Secret values never reach a log, an event or a report.
type EnvVar struct {
	Name, Value string
	Secret      bool
}

// Getenv finds a variable.
func Getenv(env []EnvVar, name string) (value string, ok bool) {
	i := slices.IndexFunc(env, func(e EnvVar) bool { return e.Name == name })
	if i < 0 {
		return "", false
	}
	return env[i].Value, true
}

// WithoutEnv returns an environment without some variables.
func WithoutEnv(env []EnvVar, names ...string) []EnvVar {
	return slices.DeleteFunc(slices.Clone(env), func(e EnvVar) bool { return slices.Contains(names, e.Name) })
}

// Readiness holds the conditions under which a server counts as ready.
type Readiness struct {
	Path     string        // "" means the engine's default
	Timeout  time.Duration // from start to ready
	Interval time.Duration // between polls
	// NoCanary omits the final test completion, which half of a prefill/decode pair cannot
	// answer alone. The server then counts as ready when its model is listed.
	NoCanary bool
}

// Process is a rendered process that a launcher runs. It does not depend on the engine.
type Process struct {
	Name string
	Argv []string
	Env  []EnvVar
	Dir  string
	// Host and Port that it will listen on.
	Host string
	Port int
	// StopSignal is "TERM" unless the engine wants another; then StopGrace, then KILL.
	StopSignal string
	StopGrace  time.Duration
	// Apart is true if the server runs outside the process group of the program that starts it. It may
	// outlive that program, for the grace at most.
	Apart bool
	// Container is the container to run it in, nil for a process of the machine. Dir is
	// then not used.
	Container *ContainerSpec
	// Files that it reads. The launcher writes them and sets their variables, which take
	// the place of those in Env.
	Files []File
}

// Stopping returns the signal that asks the process to end, without SIG, and the grace that
// follows it, with their defaults.
func (p Process) Stopping() (signal string, grace time.Duration) {
	signal, grace = "TERM", DefaultStopGrace
	if p.StopSignal != "" {
		signal = strings.TrimPrefix(p.StopSignal, "SIG")
	}
	if p.StopGrace > 0 {
		grace = p.StopGrace
	}
	return signal, grace
}

// Endpoint holds the address and credentials of a running server.
type Endpoint struct {
	BaseURL string
	Model   string
	Headers map[string]string // for example Authorization; values are secrets
}

// Engine renders servers of one kind and knows their protocol.
type Engine interface {
	// Render turns a spec into a process that will listen on host:port.
	Render(spec ServerSpec, host string, port Port) (Process, error)
	// Ready polls once and returns the server's state. It returns true when the server can serve; otherwise
	// the error is the reason.
	Ready(ctx context.Context, ep Endpoint, r Readiness) (state string, ready bool, err error)
	// Reset clears caches between runs, as far as the engine can. It returns ErrNoReset if the engine cannot.
	Reset(ctx context.Context, ep Endpoint) error
	// Describe asks the server for its version, resolved arguments and the like, as far as it reports them.
	Describe(ctx context.Context, ep Endpoint) (map[string]string, error)
	// Classify finds the cause of a failure in the last log lines. Class is "unknown" if none matches.
	Classify(logTail []string) (class, evidence string)
	// Endpoints lists the workload endpoints it can serve ("completions", "chat",
	// "generate", "embeddings", "rerank").
	Endpoints() []string
	// Capabilities returns the optional features.
	Capabilities() EngineCapabilities
}

// Observer is an [Engine] whose servers can be watched while they serve.
type Observer interface {
	// Observe scrapes the server's metrics.
	Observe(ctx context.Context, ep Endpoint) (Observation, error)
	// LogPoint reads the gauges of one log line; ok is false for lines without any.
	LogPoint(line string) (gauges map[string]float64, ok bool)
	// StartFacts reads the figures of a start from its log, see the Start constants.
	StartFacts(log []string) map[string]float64
}

// Launcher runs processes somewhere.
type Launcher interface {
	// Start starts p; its output goes to log from the first byte. It returns once the
	// process runs (not when it is ready). ctx bounds the start only.
	Start(ctx context.Context, p Process, log io.Writer) (Server, error)
	// Capabilities returns the optional features.
	Capabilities() LauncherCapabilities
}

// Server is a process that a launcher started.
type Server interface {
	BaseURL() string
	// Done is closed when the process has ended by itself or was stopped.
	Done() <-chan struct{}
	// ExitState returns how the process ended ("exit status 1", "killed"); valid once Done is closed.
	ExitState() string
	// Stop sends the stop signal, waits for the grace, kills, and waits until the
	// process (and its group) is gone. It is safe to call more than once.
	Stop(ctx context.Context) error
	// Capabilities returns the optional features.
	Capabilities() ServerCapabilities
}

// Spawner is the one way to start an operating system process. The program hands one
// to launchers and steps; it holds the environment's policy.
type Spawner interface {
	// Spawn starts c. ctx bounds the start only; a child is ended by Signal.
	Spawn(ctx context.Context, c Command) (Child, error)
}

// Command describes a process to spawn. Env is complete except for the variables of the spawner's policy.
type Command struct {
	Argv   []string
	Env    []EnvVar
	Dir    string
	Stdin  io.Reader // nil means an empty one
	Stdout io.Writer
	Stderr io.Writer
}

// Child is a spawned process in a separate process group.
type Child interface {
	PID() int
	// Done is closed when the process has ended, every other process of its group is
	// gone, and all output was written.
	Done() <-chan struct{}
	// Wait blocks until Done and returns how it ended; nil for exit status 0.
	Wait() error
	// Signal sends a signal to the whole group by name: "TERM", "INT", "KILL". It returns nil if the group
	// has already ended.
	Signal(name string) error
	// Capabilities returns the optional features.
	Capabilities() ChildCapabilities
}
