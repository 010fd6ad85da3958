package load

import (
	"bytes"
	"errors"
)

// maxEvent limits one server-sent event in bytes, because a broken server may never end a line.
const maxEvent = 16 << 20

var errEventTooLong = errors.New("a stream event of more than 16 MiB")

// sse splits a byte stream into server-sent events (WHATWG HTML, section 9.2).
// Bytes may be split at any position, also inside a rune: sse does not decode. Events within one read are
// passed on without a copy.
//
// Comments, IDs and retry times are skipped, several data lines of an event are joined by a newline, and the
// space after "data:" is optional.
type sse struct {
	// emit receives each event's data, valid during the call, and the time of the read that completed its
	// last data line: the empty line that ends an event may arrive later.
	emit func(data []byte, isError bool, at int64)

	carry   []byte // an incomplete line
	begun   bool   // the first line is over, which may have a byte order mark
	afterCR bool   // a \n that follows belongs to the line end before it
	data    []byte // data of the event so far
	owned   []byte // backing of data if it was copied
	at      int64
	pending bool
	isError bool // an "event: error" line
	junk    bool // a line that is not part of an event stream
}

// feed consumes one read.
func (p *sse) feed(b []byte, at int64) error {
	for len(b) > 0 {
		if p.afterCR {
			if p.afterCR = false; b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		end := lineEnd(b)
		if end < 0 {
			if len(p.carry)+len(b) > maxEvent {
				return errEventTooLong
			}
			p.carry = append(p.carry, b...)
			break
		}
		line := b[:end]
		p.afterCR = b[end] == '\r'
		b = b[end+1:]
		if len(p.carry) > 0 {
			if len(p.carry)+len(line) > maxEvent {
				return errEventTooLong
			}
			p.carry = append(p.carry, line...)
			line = p.carry
		}
		err := p.line(line, at)
		if len(p.carry) > 0 {
			p.own() // data may point into carry
			p.carry = p.carry[:0]
		}
		if err != nil {
			return err
		}
	}
	p.own() // data may point into the caller's buffer
	return nil
}

// lineEnd returns the index of the first \n or \r, -1 if there is none.
func lineEnd(b []byte) int {
	nl := bytes.IndexByte(b, '\n')
	if nl < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:nl], '\r'); cr >= 0 {
		return cr
	}
	return nl
}

// own copies pending data out of buffers that are about to be reused.
func (p *sse) own() {
	if p.pending && (len(p.data) > 0 && (len(p.owned) == 0 || &p.data[0] != &p.owned[0])) {
		p.owned = append(p.owned[:0], p.data...)
		p.data = p.owned
	}
}

func (p *sse) line(line []byte, at int64) error {
	if !p.begun {
		p.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if len(line) == 0 {
		p.dispatch()
		return nil
	}
	name, value, colon := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(name) == 0 && colon: // a comment
	case string(name) == "data":
		return p.addData(value, at)
	case string(name) == "event":
		p.isError = string(value) == "error"
	case string(name) == "id", string(name) == "retry":
	default:
		p.junk = true
	}
	return nil
}

func (p *sse) addData(value []byte, at int64) error {
	p.at = at
	if !p.pending {
		p.data, p.pending = value, true
		return nil
	}
	if len(p.data)+len(value) > maxEvent {
		return errEventTooLong
	}
	p.own()
	p.owned = append(append(p.owned[:len(p.data)], '\n'), value...)
	p.data = p.owned
	return nil
}

// dispatch emits the pending event, if any. It is also called at the end of the stream, because some servers
// omit the last empty line.
func (p *sse) dispatch() {
	if p.pending {
		p.emit(p.data, p.isError, p.at)
	}
	p.data, p.owned, p.pending, p.isError = nil, p.owned[:0], false, false
}

// finish ends the stream: an incomplete line counts as a line.
func (p *sse) finish() error {
	if len(p.carry) > 0 {
		if err := p.line(p.carry, p.at); err != nil {
			return err
		}
		p.own()
		p.carry = p.carry[:0]
	}
	p.dispatch()
	return nil
}
