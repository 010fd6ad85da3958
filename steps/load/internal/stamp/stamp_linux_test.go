package stamp

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tcpPair is a connection over loopback.
func tcpPair(t *testing.T) (client *Reader, c, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), server.Close() })
	if client = New(c); client == nil {
		t.Fatal("the kernel gives no stamps")
	}
	return client, c, server
}

// waitForBytes returns when something can be read, and reads nothing.
func waitForBytes(t *testing.T, c *Reader) {
	t.Helper()
	var b [1]byte
	err := c.rc.Read(func(fd uintptr) bool {
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
	c, _, server := tcpPair(t)
	buf := make([]byte, 64)
	const maxReads = 200_000
	stamps := 0
	for range maxReads {
		written := time.Now().UnixNano()
		if _, err := server.Write([]byte("token")); err != nil {
			t.Fatal(err)
		}
		waitForBytes(t, c)
		before := time.Now().UnixNano()
		n, at, err := c.Read(buf)
		if err != nil || n != 5 {
			t.Fatalf("%d bytes, error %v", n, err)
		}
		if at == 0 {
			continue
		}
		stamps++
		if at > before || at < written {
			t.Fatalf("written at %d, there before %d, stamped %d", written, before, at)
		}
		if stamps == 100 {
			return
		}
	}
	t.Errorf("%d of %d reads were stamped", stamps, maxReads)
}

func TestStampedReadsEndAsOthers(t *testing.T) {
	c, conn, server := tcpPair(t)
	_ = conn.SetDeadline(time.Unix(1, 0))
	if _, _, err := c.Read(make([]byte, 8)); !isTimeout(err) {
		t.Errorf("past its deadline: %v", err)
	}
	_ = conn.SetDeadline(time.Time{})
	_ = server.Close()
	if n, _, err := c.Read(make([]byte, 8)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("closed by the peer: %d bytes, %v", n, err)
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

func TestStampedReadsAllocateNothing(t *testing.T) {
	c, _, server := tcpPair(t)
	buf, message := make([]byte, 64), []byte("token")
	allocs := testing.AllocsPerRun(500, func() {
		if _, err := server.Write(message); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Read(buf); err != nil {
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
