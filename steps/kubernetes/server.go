package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/servegate/pipeline/steps"
)

// Server is a running Pod.
type Server struct {
	run     *Run
	node    int
	process steps.Process
	image   string // its ID
	pod     *core.Pod
	held    string // its secret
	altered string // changes that the cluster made to its resources
	tunnel  *tunnel

	// asked reports whether we have asked the Pod to end.
	asked  atomic.Bool
	cancel context.CancelFunc
	done   chan struct{}
	state  string // valid once done is closed
	lost   error  // how its place was lost, where that is known; valid once done is closed

	stop steps.StopOnce
}

var _ steps.Server = (*Server)(nil)

// direct returns the server's address in the cluster: the node's, or the Pod's.
func (s *Server) direct() string {
	address := s.pod.Status.PodIP
	if s.pod.Spec.HostNetwork {
		address = s.pod.Status.HostIP
	}
	return hostPort(cmp.Or(address, s.run.nodes[s.node].Address), s.process.Port)
}

// reach opens a tunnel to a server that is not reached directly.
func (s *Server) reach(ctx context.Context) (err error) {
	if !s.run.throughTunnels() {
		return nil
	}
	s.tunnel, err = s.run.open(ctx, s.pod.Name, s.process.Port)
	if err == nil {
		s.run.remember(s.BaseURL(), "http://"+s.direct())
	}
	return err
}

// unreach closes the tunnel of a server that has ended. Until Stop the address still belongs to the server:
// another program may listen at it on the load node.
func (s *Server) unreach() {
	if s.tunnel != nil {
		s.tunnel.close()
	}
}

// BaseURL returns the server's URL.
func (s *Server) BaseURL() string {
	if s.tunnel != nil {
		return "http://" + s.tunnel.address
	}
	return "http://" + s.direct()
}

// Done is closed when the container has ended, or its Pod is gone, and its log is complete.
func (s *Server) Done() <-chan struct{} { return s.done }

// ExitState returns how the server ended, or "running".
func (s *Server) ExitState() string {
	if !steps.Ended(s.done) {
		return "running"
	}
	return s.state
}

// Capabilities implements steps.Server.
func (s *Server) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{Describe: s.Describe, Evicted: s.Evicted}
}

// Describe returns the image and its location.
func (s *Server) Describe() map[string]string {
	about := map[string]string{"kubernetes.image": s.process.Container.Image, "kubernetes.node": s.run.nodes[s.node].Name}
	if s.image != "" {
		about["kubernetes.image_id"] = s.image
	}
	if s.altered != "" {
		about["kubernetes.altered_resources"] = s.altered
	}
	return about
}

// watch follows the Pod: its log, and its end.
func (s *Server) watch(log io.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	logs := &follower{run: s.run, pod: s.pod.Name, to: log}
	go func() {
		defer close(s.done)
		defer s.unreach()
		reading, giveUp := context.WithCancel(ctx)
		defer giveUp()
		ended, read := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(read)
			logs.follow(reading, ended)
		}()
		s.state, s.lost = s.await(ctx)
		close(ended)
		if !steps.EndedWithin(ctx, read, logWait) { // a node that is lost never ends its streams
			giveUp()
		}
		<-read
	}()
}

// logWait bounds the wait for the end of the log of a container that has ended.
const logWait = 10 * time.Second

// await returns how the container ended.
func (s *Server) await(ctx context.Context) (state string, lostBy error) {
	var taken error // cause of its removal, which the Pod reports before it is gone
	heard := time.Now()
	for {
		pod, err := s.run.get(ctx, s.pod.Name)
		if err == nil && taken == nil {
			taken = s.loss(pod)
		}
		switch {
		case apierrors.IsNotFound(err) && s.asked.Load():
			return "stopped", nil
		case apierrors.IsNotFound(err) && taken != nil:
			return "its Pod was taken away", taken
		case apierrors.IsNotFound(err):
			return "its Pod was deleted", s.run.deleted(s.pod)
		case ctx.Err() != nil:
			return "unknown: it could not be stopped", nil
		case err != nil:
			return "unknown: " + err.Error(), err
		}
		if t := stateOf(pod).Terminated; t != nil {
			return exitState(t), s.loss(pod)
		}
		// Its exit will not be reported: its requests would hang until they time out.
		if gone := nodeSilent(pod); gone == nil {
			heard = time.Now()
		} else if time.Since(heard) > nodeWait {
			return "its node was lost", gone
		}
		if ofLostNode(taken) {
			return "its node was lost", taken
		}
		if pod.Status.Phase == core.PodFailed || pod.Status.Phase == core.PodSucceeded {
			return cmp.Or(pod.Status.Reason, string(pod.Status.Phase)), s.loss(pod)
		}
		if steps.Sleep(ctx, s.run.opt.Poll) != nil {
			return "unknown: it could not be stopped", nil
		}
	}
}

// Stop asks the Pod to end, waits for the grace, kills it, and waits until it is gone. If ctx is cancelled,
// Stop kills at once; a deadline of ctx does not shorten the grace. Later calls wait for the first and return
// its result.
func (s *Server) Stop(ctx context.Context) error {
	return s.stop.Do(s.process.Name, func() error { return s.end(ctx) })
}

// hurriedWait limits the wait for the end of a Pod when the program is interrupted: deleting the Job removes
// the rest.
const hurriedWait = 3 * time.Second

func (s *Server) end(ctx context.Context) error {
	r := s.run
	defer func() {
		s.cancel()
		<-s.done
		r.forget(s.BaseURL(), "http://"+s.direct())
	}()
	if !steps.Ended(s.done) {
		s.asked.Store(true)
	}
	_, grace := s.process.Stopping()
	wait := r.opt.KillWait
	if errors.Is(ctx.Err(), context.Canceled) {
		grace, wait = 0, hurriedWait
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+wait)
	defer cancel()
	if s.nodeGone() {
		// The node does not answer. Delete the object; its processes end when the node returns.
		return errors.Join(r.deletePod(last, s.pod.Name, 0), r.deleteSecret(last, s.held))
	}
	if err := r.deletePod(last, s.pod.Name, seconds(grace)); err != nil {
		return fmt.Errorf("its Pod %s may still run: %w", s.pod.Name, err)
	}
	gone := make(chan error, 1)
	go func() { gone <- r.awaitGone(last, s.pod.Name) }()
	asked, release := interrupted(ctx)
	defer release()
	select {
	case err := <-gone:
		return errors.Join(err, r.deleteSecret(last, s.held))
	case <-asked:
	}
	// Interrupted within the grace: one second more, and no longer a wait than a run that ends has.
	hurried, stop := context.WithTimeout(context.WithoutCancel(ctx), hurriedWait)
	defer stop()
	err := r.deletePod(hurried, s.pod.Name, 1)
	select {
	case goneErr := <-gone:
		err = errors.Join(err, goneErr)
	case <-hurried.Done():
		cancel()
		err = errors.Join(err, <-gone)
	}
	return errors.Join(err, r.deleteSecret(last, s.held))
}

// interrupted returns a channel that is closed when the program is asked to end. A caller's deadline does not
// close it: the Pod must be deleted even if the API server was away.
func interrupted(ctx context.Context) (asked <-chan struct{}, release func() bool) {
	out := make(chan struct{})
	return out, context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			close(out)
		}
	})
}
