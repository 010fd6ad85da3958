package load

import (
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tcpPair is a connection over loopback.
func tcpPair(t *testing.T) (client *conn, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), server.Close() })
	client = &conn{Conn: c, raw: c, stamps: newStamped(c)}
	if client.stamps == nil {
		t.Fatal("the kernel gives no stamps")
	}
	return client, server
}

// waitForBytes returns when something can be read, and reads nothing.
func waitForBytes(t *testing.T, c *conn) {
	t.Helper()
	var b [1]byte
	err := c.stamps.rc.Read(func(fd uintptr) bool {
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err == nil && n > 0
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKernelStampsAreOfTheArrival: bytes that lay in the socket before we looked at the
// clock have a time before that, however late they are read. The first reads may have no
// stamp, because the kernel switches stamping on in the background.
func TestKernelStampsAreOfTheArrival(t *testing.T) {
	c, server := tcpPair(t)
	k := newClock(time.Now())
	buf := make([]byte, 64)
	const maxReads = 200_000
	stamps := 0
	for range maxReads {
		written := k.now()
		if _, err := server.Write([]byte("token")); err != nil {
			t.Fatal(err)
		}
		waitForBytes(t, c)
		before := k.now()
		n, at, seen, err := k.read(c, buf)
		if err != nil || n != 5 || seen < before {
			t.Fatalf("%d bytes, seen at %d after %d, error %v", n, seen, before, err)
		}
		if at == seen {
			continue
		}
		stamps++
		if at > before || at < written-int64(time.Millisecond) {
			t.Fatalf("written at %d, there before %d, stamped %d", written, before, at)
		}
		if stamps == 100 {
			return
		}
	}
	t.Errorf("%d of %d reads were stamped", stamps, maxReads)
}

func TestStampedReadsEndAsOthers(t *testing.T) {
	c, server := tcpPair(t)
	_ = c.SetDeadline(longAgo)
	if _, _, err := c.stamps.read(make([]byte, 8)); !isTimeout(err) {
		t.Errorf("past its deadline: %v", err)
	}
	_ = c.SetDeadline(time.Time{})
	_ = server.Close()
	if n, _, err := c.stamps.read(make([]byte, 8)); n != 0 || err != io.EOF {
		t.Errorf("closed by the peer: %d bytes, %v", n, err)
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

func TestStampedReadsAllocateNothing(t *testing.T) {
	c, server := tcpPair(t)
	k := newClock(time.Now())
	buf, message := make([]byte, 64), []byte("token")
	allocs := testing.AllocsPerRun(500, func() {
		if _, err := server.Write(message); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := k.read(c, buf); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations a read", allocs)
	}
}

func FuzzReceiveTime(f *testing.F) {
	oob := make([]byte, controlSize)
	f.Add(oob)
	f.Add([]byte{64, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 37, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(_ *testing.T, oob []byte) { _ = receiveTime(oob) })
}
