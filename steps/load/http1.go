package load

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxHead limits a response's status line and headers, and a chunked body's trailer, in bytes.
const maxHead = 64 << 10

// response parses one HTTP/1.1 response (RFC 9112) from reads as they arrive, without buffering the body. It
// replaces net/http because the time of each read must be known before parsing, and because net/http needs
// two goroutines and a copy per connection.
type response struct {
	// status is 0 until the head is complete.
	status      int
	contentType string
	encoding    string
	retryAfter  string

	line      []byte // an incomplete line of the head or of a chunk's frame
	head      int    // bytes of head or trailer so far
	state     bodyState
	remaining int64 // of the body or of the chunk
	chunked   bool
	length    int64 // -1 if not given
	close     bool  // the connection cannot be used again
	sawStatus bool
	last      int64 // time of the last read that belonged to it
}

// bodyState is the state of the parser.
type bodyState int

const (
	inHead bodyState = iota
	inFixed
	inUntilClose
	inChunkSize
	inChunk
	inChunkEnd
	inTrailer
	complete
)

var errProtocol = errors.New("not an HTTP/1.1 response")

// feed consumes one read and calls body for each piece of the body in it, valid during
// the call. After the end of the response further bytes are an error.
func (r *response) feed(b []byte, body func([]byte) error) error {
	for len(b) > 0 {
		switch r.state {
		case inFixed, inUntilClose, inChunk:
			n := int64(len(b))
			if r.state != inUntilClose {
				n = min(n, r.remaining)
				r.remaining -= n
			}
			if err := body(b[:n]); err != nil {
				return err
			}
			b = b[n:]
			if r.remaining == 0 && r.state == inFixed {
				r.state = complete
			} else if r.remaining == 0 && r.state == inChunk {
				r.state = inChunkEnd
			}
		case complete:
			return fmt.Errorf("%w: bytes after its end", errProtocol)
		default:
			rest, err := r.feedLine(b)
			if err != nil {
				return err
			}
			b = rest
		}
	}
	return nil
}

// feedLine consumes up to one line of the head or of a chunk's frame.
func (r *response) feedLine(b []byte) (rest []byte, err error) {
	part, rest, whole := bytes.Cut(b, []byte("\n"))
	r.head += len(part) + 1
	if r.head > maxHead {
		return nil, fmt.Errorf("%w: a head of more than %d bytes", errProtocol, maxHead)
	}
	if !r.sawStatus && !plausible(r.line, part) {
		return nil, fmt.Errorf("%w: it begins with %.40q", errProtocol, append(r.line, part...))
	}
	if !whole || len(r.line) > 0 {
		r.line = append(r.line, part...)
		part = r.line
	}
	if !whole {
		return nil, nil
	}
	err = r.endLine(bytes.TrimSuffix(part, []byte("\r")))
	r.line = r.line[:0]
	return rest, err
}

// plausible reports whether a status line may begin like this, so that a server with another protocol is
// detected at its first bytes instead of at a timeout.
func plausible(have, more []byte) bool {
	const want = "HTTP/1."
	got := string(have) + string(more)
	return strings.HasPrefix(want, got[:min(len(got), len(want))])
}

func (r *response) endLine(line []byte) error {
	switch r.state {
	case inHead:
		if !r.sawStatus {
			return r.statusLine(string(line))
		}
		if len(line) == 0 {
			return r.endHead()
		}
		return r.header(string(line))
	case inChunkSize:
		return r.chunkSize(line)
	case inChunkEnd:
		if len(line) != 0 {
			return fmt.Errorf("%w: a chunk longer than its size", errProtocol)
		}
		r.state, r.head = inChunkSize, 0
	case inTrailer:
		if len(line) == 0 {
			r.state = complete
		}
	}
	return nil
}

func (r *response) statusLine(line string) error {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil || len(code) != 3 || status < 100 || (version != "HTTP/1.1" && version != "HTTP/1.0") {
		return fmt.Errorf("%w: status line %.80q", errProtocol, line)
	}
	r.status, r.sawStatus, r.length = status, true, -1
	r.close = version == "HTTP/1.0"
	return nil
}

func (r *response) header(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%w: header line %.80q", errProtocol, line)
	}
	value = strings.TrimSpace(value)
	switch strings.ToLower(name) {
	case "content-length":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || (r.length >= 0 && r.length != n) {
			return fmt.Errorf("%w: content length %.40q", errProtocol, value)
		}
		r.length = n
	case "transfer-encoding":
		if !strings.EqualFold(value, "chunked") {
			return fmt.Errorf("%w: transfer encoding %.40q", errProtocol, value)
		}
		r.chunked = true
	case "connection":
		options := strings.FieldsFunc(strings.ToLower(value), func(c rune) bool { return strings.ContainsRune(", \t", c) })
		if slices.Contains(options, "close") {
			r.close = true
		} else if slices.Contains(options, "keep-alive") {
			r.close = false
		}
	case "content-type":
		r.contentType = strings.ToLower(value)
	case "content-encoding":
		r.encoding = strings.ToLower(value)
	case "retry-after":
		r.retryAfter = value
	}
	return nil
}

// encoded reports whether the body has a content encoding. None was asked for.
func (r *response) encoded() bool { return r.encoding != "" && r.encoding != "identity" }

func (r *response) endHead() error {
	r.head = 0
	switch {
	case r.status < 200: // 100 Continue and the like: the final response follows
		*r = response{line: r.line}
	case r.status == 204 || r.status == 304:
		r.state = complete
	case r.chunked:
		r.state = inChunkSize
	case r.length == 0:
		r.state = complete
	case r.length > 0:
		r.state, r.remaining = inFixed, r.length
	default:
		r.state, r.close, r.remaining = inUntilClose, true, -1
	}
	return nil
}

func (r *response) chunkSize(line []byte) error {
	hex, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(hex)), 16, 60)
	if err != nil {
		return fmt.Errorf("%w: chunk size %.40q", errProtocol, line)
	}
	r.head = 0
	r.remaining, r.state = int64(n), inChunk
	if n == 0 {
		r.state = inTrailer
	}
	return nil
}

// ended reports whether the response is complete if the connection ends now.
func (r *response) ended() bool { return r.state == complete || r.state == inUntilClose }

// headDone reports whether the final status line and headers have been read.
func (r *response) headDone() bool { return r.state != inHead }
