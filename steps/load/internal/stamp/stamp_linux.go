package stamp

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reader reads from a TCP connection together with the kernel's receive time stamp
// (SO_TIMESTAMPING, software, Documentation/networking/timestamping.rst): when the last
// of the bytes came off the network, however late the client is to read them. It waits
// in the runtime's poller like any read, and allocates nothing.
type Reader struct {
	rc   syscall.RawConn
	recv func(fd uintptr) bool

	// What the system call reads and writes. It is called directly: unix.Recvmsg allocates
	// for an address that a connected socket does not have.
	msg   unix.Msghdr
	iov   unix.Iovec
	oob   [controlSize]byte
	n     int
	stamp int64
	err   error
}

// controlSize has room for a message of three time stamps.
const controlSize = unix.SizeofCmsghdr + 3*2*wordSize + 64

// New asks for stamps; nil where the kernel has none.
func New(c net.Conn) *Reader {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	var failed error
	err = rc.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
			unix.SOF_TIMESTAMPING_SOFTWARE|unix.SOF_TIMESTAMPING_RX_SOFTWARE)
	})
	if err != nil || failed != nil {
		return nil
	}
	s := &Reader{rc: rc}
	s.recv = s.once
	return s
}

// Read reads once; stamp is CLOCK_REALTIME in nanoseconds, 0 where these bytes have none:
// the kernel begins to stamp a moment after the first socket asks for it.
func (s *Reader) Read(buf []byte) (n int, stamp int64, err error) {
	if len(buf) == 0 {
		return 0, 0, io.ErrShortBuffer
	}
	s.iov.Base = &buf[0]
	s.iov.SetLen(len(buf))
	err = s.rc.Read(s.recv)
	s.iov.Base = nil
	switch {
	case err != nil:
		return 0, 0, err
	case s.err != nil:
		return 0, 0, s.err
	case s.n == 0:
		return 0, 0, io.EOF
	}
	return s.n, s.stamp, nil
}

// once tries to read; false means that the poller should wait.
func (s *Reader) once(fd uintptr) bool {
	for {
		s.msg = unix.Msghdr{Iov: &s.iov, Control: &s.oob[0]}
		s.msg.SetIovlen(1)
		s.msg.SetControllen(len(s.oob))
		n, _, err := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&s.msg)), unix.MSG_DONTWAIT)
		switch err {
		case 0:
			s.n, s.stamp, s.err = int(n), receiveTime(s.oob[:s.msg.Controllen]), nil
			return true
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			s.n, s.err = 0, err
			return true
		}
	}
}

// receiveTime finds the software stamp among control messages, 0 without one.
func receiveTime(oob []byte) int64 {
	for len(oob) >= unix.SizeofCmsghdr {
		size := int(nativeWord(oob)) // of the message with its header
		level, typ := nativeInt(oob[wordSize:]), nativeInt(oob[wordSize+4:])
		if size < unix.SizeofCmsghdr || size > len(oob) {
			return 0
		}
		if data := oob[unix.SizeofCmsghdr:size]; level == unix.SOL_SOCKET && typ == unix.SCM_TIMESTAMPING && len(data) >= 2*wordSize {
			return int64(nativeWord(data))*1e9 + int64(nativeWord(data[wordSize:]))
		}
		oob = oob[min((size+wordSize-1)&^(wordSize-1), len(oob)):]
	}
	return 0
}

// wordSize is the size of a C long, which the kernel's structures are made of.
const wordSize = unix.SizeofCmsghdr - 8

func nativeWord(b []byte) uint64 {
	if wordSize == 8 {
		return binary.NativeEndian.Uint64(b)
	}
	return uint64(binary.NativeEndian.Uint32(b))
}

func nativeInt(b []byte) int { return int(int32(binary.NativeEndian.Uint32(b))) }
