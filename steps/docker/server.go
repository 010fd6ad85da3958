package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

	// cancel ends all watching.
	cancel context.CancelFunc
	done   chan struct{}
	state  string // valid once done is closed

	stop steps.StopOnce
}

var _ steps.Server = (*Server)(nil)

// watch follows the log and the end of a started container.
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

// BaseURL returns the address at which the server will answer.
func (s *Server) BaseURL() string { return "http://" + s.launcher.hostPort(s.process.Port) }

// Done returns a channel that is closed when the container has ended and its log is complete.
func (s *Server) Done() <-chan struct{} { return s.done }

// ExitState describes how it ended, "running" if it has not.
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

// Describe returns its image, for the record of a launch.
func (s *Server) Describe() map[string]string {
	about := map[string]string{"container.image": s.image.Ref, "container.image_id": s.image.ID}
	if s.image.Digest != "" {
		about["container.image_digest"] = s.image.Digest
	}
	return about
}

// await waits for the end of the container and returns how it ended. It retries for a while if the daemon does
// not answer, because containers can survive a restart of the daemon.
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
		_ = steps.Sleep(ctx, pause) // the loop checks ctx
		silence += pause
	}
}

// exitState inspects the container, because the wait response does not report out-of-memory kills or start
// failures.
func (s *Server) exitState(ctx context.Context) string {
	c, err := s.launcher.daemon.pool.Client.InspectContainerWithContext(s.id, ctx)
	if err != nil {
		return fmt.Sprintf("unknown: %v", err)
	}
	return describeExit(c.State)
}

// Starved describes an out-of-memory kill in the container, which may still run. It returns "" for none.
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

// Stop sends the stop signal, waits for the grace period, kills, removes the container and waits until the port
// is free. If ctx ends first, Stop kills at once and still removes the container. Later calls wait for the
// first and return its result.
func (s *Server) Stop(ctx context.Context) error {
	return s.stop.Do(s.process.Name, func() error { return s.end(ctx) })
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

// askToEnd sends the stop signal and waits for the grace period. If the signal fails, the following kill
// reports the error.
func (s *Server) askToEnd(ctx context.Context) {
	signal, grace := s.process.Stopping()
	if s.signal(signal) == nil {
		s.within(ctx, grace)
	}
}

// kill kills a container that the stop signal did not end.
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

// requestWait is the timeout of requests that the daemon answers at once.
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

// awaitPort waits until the port is free.
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
