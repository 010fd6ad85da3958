package offline

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// script runs a program that writes a file in a new folder, and prints the lines of the file behind a mark when the program
// has succeeded. Each line is one write, because processes that the program leaves may still print: vLLM's do. The program
// is in the background, because a shell answers a signal only once its foreground program has ended.
const script = `d=$(dirname "$1"); f=$1 m=$2; shift 2; mkdir -m 700 "$d" || exit 1; trap 'kill -TERM $p 2>/dev/null' TERM; "$@" & p=$!; ` +
	`wait $p; s=$?; while kill -0 $p 2>/dev/null; do wait $p; s=$?; done; ` +
	`if [ $s = 0 ] && [ -f "$f" ]; then while IFS= read -r l || [ -n "$l" ]; do printf '%s:%s\n' "$m" "$l"; done <"$f"; ` +
	`echo "$m end"; fi; rm -rf "$d"; exit $s`

const (
	// hurry is the grace of a program that is stopped because its run has ended early.
	hurry = 4 * time.Second
	// maxWritten limits the file that is read, in bytes.
	maxWritten = 16 << 20
)

// errNothingWritten reports a program that succeeded without its file.
var errNothingWritten = errors.New("the program succeeded without writing driver.output")

// launcher prepares programs, which each run starts.
type launcher struct{ steps.Launcher }

// Start implements steps.Launcher. It starts nothing.
func (l launcher) Start(_ context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	return &prepared{launcher: l.Launcher, process: p, log: log, done: make(chan struct{})}, nil
}

// prepared is a program that is ready to be started.
type prepared struct {
	launcher steps.Launcher
	process  steps.Process
	log      io.Writer

	mu      sync.Mutex
	last    steps.Server // of the current or last run, nil before the first
	paused  string       // why the last run was paused
	stopped bool
	done    chan struct{}
}

// BaseURL implements steps.Server. Nothing answers there.
func (s *prepared) BaseURL() string {
	return fmt.Sprintf("http://%s:%d", s.process.Host, s.process.Port)
}

// Done implements steps.Server. Only Stop closes it, because the target outlives each run of its program.
func (s *prepared) Done() <-chan struct{} { return s.done }

// ExitState implements steps.Server.
func (s *prepared) ExitState() string {
	if last := s.current(); last != nil {
		return last.ExitState()
	}
	return "not started"
}

// Stop implements steps.Server.
func (s *prepared) Stop(ctx context.Context) error {
	last := s.current()
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.done)
	}
	s.mu.Unlock()
	if last == nil {
		return nil
	}
	return last.Stop(ctx)
}

// Capabilities implements steps.Server, by the process of the current or last run.
func (s *prepared) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{
		Run: s.run,
		Evicted: func(ctx context.Context) error {
			if evicted := s.capabilities().Evicted; evicted != nil {
				return evicted(ctx)
			}
			return nil
		},
		Starved: func(ctx context.Context) string {
			if starved := s.capabilities().Starved; starved != nil {
				return starved(ctx)
			}
			return ""
		},
		WatchPauses: func(context.Context) func(context.Context) (string, error) {
			return func(context.Context) (string, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				paused := s.paused
				s.paused = ""
				return paused, nil
			}
		},
	}
}

func (s *prepared) current() steps.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *prepared) capabilities() steps.ServerCapabilities {
	if last := s.current(); last != nil {
		return last.Capabilities()
	}
	return steps.ServerCapabilities{}
}

// run implements steps.ServerCapabilities.Run.
func (s *prepared) run(ctx context.Context, words []string, output string) ([]byte, error) {
	p := s.process
	i := slices.Index(p.Argv, Words)
	if i < 0 {
		return nil, fmt.Errorf("%s: its command line lacks %s", p.Name, Words)
	}
	p.Argv = slices.Concat(p.Argv[:i], words, p.Argv[i+1:])
	if program := s.launcher.Capabilities().Program; program != nil {
		written, err := program(ctx, p, s.log)
		return written, failed(err)
	}
	mark := "pipeline-" + rand.Text() // a word that no program prints
	p.Argv = append([]string{"sh", "-c", script, "sh", output, mark}, p.Argv...)
	out := &collector{next: s.log, mark: mark}
	running, err := s.launcher.Start(ctx, p, out)
	if err != nil {
		return nil, failed(err)
	}
	s.mu.Lock()
	s.last = running
	s.mu.Unlock()
	if err := s.await(ctx, running); err != nil {
		return nil, failed(err)
	}
	return out.result()
}

// await waits for the end of a program and stops it. It returns an error unless the program has succeeded.
func (s *prepared) await(ctx context.Context, running steps.Server) error {
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	paused := func(context.Context) (string, error) { return "", nil }
	if watch := running.Capabilities().WatchPauses; watch != nil {
		paused = watch(watching)
	}
	var failure error
	select {
	case <-running.Done():
		if state := running.ExitState(); state != "exit status 0" {
			failure = fmt.Errorf("it ended with %s", state)
		}
	case <-ctx.Done():
		failure = context.Cause(ctx)
	}
	text, err := paused(watching)
	if err != nil {
		text = ""
	}
	s.mu.Lock()
	s.paused = text
	s.mu.Unlock()
	stopping, cancel := context.WithTimeout(watching, hurry)
	defer cancel()
	return errors.Join(failure, running.Stop(stopping))
}

// failed returns the error of a program, nil for none.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &steps.ProgramError{Err: err}
}

// collector writes the output of a program to its log and keeps it from the first mark on.
type collector struct {
	next io.Writer
	mark string

	mu      sync.Mutex
	begun   bool
	written []byte // from the first mark on; before it, the end of the output
}

// Write implements io.Writer.
func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.written = append(c.written, p[:min(len(p), max(0, maxWritten-len(c.written)))]...)
	if !c.begun {
		i := bytes.Index(c.written, []byte(c.mark))
		c.begun = i >= 0
		if !c.begun {
			i = max(0, len(c.written)-len(c.mark))
		}
		c.written = c.written[i:]
	}
	c.mu.Unlock()
	return c.next.Write(p)
}

// result returns the file whose lines stand behind the mark. Lines without it are of other processes.
func (c *collector) result() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		return nil, errNothingWritten
	}
	var out []byte
	for line := range bytes.Lines(c.written) {
		_, of, marked := bytes.Cut(line, []byte(c.mark))
		switch {
		case marked && bytes.HasPrefix(of, []byte(":")):
			out = append(out, of[1:]...)
		case marked && bytes.Equal(bytes.TrimSpace(of), []byte("end")):
			return out, nil
		}
	}
	return nil, fmt.Errorf("the program's file is incomplete in its log, or larger than %d MiB", maxWritten>>20)
}
