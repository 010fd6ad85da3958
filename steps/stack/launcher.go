package stack

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/secret"
)

const (
	// commandTimeout limits down, and lookTimeout a command that only looks.
	commandTimeout = 10 * time.Minute
	lookTimeout    = 30 * time.Second
	// grace is the time between the request to end and the kill of a command.
	grace = 5 * time.Second
	// logsWait limits the time that down waits for the first output of logs, since a tool may need seconds to find the stack.
	logsWait = 10 * time.Second
	// maxOutputs limits the file that up writes, maxReason the words of lost.
	maxOutputs = 64 << 10
	maxReason  = 300
)

// Options configure a launcher.
type Options struct {
	Spawner steps.Spawner
	Journal Journal
	// Owner identifies this program, and RunID its run.
	Owner, RunID string
	// Dir is the folder in which commands run, unless the server has its own.
	Dir string
}

// launcher runs the commands of one server.
type launcher struct {
	spec steps.ServerSpec
	opt  Options
}

// NewLauncher returns the launcher of a server.
func NewLauncher(spec steps.ServerSpec, opt Options) steps.Launcher { return launcher{spec, opt} }

// Capabilities implements steps.Launcher.
func (launcher) Capabilities() steps.LauncherCapabilities { return steps.LauncherCapabilities{} }

// Start renders what up applies, records the launch, runs up to its end and reads its outputs. If up fails, logs and down run
// before Start returns.
func (l launcher) Start(ctx context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	id, err := newID()
	if err != nil {
		return nil, err
	}
	r := &running{launcher: l, id: id, log: log, done: make(chan struct{}), dir: l.spec.Path(l.opt.Dir, ".")}
	record := Record{ID: id, RunID: l.opt.RunID, Server: l.spec.Addr, Owner: l.opt.Owner, Down: l.spec.Stack.Down, Dir: r.dir}
	for _, e := range l.spec.Env {
		if e.Secret || len(secret.Values(e.Name, e.Value)) > 0 { // also a password within an address
			record.Secrets = append(record.Secrets, e.Name)
		} else {
			record.Env = append(record.Env, e.Name+"="+e.Value)
		}
	}
	if r.applied, err = r.render(ctx); err != nil {
		return nil, err
	}
	if err := l.opt.Journal.Add(record); err != nil {
		return nil, err
	}
	failed := r.up(ctx, p.Argv)
	if ctx.Err() == nil {
		r.followLogs(ctx)
	}
	if failed != nil {
		return nil, errors.Join(fmt.Errorf("up: %w", failed), r.Stop(context.WithoutCancel(ctx)))
	}
	return r, nil
}

func newID() (string, error) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return "pipeline-" + hex.EncodeToString(b[:]), nil
}

// running is a stack that up has started.
type running struct {
	launcher
	id      string
	dir     string
	log     io.Writer
	outputs map[string]string
	applied *steps.Applied
	follow  steps.Child // of logs, nil without
	// logged is closed once logs has printed something.
	logged chan struct{}

	mu   sync.Mutex
	down bool
	done chan struct{}
}

// command returns a command of the stack.
func (r *running) command(argv []string, out io.Writer, env ...steps.EnvVar) steps.Command {
	return steps.Command{
		Argv: argv, Dir: r.dir, Stdout: out, Stderr: out,
		Env: append(append([]steps.EnvVar{}, r.spec.Env...), append(env, steps.EnvVar{Name: IDVar, Value: r.id})...),
	}
}

// run runs a command to its end.
func (r *running) run(ctx context.Context, c steps.Command, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the command took longer than %s", limit))
	defer cancel()
	child, err := r.opt.Spawner.Spawn(ctx, c)
	if err != nil {
		return fmt.Errorf("%w: %w", steps.ErrNotStarted, err)
	}
	return steps.AwaitChild(ctx, child, grace)
}

func (r *running) up(ctx context.Context, argv []string) error {
	file, err := r.opt.Journal.createOutputs(r.id)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file) }() // if that fails, it goes with the record
	c := r.command(argv, r.log, steps.EnvVar{Name: steps.OutputVar, Value: file})
	if err := r.run(ctx, c, r.spec.Ready.WithDefaults().Timeout); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r.outputs, err = readOutputs(text)
	return err
}

var (
	outputName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	outputURL  = lazyregexp.New(`^https?://[^\s?#@]+$`)
)

// readOutputs parses lines of NAME=VALUE, of which one is the url.
func readOutputs(text []byte) (map[string]string, error) {
	if len(text) > maxOutputs {
		return nil, fmt.Errorf("the outputs are longer than %d bytes", maxOutputs)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !outputName.MatchString(name) {
			return nil, fmt.Errorf("the output %.60q must have the form NAME=VALUE", line)
		}
		out[name] = value
	}
	if !outputURL.MatchString(out["url"]) {
		return nil, fmt.Errorf("it must write url=http://HOST:PORT to the file in %s; its url is %q", steps.OutputVar, out["url"])
	}
	return out, nil
}

