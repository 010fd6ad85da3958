package kubernetes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/servegate/pipeline/steps"
)

// throughTunnels reports whether servers are reached through the API server: from outside of the cluster, if
// a node generates the load. Measured requests do not use tunnels.
func (r *Run) throughTunnels() bool { return !r.inside && r.opt.Spec.LoadNode != nil }

// tunnel forwards a port of this machine to a port of a Pod. After the connection to the API server breaks,
// it is opened again at the same port.
type tunnel struct {
	address string
	end     context.CancelFunc
	over    sync.WaitGroup
	broken  atomic.Bool
}

// open opens a tunnel.
func (r *Run) open(ctx context.Context, pod string, port int) (*tunnel, error) {
	life, end := context.WithCancel(context.Background())
	t := &tunnel{end: end}
	var local int
	var ended <-chan struct{}
	err := r.ask(ctx, func(ctx context.Context) (err error) {
		local, ended, err = r.forward(ctx, life, pod, 0, port)
		return err
	})
	if err != nil {
		end()
		return nil, fmt.Errorf("a tunnel to Pod %s: %w", pod, err)
	}
	t.address = hostPort("127.0.0.1", local)
	t.over.Go(func() { r.hold(life, t, ended, pod, local, port) })
	return t, nil
}

// hold opens a tunnel again whenever it ends, until it is closed.
func (r *Run) hold(life context.Context, t *tunnel, ended <-chan struct{}, pod string, local, port int) {
	for {
		<-ended
		t.broken.Store(true)
		for {
			if steps.Sleep(life, r.opt.Poll) != nil {
				return
			}
			once, cancel := context.WithTimeout(life, r.opt.CallWait)
			_, again, err := r.forward(once, life, pod, local, port)
			cancel()
			if err == nil {
				ended = again
				t.broken.Store(false)
				break
			}
		}
	}
}

// forward forwards a port of this machine, 0 for any, to one of a Pod until life or the connection ends. It
// returns once forwarding works or ctx ends.
func (r *Run) forward(ctx, life context.Context, pod string, local, port int) (int, <-chan struct{}, error) {
	transport, upgrader, err := spdy.RoundTripperFor(r.config)
	if err != nil {
		return 0, nil, err
	}
	url := r.client.PodURL(r.namespace, pod, "portforward", nil)
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	ready, ended, giveUp := make(chan struct{}), make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("%d:%d", local, port)}, giveUp, ready,
		io.Discard, io.Discard)
	if err != nil {
		return 0, nil, err
	}
	var failed error // how it ended, once it has
	go func() {
		defer close(ended)
		failed = forwarder.ForwardPorts()
	}()
	select {
	case <-ready:
	case <-ended:
		return 0, nil, failed
	case <-ctx.Done():
		close(giveUp)
		return 0, nil, context.Cause(ctx)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		close(giveUp)
		return 0, nil, err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-ended: // the API server's, or the Pod's: it is tried again
		case <-life.Done():
			close(giveUp)
			<-ended
		}
	}()
	return int(ports[0].Local), over, nil
}

func (t *tunnel) close() {
	t.end()
	t.over.Wait()
}

func (r *Run) remember(tunnel, direct string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tunnels[tunnel] = direct
}

// forget removes a tunnel, unless another server uses its address now.
func (r *Run) forget(tunnel, direct string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tunnels[tunnel] == direct {
		delete(r.tunnels, tunnel)
	}
}

// Direct returns the address of a server in the cluster if url is the address of a tunnel to it.
func (r *Run) Direct(url string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if direct, ok := r.tunnels[url]; ok {
		return direct
	}
	return url
}
