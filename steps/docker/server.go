package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	dc "github.com/ory/dockertest/v3/docker"
	"github.com/servegate/pipeline/steps"
)

// Server is a running container.
type Server struct {
	launcher *Launcher
	process  steps.Process
	image    Image
	id       string
	log      *logStream

	// cancel ends the watching for good.
	cancel context.CancelFunc
	done   chan struct{}
	state  string // valid once done is closed

	stop    sync.Once
	stopErr error
}

var _ steps.Server = (*Server)(nil)

// watch follows a started container: its log, and its end.
func (l *Launcher) watch(p steps.Process, image Image, id string, log io.Writer) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		launcher: l, process: p, image: image, id: id, cancel: cancel, done: make(chan struct{}),
		log: newLogStream(l, id, log),
	}
	go func() {
		defer close(s.done)
		s.log.start(ctx)
		s.state = s.await(ctx)
		s.log.finish(ctx)
	}()
	return s
}

// BaseURL is where it will answer.
func (s *Server) BaseURL() string { return "http://" + s.launcher.hostPort(s.process.Port) }

// Done is closed when the container has ended and its log is complete.
func (s *Server) Done() <-chan struct{} { return s.done }

// ExitState says how it ended, "running" while it has not.
func (s *Server) ExitState() string {
	if !s.ended() {
		return "running"
	}
	return s.state
}

// Capabilities implements steps.Server.
func (s *Server) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{Describe: s.Describe, WatchPauses: s.WatchPauses, Starved: s.Starved, Fetch: s.Fetch, Exec: s.Exec}
}

// Describe says which image it runs, for the record of a launch.
func (s *Server) Describe() map[string]string {
	about := map[string]string{"container.image": s.image.Ref, "container.image_id": s.image.ID}
	if s.image.Digest != "" {
		about["container.image_digest"] = s.image.Digest
	}
	return about
}

// await returns how the container ended. A daemon that restarts is asked again for a
// while: containers can outlive it.
func (s *Server) await(ctx context.Context) string {
	silence := time.Duration(0)
	for {
		_, err := s.launcher.daemon.pool.Client.WaitContainerWithContext(s.id, ctx)
		if err == nil {
			return s.exitState(ctx)
		}
		if status(err) == http.StatusNotFound {
			return "removed by someone else"
		}
		if ctx.Err() != nil {
			return "unknown: it could not be stopped"
		}
		if silence >= s.launcher.opt.Lost {
			return fmt.Sprintf("unknown: the Docker daemon does not answer: %v", err)
		}
		if s.launcher.daemon.ping(ctx) == nil {
			silence = 0
		}
		pause := min(time.Second, s.launcher.opt.Lost)
		_ = steps.Sleep(ctx, pause) // its end shows above
		silence += pause
	}
}

// exitState reads the end from the container itself: the answer to wait knows neither
// the kernel's killing nor a failure to start.
func (s *Server) exitState(ctx context.Context) string {
	c, err := s.launcher.daemon.pool.Client.InspectContainerWithContext(s.id, ctx)
	if err != nil {
		return fmt.Sprintf("unknown: %v", err)
	}
	return describeExit(c.State)
}

// Starved returns what was killed, by what the daemon says of the container, which need not have ended.
func (s *Server) Starved(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	c, err := s.launcher.daemon.pool.Client.InspectContainerWithContext(s.id, ctx)
	switch {
	case err != nil || !c.State.OOMKilled:
		return ""
	case c.HostConfig == nil || c.HostConfig.Memory <= 0:
		return "a process of the container was killed by the kernel because there was no memory left; the container has no limit of its own"
	}
	return fmt.Sprintf("a process was killed by the memory limit of its container (%.1f GiB)", float64(c.HostConfig.Memory)/(1<<30))
}

func describeExit(state dc.State) string {
	text := fmt.Sprintf("exit status %d", state.ExitCode)
	if n := state.ExitCode - 128; n > 0 && n < 32 {
		text += fmt.Sprintf(" (signal: %s)", syscall.Signal(n))
	}
	if state.OOMKilled {
		text += ", out of memory: killed by the kernel"
	}
	if state.Error != "" {
		text += ": " + state.Error
	}
	return text
}

// Stop asks the container to end, waits for the grace, kills, and waits until it is
// removed and the port is free. When ctx ends first, the kill comes at once: ctx shortens
// the grace and never leaves a container behind. Later calls wait for the first and
// return its result.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		if err := s.end(ctx); err != nil {
			s.stopErr = fmt.Errorf("%s: %w", s.process.Name, err)
		}
	})
	return s.stopErr
}

func (s *Server) end(ctx context.Context) error {
	defer func() { s.cancel(); <-s.done }()
	if !s.ended() {
		s.askToEnd(ctx)
	}
	killErr := s.kill()
	removeErr := s.remove()
	if removeErr != nil {
		return errors.Join(killErr, removeErr)
	}
	return errors.Join(s.log.failure(), s.awaitPort(ctx))
}

// askToEnd sends the stop signal and waits for the grace. An error of the signal leads to
// the kill, which reports it if it matters.
func (s *Server) askToEnd(ctx context.Context) {
	signal, grace := s.process.Stopping()
	if s.signal(signal) == nil {
		s.within(ctx, grace)
	}
}

// kill ends what the signal did not.
func (s *Server) kill() error {
	if s.ended() {
		return nil
	}
	if err := s.signal("KILL"); err != nil && status(err) != http.StatusNotFound && status(err) != http.StatusConflict {
		return fmt.Errorf("killing the container: %w", err)
	}
	if !s.within(context.Background(), s.launcher.opt.KillWait) {
		return fmt.Errorf("container %s is still there %s after the kill; it hangs in the kernel, look at its GPU and disk", s.id,
			s.launcher.opt.KillWait)
	}
	return nil
}

func (s *Server) signal(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestWait)
	defer cancel()
	return s.launcher.daemon.ask(ctx, http.MethodPost, "/containers/"+s.id+"/kill", url.Values{"signal": {"SIG" + name}}, nil, nil)
}

// requestWait bounds requests that the daemon answers at once.
const requestWait = 10 * time.Second

func (s *Server) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeWait)
	defer cancel()
	return s.launcher.daemon.remove(ctx, s.id, s.launcher.opt.Poll)
}

func (s *Server) ended() bool { return steps.Ended(s.done) }

// within reports whether the container ended within d and before ctx.
func (s *Server) within(ctx context.Context, d time.Duration) bool {
	return steps.EndedWithin(ctx, s.done, d)
}

// awaitPort returns when the port is no longer in use.
func (s *Server) awaitPort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.launcher.opt.PortWait)
	defer cancel()
	free := func() bool {
		taken, err := s.launcher.listening(ctx, s.process.Port)
		return !taken || err != nil
	}
	if !steps.Poll(ctx, s.launcher.opt.Poll, free) {
		return fmt.Errorf("the container is gone, but %s is still in use by another program", s.launcher.hostPort(s.process.Port))
	}
	return nil
}
