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

// Ports come from this range. It lies below Linux's range for outgoing connections (32768 to 60999 by default),
// so a load generator's connections cannot take a port between its choice and its use.
const (
	firstPort = 20000
	lastPort  = 31999
)

// Ports hands out ports, so that concurrent launches of this program get different ones. The zero value is
// ready; it is safe for concurrent use.
//
// On Linux, other runs of this program on the machine get different ports as well. Other programs are noticed
// only once they listen: a server whose port was taken meanwhile fails with class port_in_use.
type Ports struct {
	mu   sync.Mutex
	kept map[span]int // number of holders of each span
}

// span is a range of consecutive ports.
type span struct{ first, count int }

func (s span) meets(t span) bool { return s.first < t.first+t.count && t.first < s.first+s.count }

// TakeRow reserves count consecutive free ports of host until release is called. It also keeps the first room
// ports from being handed out; those may be in use.
func (p *Ports) TakeRow(host string, count, room int) (first int, release func(), err error) {
	count = max(count, 1)
	room = max(room, count)
	p.mu.Lock()
	defer p.mu.Unlock()
	var held claims
	first, err = choose(host, count, room, firstPort+rand.IntN(lastPort-firstPort), func(port int) bool {
		held.release() // drops the claim on a candidate that was in use
		if p.free(span{port, room}) {
			held = claim(port, count)
		}
		return held != nil
	})
	if err != nil {
		held.release()
		return 0, nil, err
	}
	kept := p.keep(span{first, room})
	return first, func() { kept(); held.release() }, nil
}

// Hold keeps count ports from being handed out until release is called. It serves servers whose file sets the
// port. Whether the ports are free shows when the server starts.
func (p *Ports) Hold(first, count int) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keep(span{first, max(count, 1)})
}

// keep records a span. The caller holds p.mu.
func (p *Ports) keep(s span) (release func()) {
	if p.kept == nil {
		p.kept = map[span]int{}
	}
	p.kept[s]++
	var once sync.Once
	return func() { once.Do(func() { p.release(s) }) }
}

func (p *Ports) release(s span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept[s]--; p.kept[s] == 0 {
		delete(p.kept, s)
	}
}

func (p *Ports) free(s span) bool {
	for k := range p.kept {
		if s.meets(k) {
			return false
		}
	}
	return true
}

// choose tries the ports of the range in order, starting at from and wrapping around.
func choose(host string, count, room, from int, allowed func(int) bool) (int, error) {
	ports := lastPort - room + 2 - firstPort
	if ports < 1 {
		return 0, fmt.Errorf("%d ports in a row are more than the range %d to %d has", room, firstPort, lastPort)
	}
	var last error
	for i := range ports {
		port := firstPort + (from-firstPort+i)%ports
		if !allowed(port) {
			continue
		}
		err := error(nil)
		for n := 0; n < count && err == nil; n++ {
			err = Probe(net.JoinHostPort(host, strconv.Itoa(port+n)))
		}
		switch {
		case err == nil:
			return port, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return 0, fmt.Errorf("cannot listen on %s: %w", host, err)
		}
		last = err
	}
	if last == nil {
		last = errors.New("all of it is reserved by our own servers")
	}
	return 0, fmt.Errorf("no free port on %s from %d to %d: %w; set port", host, firstPort, lastPort, last)
}
