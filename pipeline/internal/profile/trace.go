package profile

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/servegate/pipeline/reports/result"
)

// Limits for traces, which may have gigabytes. The number of names and of events waiting to be sorted limits
// the memory, the number of bytes the time.
const (
	maxName   = 2000     // bytes in a name
	maxNames  = 100_000  // different operations
	reorder   = 1 << 16  // events that may be out of order
	maxFrames = 10_000   // nested operations in one thread
	maxLanes  = 10_000   // threads
	maxBytes  = 64 << 30 // of an uncompressed trace
)

// errTooLarge ends the reading of a trace.
var errTooLarge = errors.New("it is larger than what is read of a trace")

// categories maps torch's categories of operations to their kinds. Python functions and module frames are omitted, because their work is
// in the operations that they call.
var categories = map[string]string{
	"cpu_op": result.ProfileCPU, "user_annotation": result.ProfileCPU, "cuda_runtime": result.ProfileCPU, "cuda_driver": result.ProfileCPU,
	"Operator": result.ProfileCPU,
	"kernel":   result.ProfileGPU, "gpu_memcpy": result.ProfileGPU, "gpu_memset": result.ProfileGPU,
	"Kernel": result.ProfileGPU, "Memcpy": result.ProfileGPU, "Memset": result.ProfileGPU,
}

// waits lists runtime calls that last until the GPU has finished.
var waits = []string{
	"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "hipStreamSynchronize", "hipDeviceSynchronize",
	"hipEventSynchronize",
	"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize",
}

// ReadTrace adds the events of one trace, compressed or not. An incomplete trace is an error, but its events so
// far count. A trace without operations is ignored: engines write one per process, and some processes only
// forward requests.
func (s *Summary) ReadTrace(r io.Reader) error { return s.readTrace(r, maxBytes) }

// readTrace reads at most a number of bytes of the uncompressed trace.
func (s *Summary) readTrace(r io.Reader, limit int64) error {
	in := bufio.NewReaderSize(r, 1<<16)
	var plain io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		plain = z
	}
	t := &trace{into: s, threads: map[thread]*stack{}}
	t.Decoder = jsontext.NewDecoder(&bounded{r: plain, left: limit}, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := t.document()
	t.flush(0)
	for _, st := range t.threads {
		st.unwind(s, math.Inf(1))
	}
	s.Events += t.events
	s.Late += t.late
	if err == nil && t.events > 0 {
		s.Traces++
	}
	return err
}

// bounded fails after a number of bytes, and in a string that is too long.
type bounded struct {
	r       io.Reader
	left    int64
	string  int64 // bytes of the current string
	inside  bool
	escaped bool
}

// maxString is the largest length of a string in a trace, in bytes.
const maxString = 16 << 20

var errString = errors.New("a string of it is longer than what is read")

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	for _, c := range p[:n] {
		switch {
		case !b.inside:
			b.inside, b.string = c == '"', 0
			continue
		case b.escaped:
			b.escaped = false
		case c == '\\':
			b.escaped = true
		case c == '"':
			b.inside = false
		}
		if b.string++; b.string > maxString {
			return 0, errString
		}
	}
	return n, err
}

// trace is a trace while it is read.
type trace struct {
	*jsontext.Decoder
	into    *Summary
	events  int64
	late    int64 // count too far out of order
	pending []span
	threads map[thread]*stack
}

// thread is a thread in which operations are nested.
type thread struct{ pid, tid uint64 }

// span is an operation on a CPU, with its times in microseconds.
type span struct {
	start, end float64
	op         int
	in         thread
	wait       bool
}

// document reads {"traceEvents": [...], ...}, or only the list.
func (t *trace) document() error {
	switch t.PeekKind() {
	case '[':
		return t.list()
	case '{':
	default:
		if _, err := t.ReadToken(); err != nil {
			return notTrace(err)
		}
		return errors.New("not a trace: must be an object or a list of events")
	}
	if _, err := t.ReadToken(); err != nil {
		return err
	}
	found := false
	for t.PeekKind() != '}' {
		name, err := t.ReadToken()
		if err != nil {
			return notTrace(err)
		}
		if name.String() != "traceEvents" || t.PeekKind() != '[' {
			if err := t.SkipValue(); err != nil {
				return notTrace(err)
			}
			continue
		}
		found = true
		if err := t.list(); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("it has no traceEvents")
	}
	return nil
}

func notTrace(err error) error {
	if errors.Is(err, errTooLarge) || errors.Is(err, errString) {
		return err
	}
	return fmt.Errorf("it is not whole JSON: %w", err)
}

func (t *trace) list() error {
	if _, err := t.ReadToken(); err != nil {
		return err
	}
	for t.PeekKind() != ']' {
		if t.PeekKind() != '{' {
			if err := t.SkipValue(); err != nil {
				return notTrace(err)
			}
			continue
		}
		if err := t.event(); err != nil {
			return notTrace(err)
		}
	}
	_, err := t.ReadToken()
	return err
}

