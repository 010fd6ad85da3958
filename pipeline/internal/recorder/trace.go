package recorder

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// maxKnown is how many different prompts of earlier calls are remembered: a later call can continue one of those.
const maxKnown = 1 << 18

// line is a call in the trace, in Mooncake's format with sessions (steps/dataset).
type line struct {
	Timestamp float64   `json:"timestamp"` // all times in milliseconds
	Duration  float64   `json:"duration"`
	Input     int       `json:"input_length"`
	Output    int       `json:"output_length"`
	HashIDs   []int64   `json:"hash_ids,omitempty"`
	BlockSize int       `json:"block_size,omitempty"`
	Session   string    `json:"session_id"`
	ID        string    `json:"id"`
	Parents   *[]string `json:"parents,omitempty"`
}

// trace writes the lines and determines which call continues which.
type trace struct {
	key     [32]byte
	block   int
	out     io.Writer
	summary Summary
	names   map[string]bool // sessions named by clients
	// known holds calls by the name of the last whole block of their prompts.
	known map[int64]*knownCall
	order []int64 // keys of known, in the order in which they became known
}

// knownCall is a call that later ones can continue.
type knownCall struct {
	id, session string
	ended       time.Duration
	input       int
}

func newTrace(block int, out io.Writer) *trace {
	t := &trace{block: block, out: out, names: map[string]bool{}, known: map[int64]*knownCall{}}
	_, _ = rand.Read(t.key[:]) // never fails
	return t
}

// hashes names the blocks of a prompt. Each name includes all earlier blocks. Names are below 2^53, which every
// JSON reader represents exactly.
func (t *trace) hashes(ids []int) []int64 {
	var names []int64
	mac := hmac.New(sha256.New, t.key[:])
	var word [8]byte
	var sum [sha256.Size]byte
	for at := 0; at < len(ids); at += t.block {
		part := ids[at:min(at+t.block, len(ids))]
		mac.Reset()
		mac.Write(sum[:])
		for _, id := range part {
			binary.LittleEndian.PutUint64(word[:], uint64(id))
			mac.Write(word[:])
		}
		mac.Sum(sum[:0])
		names = append(names, int64(binary.LittleEndian.Uint64(sum[:])>>11))
	}
	return names
}

// add writes a call. Without a client's session name, the call joins the session of the call that it continues,
// or starts a new one. A call that cannot be written is not counted.
func (t *trace) add(c *call) (err error) {
	before := t.summary
	defer func() {
		if err != nil {
			t.summary = before
		}
	}()
	l := line{
		Timestamp: milliseconds(c.began), Duration: milliseconds(c.took), Input: c.input, Output: c.output,
		HashIDs: t.hashes(c.ids), ID: strconv.Itoa(t.summary.Calls),
	}
	if l.HashIDs != nil {
		l.BlockSize = t.block
	}
	if c.session != "" {
		l.Session = t.named(c.session)
	} else {
		l.Parents = &[]string{}
		if p := t.parent(c, l.HashIDs); p != nil {
			l.Session, *l.Parents = p.session, []string{p.id}
		} else {
			l.Session = t.session()
		}
		t.remember(c, l)
	}
	t.summary.Calls++
	raw, err := json.Marshal(l)
	if err == nil {
		_, err = t.out.Write(append(raw, '\n'))
	}
	return err
}

// milliseconds converts a duration, accurate to a microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func (t *trace) session() string {
	t.summary.Sessions++
	return "s" + strconv.Itoa(t.summary.Sessions)
}

// named returns a session ID for a client's session name. It hashes the name, which may identify the client.
func (t *trace) named(name string) string {
	mac := hmac.New(sha256.New, t.key[:])
	mac.Write([]byte(name))
	sum := fmt.Sprintf("h%x", mac.Sum(nil)[:8])
	if !t.names[sum] && len(t.names) < maxKnown {
		t.names[sum] = true
		t.summary.Sessions++
	}
	return sum
}

// parent returns the call with the longest prompt that this prompt begins with, among calls that had ended.
func (t *trace) parent(c *call, names []int64) *knownCall {
	for k := len(c.ids)/t.block - 1; k >= 0; k-- {
		if p := t.known[names[k]]; p != nil && p.ended <= c.began && p.input < c.input {
			return p
		}
	}
	return nil
}

func (t *trace) remember(c *call, l line) {
	whole := len(c.ids) / t.block
	if whole == 0 {
		return
	}
	name := l.HashIDs[whole-1]
	if t.known[name] == nil {
		t.order = append(t.order, name)
	}
	t.known[name] = &knownCall{l.ID, l.Session, c.began + c.took, c.input}
	if len(t.order) > maxKnown {
		delete(t.known, t.order[0])
		t.order = t.order[1:]
	}
}
