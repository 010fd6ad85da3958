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
	// Version of the engine that the flags are meant for, "" if not stated.
	Version string

	// Exactly one of Image, Executable and URL says where the server comes from.
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
	// Folder is where the relative paths of the server start, "" for the pipeline file's folder. The server of a change
	// has the change's own folder, where the file before the change judges.
	Folder string `json:"-"`
	// Under are the words of a program that starts the server in place of the launcher, before
	// its command line: a profiler. The server then runs in a group of its own.
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
	// Caches that are kept between launches.
	Caches []Cache
	// Simulate holds the simulate block, used only with --simulate.
	Simulate map[string]any
}

// From returns the folder where the relative paths of the server start, given the pipeline file's folder.
func (s ServerSpec) From(dir string) string { return cmp.Or(s.Folder, dir) }

// ModelFolder returns the folder that the server would find its model in on this machine, given the pipeline file's
// folder.
func (s ServerSpec) ModelFolder(dir string) string { return s.Path(dir, s.Model) }

// Path returns where the server would find a path that it is given on this machine, given the pipeline file's folder:
// below its working directory, or below what its container mounts.
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

// fromFolder makes a path that starts at a folder one that is found from here.
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

// Readiness says when a server counts as ready.
type Readiness struct {
	Path     string        // "" means the engine's own
	Timeout  time.Duration // from start to ready
	Interval time.Duration // between polls
	// NoCanary leaves the completion out that is asked for last: half of a prefill/decode
	// pair cannot answer one alone. It then counts as ready when its model is listed.
	NoCanary bool
}

// Process is what an engine rendered and a launcher runs. It names no engine.
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
	// Apart says that the server does not run in the group of the program that starts it, and may
	// be there for a while when that has ended: for the grace at most.
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

// Endpoint is how to talk to a running server.
type Endpoint struct {
	BaseURL string
	Model   string
	Headers map[string]string // for example Authorization; values are secrets
}

// Engine renders servers of one kind and knows their protocol.
type Engine interface {
	// Name is the kind's name.
	Name() string
	// Render turns a spec into a process that will listen on host:port.
	Render(spec ServerSpec, host string, port Port) (Process, error)
	// Ready polls once and says which state the server is in. It returns true when the
	// server can serve; the error says why it cannot yet.
	Ready(ctx context.Context, ep Endpoint, r Readiness) (state string, ready bool, err error)
	// Reset clears caches between runs, as far as the engine can; ErrNoReset says that it cannot.
	Reset(ctx context.Context, ep Endpoint) error
	// Describe asks the server for its version, resolved arguments and the like, as far as it reports them.
	Describe(ctx context.Context, ep Endpoint) (map[string]string, error)
	// Classify finds the cause of a failure in the last log lines. Class is "unknown" if none matches.
	Classify(logTail []string) (class, evidence string)
	// Endpoints lists the workload endpoints it can serve ("completions", "chat",
	// "generate", "embeddings", "rerank").
	Endpoints() []string
	// Capabilities returns what else it can do.
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
	Name() string
	// Start starts p; its output goes to log from the first byte. It returns once the
	// process runs (not when it is ready). ctx bounds the start only.
	Start(ctx context.Context, p Process, log io.Writer) (Server, error)
	// Capabilities returns what else it can do.
	Capabilities() LauncherCapabilities
}

// Server is a process that a launcher started.
type Server interface {
	BaseURL() string
	// Done is closed when the process has ended by itself or was stopped.
	Done() <-chan struct{}
	// ExitState says how it ended ("exit status 1", "killed"); valid once Done is closed.
	ExitState() string
	// Stop sends the stop signal, waits for the grace, kills, and waits until the
	// process (and its group) is gone. It is safe to call more than once.
	Stop(ctx context.Context) error
	// Capabilities returns what else it can be asked.
	Capabilities() ServerCapabilities
}

// Spawner is the one way to start an operating system process. The program hands one
// to launchers and steps; it holds the environment's policy.
type Spawner interface {
	// Spawn starts c. ctx bounds the start only; a child is ended by Signal.
	Spawn(ctx context.Context, c Command) (Child, error)
}

// Command to spawn. Env is complete apart from what the spawner's policy adds.
type Command struct {
	Argv   []string
	Env    []EnvVar
	Dir    string
	Stdout io.Writer
	Stderr io.Writer
}

// Child is a spawned process in a group of its own.
type Child interface {
	PID() int
	// Done is closed when the process has ended, every other process of its group is
	// gone, and all output was written.
	Done() <-chan struct{}
	// Wait blocks until Done and returns how it ended; nil for exit status 0.
	Wait() error
	// Signal the whole group by name: "TERM", "INT", "KILL". It is no error if the group
	// is gone already.
	Signal(name string) error
	// Capabilities returns what else it can be asked.
	Capabilities() ChildCapabilities
}
