package process

import (
	"errors"
	"math/rand/v2"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// freePort returns a port of host on which no process listens.
func freePort(host string) (int, error) {
	return choose(host, 1, 1, firstPort+rand.IntN(lastPort-firstPort), func(int) bool { return true })
}

func TestChoose(t *testing.T) {
	port, err := freePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if port < firstPort || port > lastPort {
		t.Errorf("port %d is not in the range", port)
	}
	if _, err := freePort("host.invalid"); err == nil {
		t.Error("a host that is not ours has no free port")
	}
}

// A port on which a process listens is passed over.
func TestChooseSkipsTaken(t *testing.T) {
	taken, err := freePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: taken}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := choose("127.0.0.1", 1, 1, taken, func(int) bool { return true })
	if err != nil || got == taken {
		t.Errorf("got %d, %v, and %d is taken", got, err, taken)
	}
}

// spacing is the room that a test asks for.
const spacing = 300

func TestPortsAreApart(t *testing.T) {
	var p Ports
	var ports []int
	var releases []func()
	for range 15 {
		port, release, err := p.TakeRow("127.0.0.1", 1, spacing)
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
	if len(p.kept) != 0 {
		t.Errorf("%d ports are still reserved", len(p.kept))
	}
	for port := firstPort; port <= lastPort; port += spacing - 1 {
		p.Hold(port, 1)
	}
	if _, _, err := p.TakeRow("127.0.0.1", 1, spacing); err == nil {
		t.Error("a full range gave a port")
	}
}

// A row is free in all its ports, keeps its room, and is never given twice; what is held
// is not given either.
func TestRows(t *testing.T) {
	var p Ports
	held := p.Hold(firstPort+1000, 5)
	defer held()
	kept := []span{{firstPort + 1000, 5}}
	for _, want := range []span{{3, 10}, {1, 1}, {20, 20}, {1, spacing}, {2, 2}} {
		first, release, err := p.TakeRow("127.0.0.1", want.first, want.count)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		got := span{first, want.count}
		for _, k := range kept {
			if got.meets(k) {
				t.Errorf("%v was given where %v is kept", got, k)
			}
		}
		kept = append(kept, got)
	}
	if _, _, err := p.TakeRow("127.0.0.1", 1, lastPort); err == nil {
		t.Error("a row longer than the range was given")
	}
}

// A port in the middle of a row that is in use rules the row out.
func TestRowWithATakenPort(t *testing.T) {
	taken, err := freePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: taken}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first := max(taken-2, firstPort)
	got, err := choose("127.0.0.1", 3, 3, first, func(port int) bool { return true })
	if err != nil || got <= taken && taken < got+3 {
		t.Errorf("the row from %d, %v, and %d is in use", got, err, taken)
	}
}

// What one run of this program has taken, another does not get, until it is given back.
func TestPortsAreTakenFromOtherRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the sockets for it")
	}
	var p Ports
	first, release, err := p.TakeRow("127.0.0.1", 3, 10)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if c := claim(first+n, 1); c != nil {
			t.Errorf("port %d of the row can be taken by another run", n)
		}
	}
	if c := claim(first-1, 2); c != nil {
		t.Error("a row that meets the other run's was given")
	}
	release()
	c := claim(first-1, 4)
	if c == nil {
		t.Error("ports that were given back stay taken")
	}
	c.release()
}

// TestProbeWhileForking probes one port again and again while processes start, which hold what is open until they execute their
// program.
func TestProbeWhileForking(t *testing.T) {
	first, release, err := new(Ports).TakeRow("127.0.0.1", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first))
	done := make(chan struct{})
	var forks sync.WaitGroup
	for range 4 {
		forks.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = exec.Command("/nonexistent").Run() // a path that cannot be executed is found after the fork
				}
			}
		})
	}
	for range 2000 {
		if err := Probe(address); err != nil {
			t.Errorf("the port was in use by nobody: %v", err)
			break
		}
	}
	close(done)
	forks.Wait()
}

// TestProbe asks for an address that is free, for one on which somebody listens, and for one that is not of this machine.
func TestProbe(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "0.0.0.0", "", "localhost", "::1", "::"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil && host != "127.0.0.1" {
			t.Logf("this machine has no %q: %v", host, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		address := net.JoinHostPort(host, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
		if err := Probe(address); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%q: %v, though somebody listens", address, err)
		}
		_ = l.Close()
		if err := Probe(address); err != nil {
			t.Errorf("%q: %v, though nobody listens", address, err)
		}
	}
	if err := Probe("192.0.2.1:20000"); !errors.Is(err, syscall.EADDRNOTAVAIL) { // an address of documentation
		t.Errorf("the address of another machine: %v", err)
	}
}
