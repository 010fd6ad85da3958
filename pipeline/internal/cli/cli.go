// Package cli implements the command line: commands, flags and exit codes. It builds the registry of kinds and passes
// it on. The packages that it calls implement the commands.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/secret"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

func width(f *os.File) func() int {
	return func() int {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
		return 0
	}
}

// Exit codes. 2 is never used deliberately, because a crashed Go program exits with it.
const (
	exitOK             = 0
	exitRegression     = 1
	exitUsage          = 3
	exitInfrastructure = 4
	exitUndecided      = 5
	exitInterrupt      = 130
	exitTerminate      = 143
)

// Streams holds a command's inputs, outputs and environment.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Log is Err for output that contains GitHub workflow commands. Its writers must escape such commands in foreign
	// text themselves. In a GitHub job, Out and Err escape them in everything.
	Log     io.Writer
	Environ func() []string
	Getenv  func(string) string
	// Width and OutWidth return the width of the terminal behind Err and Out; 0 if it is not a terminal.
	Width, OutWidth func() int
}

// pipe is an output whose reader may close, as in `pipeline run | head -1`. Measuring and judging continue, and
// further output is discarded.
type pipe struct {
	w      io.Writer
	closed bool
}

// open returns an output that survives the end of its reader. Without a handler for SIGPIPE the runtime would end the
// program at the first write. Unlike an ignored signal, a handler is not inherited by the servers.
func open(w io.Writer) *pipe {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return &pipe{w: w}
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.closed {
		return len(b), nil
	}
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.closed = true
		return len(b), nil
	}
	return n, err
}

// System returns the process's own streams, and prepares the process for one command.
func System() Streams {
	deferCollection(os.Getenv)
	log := open(os.Stderr)
	environ := os.Environ()
	withhold(environ)
	return Streams{
		In: os.Stdin, Out: guarded(os.Stdout, open(os.Stdout)), Err: guarded(os.Stderr, log), Log: log,
		Environ: func() []string { return slices.Clone(environ) }, Getenv: spawn.Getenv(environ),
		Width: width(os.Stderr), OutWidth: width(os.Stdout),
	}
}

// guarded escapes the runner's commands in w, the writer to f, if it is the log of a GitHub job: any text may come
// from a server, a file or a pull request. Output to a regular file is data and stays unchanged.
func guarded(f *os.File, w io.Writer) io.Writer {
	info, err := f.Stat()
	if os.Getenv("GITHUB_ACTIONS") != "true" || err == nil && info.Mode().IsRegular() {
		return w
	}
	return escape.NewLogWriter(w)
}

// exitError carries an exit code. A nil err means that all messages were already printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exit ends a command with a code and, if err is not nil, a message.
func exit(code int, err error) error {
	if code == exitOK && err == nil {
		return nil
	}
	return &exitError{code, err}
}

// Main runs one command and returns the exit code.
func Main(args []string, s Streams) int {
	app := newApp(s)
	app.redact.Learn(secret.InArguments(args)...)
	root := app.root()
	root.SetArgs(args)
	code := app.exitCode(root.ExecuteContext(context.Background()))
	for _, w := range app.writers {
		_ = w.Close() // output that cannot be written is lost
	}
	return code
}

// newApp returns an app that masks the environment's secrets in all output. Main adds the secrets of the arguments.
func newApp(s Streams) *app {
	redact := event.NewRedactor(nil)
	a := &app{Streams: s, servers: standardServers(), datasets: dataset.All(), arrivals: load.AllArrivals(),
		connectors: kv.Connectors(), places: allPlaces(), publishers: allPublishers(),
		formats: reports.AllFormats(), tests: gates.StandardTests(), tools: convert.StandardTools(),
		redact: redact, verbatim: s.Out}
	redact.Spare(sync.OnceValue(a.vocabulary))
	redact.Learn(secret.FromEnviron(s.Environ())...)
	for _, w := range []*io.Writer{&a.Out, &a.Err, &a.Log} {
		if *w == nil {
			continue
		}
		writer := redact.LineWriter(*w)
		a.writers, *w = append(a.writers, writer), writer
	}
	return a
}

