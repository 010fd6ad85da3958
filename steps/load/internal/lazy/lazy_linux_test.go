package lazy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is an adopted connection and its peer.
func pair(t *testing.T) (*Conn, *net.TCPConn) {
	t.Helper()
	p, err := New(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	conn, err := p.Adopt(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = peer.Close()
		p.Close()
	})
	return conn, peer.(*net.TCPConn)
}

// drain reads to the end, as a client does that says when it took all there was.
func drain(c *Conn) ([]byte, error) {
	var all []byte
	buf := make([]byte, 1000)
	for {
		n, err := c.Read(buf)
		all = append(all, buf[:n]...)
		if n > 0 && n < len(buf) {
			c.Drained()
		}
		if err != nil {
			return all, err
		}
	}
}

// TestEverythingArrives, whatever the writes and wherever a connection waits, and its end
// is not missed though it came with the last bytes.
func TestEverythingArrives(t *testing.T) {
	for _, relaxed := range []bool{false, true} {
		c, peer := pair(t)
		if err := c.Relax(relaxed); err != nil {
			t.Fatal(err)
		}
		var sent []byte
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 300 {
				b := bytes.Repeat([]byte{byte(i)}, 1+i*7%900)
				sent = append(sent, b...)
				if _, err := peer.Write(b); err != nil {
					t.Error(err)
				}
			}
			_ = peer.Close()
		})
		got, err := drain(c)
		wg.Wait()
		if !errors.Is(err, io.EOF) || !bytes.Equal(got, sent) {
			t.Errorf("relaxed %v: %d of %d bytes, error %v", relaxed, len(got), len(sent), err)
		}
	}
}

// TestRelaxLosesNothing: what comes while a connection changes its set is told.
func TestRelaxLosesNothing(t *testing.T) {
	c, peer := pair(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 500 {
			_, _ = peer.Write([]byte("x"))
		}
	})
	buf := make([]byte, 64)
	for got, i := 0, 0; got < 500; i++ {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += n
		if n < len(buf) {
			c.Drained()
		}
		if err := c.Relax(i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// TestLargeWrite does not fit into the socket's buffer.
func TestLargeWrite(t *testing.T) {
	c, peer := pair(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	var wg sync.WaitGroup
	wg.Go(func() {
		n, err := c.Write(want)
		if n != len(want) || err != nil {
			t.Errorf("%d bytes, error %v", n, err)
		}
	})
	got := make([]byte, len(want))
	if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes came, error %v", err)
	}
	wg.Wait()
}

func TestDeadline(t *testing.T) {
	c, peer := pair(t)
	buf := make([]byte, 8)
	_ = c.SetDeadline(time.Now().Add(5 * time.Millisecond))
	if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	var wg sync.WaitGroup
	_ = c.SetDeadline(time.Time{})
	c.Drained()
	wg.Go(func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	wg.Wait()
	_ = c.SetDeadline(time.Now().Add(time.Hour))
	_, _ = peer.Write([]byte("on"))
	if n, err := c.Read(buf); n != 2 || err != nil {
		t.Errorf("after a deadline was lifted: %d bytes, error %v", n, err)
	}
}

func TestReset(t *testing.T) {
	c, peer := pair(t)
	_ = peer.SetLinger(0)
	_ = peer.Close()
	if _, err := drain(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error %v", err)
	}
}

func TestClosed(t *testing.T) {
	c, _ := pair(t)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
}
