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
)

// Ports hands out ports so that launches of this program at the same time get different
// ones. The zero value is ready; it is safe for concurrent use.
//
// Other runs of this program on the machine get different ones as well, on Linux. Other
// programs are seen only when they listen: a server that finds its port in use in the
// meantime fails with class port_in_use.
type Ports struct {
	mu   sync.Mutex
	kept map[span]int // how often each is kept
}

// span is a row of ports.
type span struct{ first, count int }

func (s span) meets(t span) bool { return s.first < t.first+t.count && t.first < s.first+s.count }

// TakeRow reserves count free ports of host in a row until release is called. The next
// room ports from the first on are not given out again; they may be in use.
func (p *Ports) TakeRow(host string, count, room int) (first int, release func(), err error) {
	count = max(count, 1)
	room = max(room, count)
	p.mu.Lock()
	defer p.mu.Unlock()
	var held claims
	first, err = choose(host, count, room, firstPort+rand.IntN(lastPort-firstPort), func(port int) bool {
		held.release() // of a port that turned out to be in use
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

// Hold keeps count ports from being handed out until release is called: those that a
// server takes because its file says so. Whether they are free is seen when it starts.
func (p *Ports) Hold(first, count int) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keep(span{first, max(count, 1)})
}

// keep notes a span; p.mu is held.
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

// choose walks through the range, from a port on and at its end on from its beginning.
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
			err = probe(host, port+n)
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

// probe binds the port and lets go of it again.
func probe(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}