// traceEvent is an event of a trace, with its times in microseconds.
type traceEvent struct {
	phase, category, name []byte
	start, duration       float64
	in                    thread
}

// field returns where a member of the event goes, nil for one that is skipped.
func (e *traceEvent) field(name string) any {
	switch name {
	case "ph":
		return &e.phase
	case "cat":
		return &e.category
	case "name":
		return &e.name
	case "ts":
		return &e.start
	case "dur":
		return &e.duration
	case "pid":
		return &e.in.pid
	case "tid":
		return &e.in.tid
	}
	return nil
}

// event reads one event, and counts it if it is a complete operation.
func (t *trace) event() error {
	e := traceEvent{start: math.NaN(), duration: math.NaN()}
	if _, err := t.ReadToken(); err != nil {
		return err
	}
	for t.PeekKind() != '}' {
		key, err := t.ReadToken()
		if err != nil {
			return err
		}
		if err := t.value(e.field(key.String())); err != nil {
			return err
		}
	}
	if _, err := t.ReadToken(); err != nil {
		return err
	}
	t.count(e)
	return nil
}

// count adds an event to the operations, unless it is none.
func (t *trace) count(e traceEvent) {
	kind := categories[string(e.category)]
	if string(e.phase) != "X" || kind == "" || !(e.duration >= 0) || math.IsNaN(e.start) || math.IsInf(e.start, 0) ||
		math.IsInf(e.duration, 0) {
		return
	}
	t.events++
	if kind == result.ProfileGPU {
		t.into.add(t.into.operation(kind, nameOf(e.name)), e.duration, 1)
		return
	}
	name := nameOf(e.name)
	if string(e.category) == "user_annotation" {
		name = withoutNumbers(name)
	}
	t.put(span{e.start, e.start + e.duration, t.into.operation(kind, name), e.in, slices.Contains(waits, name)})
}

// value reads a member into a field of the expected type, or skips it.
func (t *trace) value(field any) error {
	kind := t.PeekKind()
	if field == nil || kind == '{' || kind == '[' {
		return t.SkipValue()
	}
	tok, err := t.ReadToken()
	if err != nil {
		return err
	}
	switch to := field.(type) {
	case *[]byte:
		if kind == '"' {
			text := tok.String()
			*to = append((*to)[:0], text[:min(len(text), 2*maxName)]...)
		}
	case *float64:
		if v, err := strconv.ParseFloat(tok.String(), 64); err == nil {
			*to = v
		}
	case *uint64: // a number, or a text such as "Spans"; either identifies it
		*to = hash(tok.String())
	}
	return nil
}

// put adds an operation on a CPU. The operations of a thread are almost ordered by start, so enough of them are
// buffered for sorting.
func (t *trace) put(s span) {
	t.pending = append(t.pending, s)
	if len(t.pending) >= 2*reorder {
		t.flush(reorder)
	}
}

// flush processes all but the last operations, ordered by start.
func (t *trace) flush(keep int) {
	// An enclosing operation comes first.
	slices.SortStableFunc(t.pending, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	done := len(t.pending) - keep
	for _, s := range t.pending[:done] {
		st := t.threads[s.in]
		if st == nil {
			if len(t.threads) >= maxLanes {
				s.in = thread{}
			}
			if st = t.threads[s.in]; st == nil {
				st = &stack{}
				t.threads[s.in] = st
			}
		}
		if !st.push(t.into, s) {
			t.late++
		}
	}
	t.pending = append(t.pending[:0], t.pending[done:]...)
}

// stack holds the unfinished operations of a thread.
type stack struct {
	frames []frame
	last   float64
}

type frame struct {
	span
	inside float64 // time of nested operations
}

// push starts an operation and reports whether it came in time. An operation that starts before one already
// processed counts in full, because its nesting is unknown.
func (st *stack) push(into *Summary, s span) bool {
	if s.start < st.last || len(st.frames) >= maxFrames {
		if !s.wait {
			into.add(s.op, s.end-s.start, 1)
		}
		return false
	}
	st.last = s.start
	st.unwind(into, s.start)
	if n := len(st.frames); n > 0 {
		f := &st.frames[n-1]
		f.inside += min(s.end, f.end) - s.start
	}
	st.frames = append(st.frames, frame{span: s})
	return true
}

// unwind ends the operations that have ended by a time.
func (st *stack) unwind(into *Summary, now float64) {
	for n := len(st.frames); n > 0 && st.frames[n-1].end <= now; n = len(st.frames) {
		f := st.frames[n-1]
		st.frames = st.frames[:n-1]
		if !f.wait {
			into.add(f.op, max(0, f.end-f.start-f.inside), 1)
		}
	}
}
