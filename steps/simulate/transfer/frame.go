package transfer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// frame is a message between two simulated servers about the KV of one request. It replaces the
// side channels and data paths of all connectors, which differ in names but not in content.
type frame struct {
	// Op of a request is "hello", "get" or "put". Op of an answer is "ok", "ready" for the payload
	// of a put, "kv" before the payload of a get, "miss" or "error".
	Op string `json:"op"`
	// Engine is the addressed one (hello) or the sender (ok).
	Engine string `json:"engine,omitempty"`
	// Compat must be the same on both sides: model, block size, type of the cache.
	Compat string `json:"compat,omitempty"`
	// Key of the request's KV: block ids, a transfer id, a room, a hash of the prompt.
	Key string `json:"key,omitempty"`
	// Tokens wanted (get) or sent (put, kv).
	Tokens int `json:"tokens,omitempty"`
	// Wait for a key that does not exist yet.
	Wait bool `json:"wait,omitempty"`
	// At is the model time of the event: of the request (get), or of the end of the transfer (put,
	// kv). From is the time of its beginning. "" means the arrival of the frame.
	At   string `json:"at,omitempty"`
	From string `json:"from,omitempty"`
	// Payload bytes that follow the frame.
	Payload int    `json:"payload,omitempty"`
	Error   string `json:"error,omitempty"`
}

const (
	maxFrame = 64 << 10
	// payloadShare: one of so many modelled bytes is sent, at most maxPayload. This is enough for a
	// real transfer, but so little that only the model determines its duration.
	payloadShare = 1024
	maxPayload   = 1 << 20
)

var errFrame = errors.New("not a frame of a simulated KV transfer")

func writeFrame(w io.Writer, f frame) error {
	body, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if len(body) > maxFrame {
		return fmt.Errorf("%w: it has %d bytes, at most %d may be sent", errFrame, len(body), maxFrame)
	}
	buf := make([]byte, 8, 8+len(body))
	copy(buf, "KVX1")
	binary.BigEndian.PutUint32(buf[4:], uint32(len(body)))
	_, err = w.Write(append(buf, body...))
	return err
}

func readFrame(r io.Reader) (frame, error) {
	var f frame
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	n := binary.BigEndian.Uint32(head[4:])
	if string(head[:4]) != "KVX1" || n > maxFrame {
		return f, errFrame
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return f, err
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return f, fmt.Errorf("%w: %w", errFrame, err)
	}
	if f.Payload < 0 || f.Payload > maxPayload || f.Tokens < 0 {
		return f, fmt.Errorf("%w: payload %d, tokens %d", errFrame, f.Payload, f.Tokens)
	}
	return f, nil
}

// payloadOf returns the number of bytes to send for a number of modelled bytes.
func payloadOf(bytes float64) int { return min(int(bytes)/payloadShare+1, maxPayload) }

// writePayload sends n zero bytes.
func writePayload(w io.Writer, n int) error {
	_, err := io.CopyN(w, zeros{}, int64(n))
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
