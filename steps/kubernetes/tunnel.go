package kubernetes

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// throughTunnels reports whether servers are asked through the API server: from outside of the
// cluster, where the load comes from a node. What is measured does not pass there.
func (r *Run) throughTunnels() bool { return !r.inside && r.opt.Spec.LoadNode != nil }

// tunnel leads from a port of this machine to one of a Pod.
type tunnel struct {
	address string
	stop    chan struct{}
	ended   chan error // how it ended before it was ready
	over    sync.WaitGroup
}

// open opens a tunnel. It ends with the connection to the API server, and the server is then not reached
// any longer.
func (r *Run) open(pod string, port int) (*tunnel, error) {
	transport, upgrader, err := spdy.RoundTripperFor(r.config)
	if err != nil {
		return nil, err
	}
	url := r.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(r.namespace).Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	t := &tunnel{stop: make(chan struct{}), ended: make(chan error, 1)}
	ready := make(chan struct{})
	said := &strings.Builder{}
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, t.stop, ready, io.Discard, said)
	if err != nil {
		return nil, err
	}
	t.over.Go(func() { t.ended <- forwarder.ForwardPorts() })
	select {
	case <-ready:
	case err := <-t.ended:
		return nil, fmt.Errorf("a tunnel to Pod %s: %w %s", pod, err, said.String())
	case <-time.After(r.opt.CallWait):
		close(t.stop)
		return nil, errors.Join(fmt.Errorf("a tunnel to Pod %s was not opened within %s", pod, r.opt.CallWait), <-t.ended)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.close()
		return nil, err
	}
	t.address = hostPort("127.0.0.1", int(ports[0].Local))
	return t, nil
}

func (t *tunnel) close() {
	close(t.stop)
	t.over.Wait()
}

func (r *Run) remember(tunnel, direct string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tunnels[tunnel] = direct
}

// Direct is the address of a server in the cluster, where url is that of a tunnel to it.
func (r *Run) Direct(url string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if direct, ok := r.tunnels[url]; ok {
		return direct
	}
	return url
}
