package process_test

import (
	"errors"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/servegate/pipeline/steps/process"
)

// The range of ports.
const firstPort, lastPort = 20000, 31999

// holdOthers keeps all ports from being handed out but count from first on.
func holdOthers(p *process.Ports, first, count int) {
	p.Hold(firstPort, max(first-firstPort, 1))
	p.Hold(first+count, lastPort+1-first-count)
}

// listening listens on a port of the range, in its middle.
func listening(t *testing.T) (taken int) {
	t.Helper()
	for {
		port, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		release()
		if err != nil || port < firstPort+10 || port > lastPort-10 {
			continue
		}
		t.Cleanup(func() { _ = l.Close() })
		return port
	}
}

func TestTakeRow(t *testing.T) {
	var p process.Ports
	port, release, err := p.TakeRow("127.0.0.1", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if port < firstPort || port > lastPort {
		t.Errorf("port %d is not in the range", port)
	}
	if _, _, err := p.TakeRow("host.invalid", 1, 1); err == nil {
		t.Error("a host that is not ours has no free port")
	}
}

// A port on which a process listens is not given, nor is a row that has it in the middle.
func TestRowSkipsTaken(t *testing.T) {
	taken := listening(t)
	for _, count := range []int{1, 3} {
		var p process.Ports
		holdOthers(&p, taken-count/2, count)
		if got, _, err := p.TakeRow("127.0.0.1", count, count); err == nil {
			t.Errorf("the row of %d from %d was given, and %d is in use", count, got, taken)
		}
	}
}

// spacing is the room that a test asks for.
const spacing = 300

func TestPortsAreApart(t *testing.T) {
	var p process.Ports
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
	if _, release, err := p.TakeRow("127.0.0.1", 1, lastPort-firstPort-1000); err != nil {
		t.Errorf("ports are still reserved: %v", err)
	} else {
		release()
	}
	for port := firstPort; port <= lastPort; port += spacing - 1 {
		p.Hold(port, 1)
	}
	if _, _, err := p.TakeRow("127.0.0.1", 1, spacing); err == nil {
		t.Error("a full range gave a port")
	}
}

// span is a row of ports.
type span struct{ first, count int }

// A row is free in all its ports, keeps its room, and is never given twice; what is held
// is not given either.
func TestRows(t *testing.T) {
	var p process.Ports
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
			if got.first < k.first+k.count && k.first < got.first+got.count {
				t.Errorf("%v was given where %v is kept", got, k)
			}
		}
		kept = append(kept, got)
	}
	if _, _, err := p.TakeRow("127.0.0.1", 1, lastPort); err == nil {
		t.Error("a row longer than the range was given")
	}
}

// What one run of this program has taken, another does not get, until it is given back.
func TestPortsAreTakenFromOtherRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the sockets for it")
	}
	first, release, err := new(process.Ports).TakeRow("127.0.0.1", 3, 10)
	if err != nil {
		t.Fatal(err)
	}
	take := func(first, count int) error {
		var another process.Ports
		holdOthers(&another, first, count)
		_, release, err := another.TakeRow("127.0.0.1", count, count)
		if err == nil {
			release()
		}
		return err
	}
	for n := range 3 {
		if take(first+n, 1) == nil {
			t.Errorf("port %d of the row can be taken by another run", n)
		}
	}
	if take(first, 4) == nil {
		t.Error("a row that meets the other run's was given")
	}
	release()
	if err := take(first, 4); err != nil {
		t.Errorf("ports that were given back stay taken: %v", err)
	}
}

// TestProbeWhileForking probes one port again and again while processes start, which hold what is open until they execute their
// program.
func TestProbeWhileForking(t *testing.T) {
	first, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
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
		if err := process.Probe(address); err != nil {
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
		if err := process.Probe(address); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%q: %v, though somebody listens", address, err)
		}
		_ = l.Close()
		if err := process.Probe(address); err != nil {
			t.Errorf("%q: %v, though nobody listens", address, err)
		}
	}
	if err := process.Probe("192.0.2.1:20000"); !errors.Is(err, syscall.EADDRNOTAVAIL) { // an address of documentation
		t.Errorf("the address of another machine: %v", err)
	}
}
