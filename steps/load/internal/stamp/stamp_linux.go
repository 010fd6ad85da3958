package stamp

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reader reads from a TCP connection with the kernel's receive time stamp (SO_TIMESTAMPING, software,
// Documentation/networking/timestamping.rst). The stamp is the time at which the last of the bytes came off the
// network, however late the client reads them. Reader waits in the runtime's poller like any read, and
// allocates nothing.
type Reader struct {
	rc   syscall.RawConn
	recv func(fd uintptr) bool
	in   receiver
	buf  []byte

	n     int
	stamp int64
	err   error
}

// receiver holds the arguments of the system call of a stamped read. It calls recvmsg directly, because
// unix.Recvmsg allocates an address even for a connected socket.
type receiver struct {
	msg unix.Msghdr
	iov unix.Iovec
	oob [controlSize]byte
}

// receive reads the available bytes of a socket without waiting.
func (r *receiver) receive(fd int, buf []byte) (n int, stamp int64, err syscall.Errno) {
	r.iov.Base = &buf[0]
	r.iov.SetLen(len(buf))
	for {
		r.msg = unix.Msghdr{Iov: &r.iov, Control: &r.oob[0]}
		r.msg.SetIovlen(1)
		r.msg.SetControllen(len(r.oob))
		got, _, err := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.msg)), unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		r.iov.Base = nil
		if err != 0 {
			return 0, 0, err
		}
		return int(got), receiveTime(r.oob[:r.msg.Controllen]), 0
	}
}

// controlSize is the size of a control message with three time stamps, and some spare room.
const controlSize = unix.SizeofCmsghdr + 3*2*wordSize + 64

// New enables stamps. It returns nil if the kernel has none.
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
	err = rc.Control(func(fd uintptr) { failed = enable(int(fd)) })
	if err != nil || failed != nil {
		return nil
	}
	s := &Reader{rc: rc}
	s.recv = s.once
	return s
}

// enable makes the kernel stamp what a socket receives.
func enable(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
		unix.SOF_TIMESTAMPING_SOFTWARE|unix.SOF_TIMESTAMPING_RX_SOFTWARE)
}

// Read reads once. stamp is CLOCK_REALTIME in nanoseconds, 0 if these bytes have none: the kernel starts
// stamping a moment after the first socket enables it.
func (s *Reader) Read(buf []byte) (n int, stamp int64, err error) {
	if len(buf) == 0 {
		return 0, 0, io.ErrShortBuffer
	}
	s.buf = buf
	err = s.rc.Read(s.recv)
	s.buf = nil
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

// once tries to read; false makes the poller wait.
func (s *Reader) once(fd uintptr) bool {
	n, stamp, err := s.in.receive(int(fd), s.buf)
	if err == unix.EAGAIN {
		return false
	}
	s.n, s.stamp, s.err = n, stamp, nil
	if err != 0 {
		s.err = err
	}
	return true
}

// receiveTime returns the software stamp in the control messages, 0 without one.
func receiveTime(oob []byte) int64 {
	for len(oob) >= unix.SizeofCmsghdr {
		size := int(nativeWord(oob)) // of the message including its header
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

// wordSize is the size of a C long, the unit of the kernel's structures.
const wordSize = unix.SizeofCmsghdr - 8

func nativeWord(b []byte) uint64 {
	if wordSize == 8 {
		return binary.NativeEndian.Uint64(b)
	}
	return uint64(binary.NativeEndian.Uint32(b))
}

func nativeInt(b []byte) int { return int(int32(binary.NativeEndian.Uint32(b))) }
