package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// Ports are chosen from this range: below the one that Linux takes the local ports of
// outgoing connections from (32768 to 60999 unless changed), so that the thousands of
// connections of a load generator cannot take a port between its choice and its use.
const (
	firstPort = 20000
	lastPort  = 31999
	// spacing keeps our own servers apart: SGLang derives further ports up to 233 above
	// its own, vLLM looks for free ones upwards from a base.
	spacing = 300
	tries   = 200
)

// FreePort returns a port of host on which nobody listens. It is found by binding, so it
// can be taken by another program before it is used; see [Ports] for our own launches.
func FreePort(host string) (int, error) {
	return choose(host, rand.IntN, func(int) bool { return true })
}

// Ports hands out ports so that launches of this program at the same time get different
// ones, [spacing] apart. The zero value is ready; it is safe for concurrent use.
//
// Other programs are seen only when they listen. A server that finds its port taken in
// the meantime fails with class port_in_use and is launched again by whoever asked.
type Ports struct {
	mu    sync.Mutex
	taken map[int]struct{}
}

// Take reserves a free port of host until release is called.
func (p *Ports) Take(host string) (port int, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	port, err = choose(host, rand.IntN, p.apart)
	if err != nil {
		return 0, nil, err
	}
	if p.taken == nil {
		p.taken = map[int]struct{}{}
	}
	p.taken[port] = struct{}{}
	var once sync.Once
	return port, func() { once.Do(func() { p.release(port) }) }, nil
}

func (p *Ports) release(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, port)
}

func (p *Ports) apart(port int) bool {
	for t := range p.taken {
		if d := port - t; -spacing < d && d < spacing {
			return false
		}
	}
	return true
}

// choose tries random ports of the range; pick is rand.IntN except in tests.
func choose(host string, pick func(int) int, allowed func(int) bool) (int, error) {
	var last error
	for range tries {
		port := firstPort + pick(lastPort-firstPort+1)
		if !allowed(port) {
			continue
		}
		if last = probe(host, port); last == nil {
			return port, nil
		}
		if !errors.Is(last, syscall.EADDRINUSE) {
			return 0, fmt.Errorf("cannot listen on %s: %w", host, last)
		}
	}
	if last == nil {
		last = errors.New("all of it is reserved by our own servers")
	}
	return 0, fmt.Errorf("no free port on %s from %d to %d: %w; set port", host, firstPort, lastPort, last)
}

// probe binds the port and lets go of it again.
func probe(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}
