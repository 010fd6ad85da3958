package process

import (
	"net"
	"testing"
)

func TestFreePort(t *testing.T) {
	port, err := FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if port < firstPort || port > lastPort {
		t.Errorf("port %d is not in the range", port)
	}
	if _, err := FreePort("host.invalid"); err == nil {
		t.Error("a host that is not ours has no free port")
	}
}

// A port on which somebody listens is passed over.
func TestChooseSkipsTaken(t *testing.T) {
	taken, err := FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: taken}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	free, err := FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	picks := []int{taken - firstPort, taken - firstPort, free - firstPort}
	got, err := choose("127.0.0.1", func(int) int {
		p := picks[0]
		picks = picks[1:]
		return p
	}, func(int) bool { return true })
	if err != nil || got != free {
		t.Errorf("got %d, %v; want %d after the taken %d", got, err, free, taken)
	}
}

func TestPortsAreApart(t *testing.T) {
	var p Ports
	var ports []int
	var releases []func()
	for range 15 {
		port, release, err := p.Take("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range ports {
			if d := port - other; -spacing < d && d < spacing {
				t.Errorf("ports %d and %d are too near", port, other)
			}
		}
		ports = append(ports, port)
		releases = append(releases, release)
	}
	for _, release := range releases {
		release()
		release() // twice is once
	}
	if len(p.taken) != 0 {
		t.Errorf("%d ports are still reserved", len(p.taken))
	}
	for port := firstPort; port <= lastPort; port += spacing - 1 {
		if p.taken == nil {
			p.taken = map[int]struct{}{}
		}
		p.taken[port] = struct{}{}
	}
	if _, _, err := p.Take("127.0.0.1"); err == nil {
		t.Error("a full range gave a port")
	}
}
