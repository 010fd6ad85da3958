package router

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// chunkSize is the size of a read, in bytes. A token's event takes some hundred bytes; every open stream
// holds one buffer.
const chunkSize = 4 << 10

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// relay forwards a server's answer, chunk by chunk, without delay.
func (x *exchange) relay(resp *http.Response, f *failure) *failure {
	if f != nil {
		return f
	}
	defer resp.Body.Close() //nolint:errcheck // the error has no effect
	if f := x.copy(resp); f != nil {
		return f
	}
	if resp.StatusCode/100 != 2 {
		return &failure{class: classStatus, member: x.decode, err: errors.New("the answer is " + resp.Status), answered: true}
	}
	return nil
}

// copy writes the header together with the first chunk. Until then the other half can still fail, and a
// header alone does not help a client.
func (x *exchange) copy(resp *http.Response) *failure {
	buf := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buf)
	flush := http.NewResponseController(x.w).Flush
	for first := true; ; {
		n, err := resp.Body.Read(buf[:])
		if n > 0 || err == io.EOF && first {
			if first {
				if f := x.head(resp); f != nil {
					return f
				}
				first = false
			}
			if x.write(buf[:n], flush) != nil {
				x.cancel(errClientGone)
				return &failure{class: classBadRequest, err: errClientGone}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if f := x.cause(); f != nil {
				return f
			}
			return exchangeError(x.ctx, x.decode, err, classCut)
		}
	}
}

// write forwards a chunk and records the time that it took.
func (x *exchange) write(chunk []byte, flush func() error) error {
	received := time.Now()
	if _, err := x.w.Write(chunk); err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	if x.chunks != nil {
		x.chunks.observe(time.Since(received))
	}
	return nil
}

// head starts the client's answer.
func (x *exchange) head(resp *http.Response) *failure {
	if f := x.commit(); f != nil {
		return f
	}
	h := x.w.Header()
	copyHeader(h, resp.Header)
	if resp.ContentLength >= 0 {
		h.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	x.name(h)
	x.w.WriteHeader(resp.StatusCode)
	return nil
}

// name adds headers with the names of the servers that answered.
func (x *exchange) name(h http.Header) {
	if x.prefill != nil {
		h.Set(headerPrefill, x.prefill.Name)
	}
	h.Set(headerDecode, x.decode.Name)
}