// shown escapes an error for a terminal, because it may quote a server, a file or a program.
func shown(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = escape.Line(lines[i], 0)
	}
	return strings.Join(lines, "\n")
}

// exitCode prints the rest of an error and converts it to an exit code.
func (a *app) exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	e, ok := errors.AsType[*exitError](err)
	if !ok {
		// Errors from cobra itself are wrong flags or arguments. Errors from the system, such as a full disk behind
		// standard output, are not.
		e = &exitError{exitUsage, err}
		if _, refused := errors.AsType[*fs.PathError](err); refused {
			e.code = exitInfrastructure
		}
	}
	if e.err != nil {
		fmt.Fprintf(a.Err, "pipeline: %s\n", shown(e.err))
	}
	return e.code
}

type app struct {
	Streams
	// formats are the output formats of results.
	formats reports.Formats
	// servers are the kinds of servers.
	servers []server
	// datasets are the kinds of datasets.
	datasets dataset.Kinds
	// arrivals are the load models.
	arrivals load.Arrivals
	// connectors are the KV connectors between servers.
	connectors kv.Table
	// places are the kinds of places where processes run, in the order of lookup.
	places []place.Kind
	// tests are the significance tests that gates can name.
	tests gates.Tests
	// tools are the tools whose results can be read.
	tools convert.Tools
	// origin returns the flags from which a line of a file comes that a command wrote, nil for files of people.
	origin func(line string) string
	// redact masks secrets of the environment and of each file read.
	redact  *event.Redactor
	writers []*event.Writer
	// verbatim is Out without masks, for output made of a user's file.
	verbatim io.Writer
	noColor  bool
	// publishers are the kinds of services where verdicts are published.
	publishers []publisher
	// here is the publisher of the job, nil until first used.
	here publish.Publisher
	// job is the change that the job is about, nil until first read.
	job *publish.Change
	// transport sends requests to publishers; nil means http.DefaultTransport.
	transport http.RoundTripper
	// runProgram runs programs of publishers; nil means as processes.
	runProgram func(context.Context, publish.Program) (string, error)
}

// interrupt is the cause of a context that was cancelled by a signal.
type interrupt struct{ signal os.Signal }

func (i interrupt) Error() string {
	number, _ := i.signal.(syscall.Signal)
	return "interrupted by " + unix.SignalName(number)
}

// exitCode returns the exit code of a run ended by the signal.
func (i interrupt) exitCode() int {
	if i.signal != os.Interrupt {
		return exitTerminate
	}
	return exitInterrupt
}

// interruptible wraps a command so that SIGINT, SIGTERM and SIGHUP (a closed terminal) cancel its context with cause
// interrupt. Commands that start nothing are not wrapped; they end at once. A second signal has no effect, because
// stopping is bounded in time and must not be cut short.
func interruptible(do func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancelCause(cmd.Context())
		defer cancel(nil)
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer signal.Stop(signals)
		go func() {
			select {
			case s := <-signals:
				cancel(interrupt{s})
			case <-ctx.Done():
			}
		}()
		return do(ctx, args)
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "pipeline",
		Short: "Performance-regression gate for LLM inference servers",
		Long: "pipeline launches the servers that an HCL file declares, measures a matrix of benchmarks on them,\nand decides by " +
			"significance tests whether one side is slower than the other.",
		Version:       Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("pipeline {{.Version}}\n") // as the version command prints it
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetIn(a.In)
	root.PersistentFlags().BoolVar(&a.noColor, "no-color", false, "never use colours (also: NO_COLOR)")
	for _, g := range a.commandGroups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID(programGroup)
	root.SetCompletionCommandGroupID(programGroup)
	a.fitHelp(root)
	withUsage(root)
	return root
}

// color reports whether standard error may use colours.
func (a *app) color() bool { return a.colorful() && a.Width() > 0 }

// outColor reports whether standard output may use colours.
func (a *app) outColor() bool { return a.colorful() && a.OutWidth() > 0 }

func (a *app) colorful() bool {
	return !a.noColor && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// ownPath returns the path of this program, for starting itself.
func ownPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program's own path: %w", err)
	}
	return self, nil
}
