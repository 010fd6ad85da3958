// Package cli is the command line: commands, flags and exit codes. It builds the
// registry of kinds and hands it down; what the commands do lives in the packages they
// call.
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

// Exit codes. 2 is never used on purpose, because a crashed Go program exits with it.
const (
	exitOK             = 0
	exitRegression     = 1
	exitUsage          = 3
	exitInfrastructure = 4
	exitUndecided      = 5
	exitInterrupt      = 130
	exitTerminate      = 143
)

// Streams is the outside world of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Log is Err for what commands a GitHub runner by what it prints, and breaks the
	// commands in what it prints of others itself. In all that goes to Out and Err of a
	// GitHub job they are broken.
	Log     io.Writer
	Environ func() []string
	Getenv  func(string) string
	// Width of the terminal behind Err, and of the one behind Out; 0 if it is none.
	Width, OutWidth func() int
}

// pipe is an output whose reader may go away, as in `pipeline run | head -1`. What is
// measured and decided goes on, and nothing more is written.
type pipe struct {
	w      io.Writer
	closed bool
}

// open returns an output that outlives its reader. Without a handler for SIGPIPE the
// runtime would end the program at the first write; a handler, unlike an ignored signal,
// is not inherited by the servers.
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

// System is the process's own streams.
func System() Streams {
	log := open(os.Stderr)
	environ := os.Environ()
	withhold(environ)
	return Streams{
		In: os.Stdin, Out: guarded(os.Stdout, open(os.Stdout)), Err: guarded(os.Stderr, log), Log: log,
		Environ: func() []string { return slices.Clone(environ) }, Getenv: spawn.Getenv(environ),
		Width: width(os.Stderr), OutWidth: width(os.Stdout),
	}
}

// guarded breaks the runner's commands in what w, which is f, writes into the log of a
// GitHub job: any text may come from a server, a file or a pull request. What goes to a
// file is data, and stays as it is.
func guarded(f *os.File, w io.Writer) io.Writer {
	info, err := f.Stat()
	if os.Getenv("GITHUB_ACTIONS") != "true" || err == nil && info.Mode().IsRegular() {
		return w
	}
	return escape.NewLogWriter(w)
}

// exitError carries an exit code. An empty err means that everything has been said.
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
	for _, arg := range args {
		app.redact.Learn(secret.Within(arg)...)
	}
	root := app.root()
	root.SetArgs(args)
	code := app.exitCode(root.ExecuteContext(context.Background()))
	for _, w := range app.doors {
		_ = w.Close() // what it cannot write any more is lost
	}
	return code
}

// newApp masks the secrets of the environment in all that a command prints, to which Main adds those of its arguments.
func newApp(s Streams) *app {
	redact := event.NewRedactor(secret.FromEnviron(s.Environ()))
	a := &app{Streams: s, servers: standardServers(), datasets: dataset.All(), arrivals: load.AllArrivals(),
		connectors: kv.Connectors(), places: allPlaces(), publishers: allPublishers(),
		formats: reports.AllFormats(), tests: gates.StandardTests(), tools: convert.StandardTools(),
		redact: redact, verbatim: s.Out}
	for _, w := range []*io.Writer{&a.Out, &a.Err, &a.Log} {
		if *w == nil {
			continue
		}
		door := redact.LineWriter(*w)
		a.doors, *w = append(a.doors, door), door
	}
	return a
}

// shown is an error as a terminal may get it: it can quote a server, a file or a program.
func shown(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = escape.Line(lines[i], 0)
	}
	return strings.Join(lines, "\n")
}

// exitCode says what is left to say of an error, and turns it into a code.
func (a *app) exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	e, ok := errors.AsType[*exitError](err)
	if !ok {
		// Whatever cobra itself complains about is a wrong use of flags or arguments; what
		// the system refused, such as a full disk behind standard output, is not.
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
	// formats that results are written in.
	formats reports.Formats
	// servers are the kinds of servers.
	servers []server
	// datasets are the kinds of datasets.
	datasets dataset.Kinds
	// arrivals are the load models.
	arrivals load.Arrivals
	// connectors are those of KV caches between servers.
	connectors kv.Table
	// places that processes run in, in the order in which they are asked.
	places []place.Kind
	// tests of significance that gates can name.
	tests gates.Tests
	// tools whose results are read.
	tools convert.Tools
	// redact masks secrets: those of the environment, and of each file that is read.
	redact *event.Redactor
	doors  []*event.Writer
	// verbatim is Out without masks, for what a user's file becomes.
	verbatim io.Writer
	noColor  bool
	// publishers are the kinds of places where verdicts are published.
	publishers []publisher
	// published is the publisher of the job, nil until it is asked for.
	published publish.Publisher
	// job is the change that the job is about, nil until it is read.
	job *publish.Change
	// transport carries requests to publishers; nil means http.DefaultTransport.
	transport http.RoundTripper
}

// interrupt is the cause of a context that a signal ended.
type interrupt struct{ signal os.Signal }

func (i interrupt) Error() string {
	number, _ := i.signal.(syscall.Signal)
	return "interrupted by " + unix.SignalName(number)
}

// exitCode of a run that the signal ended.
func (i interrupt) exitCode() int {
	if i.signal != os.Interrupt {
		return exitTerminate
	}
	return exitInterrupt
}

// interruptible wraps what a command does so that SIGINT, SIGTERM and SIGHUP (a terminal
// that was closed) end its context with cause interrupt. Commands that start nothing are not wrapped: they simply end. A second
// signal does nothing more: stopping is bounded in time anyway, and must not be cut short.
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
	root.AddCommand(
		a.runCommand(), a.planCommand(), a.validateCommand(), a.fmtCommand(), a.schemaCommand(),
		a.loadCommand(), a.gateCommand(), a.compareCommand(), a.importCommand(), a.reportCommand(), a.versionCommand(), a.simulateCommand(),
		a.recordCommand(), a.actionCommand(),
		a.cleanupCommand(), a.commentCommand(), a.initCommand(), a.doctorCommand(), a.routerCommand(),
		a.baselineCommand(), a.historyCommand(), a.acceptCommand(), a.calibrateCommand(), a.selftestCommand(), a.bisectCommand(),
		mockServerCommand(), a.loadWorkerCommand(), a.podWorkerCommand(),
	)
	withUsage(root)
	return root
}

// color reports whether what goes to standard error may use colours.
func (a *app) color() bool { return a.colorful() && a.Width() > 0 }

// outColor says the same of standard output.
func (a *app) outColor() bool { return a.colorful() && a.OutWidth() > 0 }

func (a *app) colorful() bool {
	return !a.noColor && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// ownPath is the path of this program, which starts itself.
func ownPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program's own path: %w", err)
	}
	return self, nil
}