// followLogs starts the command that prints the log.
func (r *running) followLogs(ctx context.Context) {
	if len(r.spec.Stack.Logs) == 0 {
		return
	}
	out := &notifier{to: r.log, written: make(chan struct{})}
	child, err := r.opt.Spawner.Spawn(ctx, r.command(r.spec.Stack.Logs, out))
	if err != nil {
		fmt.Fprintf(r.log, "logs: %v\n", err)
		return
	}
	r.follow, r.logged = child, out.written
}

// notifier closes written at the first Write.
type notifier struct {
	to      io.Writer
	once    sync.Once
	written chan struct{}
}

// Write forwards p.
func (n *notifier) Write(p []byte) (int, error) {
	defer n.once.Do(func() { close(n.written) })
	return n.to.Write(p)
}

// awaitLogs waits until logs has printed something or has ended, so that down does not remove a log before it is read.
func (r *running) awaitLogs(ctx context.Context) {
	if r.follow == nil {
		return
	}
	t := time.NewTimer(logsWait)
	defer t.Stop()
	select {
	case <-r.logged:
	case <-r.follow.Done():
	case <-t.C:
	case <-ctx.Done():
	}
}

// BaseURL returns the url that up wrote.
func (r *running) BaseURL() string { return strings.TrimRight(r.outputs["url"], "/") }

// Done is closed once down has succeeded: a stack does not report that it ends by itself.
func (r *running) Done() <-chan struct{} { return r.done }

// ExitState returns "removed".
func (r *running) ExitState() string { return "removed" }

// Stop runs down once the log has begun. If it fails, the record stays and the next call, or cleanup, tries again.
func (r *running) Stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil
	}
	r.awaitLogs(ctx)
	if err := r.run(ctx, r.command(r.spec.Stack.Down, r.log), commandTimeout); err != nil {
		return fmt.Errorf("down of %s, which pipeline cleanup repeats: %w", r.id, err)
	}
	if r.follow != nil {
		_ = r.follow.Signal("TERM") // it may have ended with the stack
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		_ = steps.AwaitChild(ctx, r.follow, grace)
	}
	r.down = true
	close(r.done)
	return r.opt.Journal.Remove(r.id)
}

// Capabilities implements steps.Server: the outputs are facts of the launch.
func (r *running) Capabilities() steps.ServerCapabilities {
	c := steps.ServerCapabilities{Applied: r.applied, Describe: func() map[string]string {
		facts := map[string]string{}
		if r.applied != nil {
			facts["stack.applied"] = r.applied.Digest
		}
		for name, value := range r.outputs {
			if name != "url" {
				facts["stack."+name] = value
			}
		}
		return facts
	}}
	if len(r.spec.Stack.Lost) > 0 {
		c.Evicted = r.evicted
	}
	return c
}

// evicted runs lost, and returns its words if it fails. A command that cannot be started says nothing of the place: as a
// loss it would excuse every failure of the server.
func (r *running) evicted(ctx context.Context) error {
	var out bytes.Buffer
	err := r.run(ctx, r.command(r.spec.Stack.Lost, &out), lookTimeout)
	if errors.Is(err, steps.ErrNotStarted) {
		fmt.Fprintf(r.log, "lost: %v\n", err)
		return nil
	}
	if err == nil {
		return nil
	}
	reason := steps.Line(strings.TrimSpace(out.String()), maxReason)
	if reason == "" {
		reason = "its command lost failed and printed nothing"
	}
	return &steps.EvictionError{Class: steps.EvictionStackLost, Reason: reason}
}

// Clean runs the down of records that pick selects, and returns those that it removed. It takes secrets from getenv.
func (j Journal) Clean(ctx context.Context, spawner steps.Spawner, log io.Writer, getenv func(name string) string,
	pick func(Record) bool) ([]Record, error) {
	all, err := j.Records()
	var cleaned []Record
	errs := []error{err}
	for _, record := range all {
		if !pick(record) {
			continue
		}
		spec := steps.ServerSpec{Addr: record.Server, Stack: &steps.StackSpec{Down: record.Down}}
		for _, word := range record.Env {
			name, value, _ := strings.Cut(word, "=")
			spec.Env = append(spec.Env, steps.EnvVar{Name: name, Value: value})
		}
		for _, name := range record.Secrets {
			if value := getenv(name); value != "" {
				spec.Env = append(spec.Env, steps.EnvVar{Name: name, Value: value, Secret: true})
			} else {
				fmt.Fprintf(log, "down of %s lacks %s: the record of a stack has no secrets; set it in the environment\n", record.ID, name)
			}
		}
		r := &running{launcher: launcher{spec, Options{Spawner: spawner, Journal: j}}, id: record.ID, dir: record.Dir, log: log,
			done: make(chan struct{})}
		if err := r.Stop(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		cleaned = append(cleaned, record)
	}
	return cleaned, errors.Join(errs...)
}
