package profile

import (
	"bufio"
	"bytes"
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

// What is kept of a trace. Traces of gigabytes exist: memory is bounded by names and by the
// events that wait to be put in order, time by the bytes that are read.
const (
	maxName   = 2000    // bytes of a name
	maxNames  = 100_000 // of different operations
	reorder   = 1 << 16 // events that may come out of their order
	maxFrames = 10_000  // operations inside each other, in one thread
	maxLanes  = 10_000  // threads
)

// Bounds of a reading.
type Bounds struct {
	// Bytes of a trace, unpacked; 0 means 64 GiB.
	Bytes int64
}

const defaultBytes = 64 << 30

// errTooLarge ends the reading of a trace.
var errTooLarge = errors.New("it is larger than what is read of a trace")

// category says what the events of a category are.
type category int

const (
	ignored category = iota
	onCPU            // an operation, whose time is its own without that of those inside it
	waiting          // for the GPU: no time of the operation around it, and none of its own
	onGPU
)

// categories of torch's profiler. Python's own functions and the frames of modules are left
// out: what they do is in the operations that they call.
var categories = map[string]category{
	"cpu_op": onCPU, "user_annotation": onCPU, "cuda_runtime": onCPU, "cuda_driver": onCPU,
	"Operator": onCPU, "kernel": onGPU, "gpu_memcpy": onGPU, "gpu_memset": onGPU, "Kernel": onGPU, "Memcpy": onGPU, "Memset": onGPU,
}

// waits are calls of the runtime that last until the GPU is done.
var waits = []string{
	"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "hipStreamSynchronize", "hipDeviceSynchronize",
	"hipEventSynchronize",
	"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize",
}

// ReadTrace adds the events of one trace, gzipped or not. A trace that ends in the middle is an
// error, and what came before it counts. One without operations is none: engines write one for
// each of their processes, and some only pass requests on.
func (s *Summary) ReadTrace(r io.Reader, b Bounds) error {
	in := bufio.NewReaderSize(r, 1<<16)
	var plain io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		plain = z
	}
	if b.Bytes <= 0 {
		b.Bytes = defaultBytes
	}
	t := &trace{into: s, threads: map[thread]*stack{}}
	t.Decoder = jsontext.NewDecoder(&bounded{r: plain, left: b.Bytes}, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
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

// bounded fails beyond so many bytes, and within a string that no memory should hold.
type bounded struct {
	r       io.Reader
	left    int64
	string  int64 // bytes of the string in the course of being read
	inside  bool
	escaped bool
}

// maxString bounds a string of a trace.
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

// trace is one in the course of being read.
type trace struct {
	*jsontext.Decoder
	into    *Summary
	events  int64
	late    int64 // that came too far out of order
	pending []span
	threads map[thread]*stack
}

// thread that operations are inside each other in.
type thread struct{ pid, tid uint64 }

// span is an operation on a CPU with its times in microseconds.
type span struct {
	start, end float64
	op         int
	in         thread
	wait       bool
}

// document reads {"traceEvents": […], …}, or the list alone.
func (t *trace) document() error {
	switch t.PeekKind() {
	case '[':
		return t.list()
	case '{':
	default:
		if _, err := t.ReadToken(); err != nil {
			return notTrace(err)
		}
		return errors.New("it is no trace: neither an object nor a list of events")
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

// event reads one event; those that are no complete operation are skipped.
func (t *trace) event() error {
	var e struct {
		phase, category, name []byte
		start, duration       float64
		in                    thread
	}
	e.start, e.duration = math.NaN(), math.NaN()
	if _, err := t.ReadToken(); err != nil {
		return err
	}
	for t.PeekKind() != '}' {
		key, err := t.ReadToken()
		if err != nil {
			return err
		}
		var field any
		switch key.String() {
		case "ph":
			field = &e.phase
		case "cat":
			field = &e.category
		case "name":
			field = &e.name
		case "ts":
			field = &e.start
		case "dur":
			field = &e.duration
		case "pid":
			field = &e.in.pid
		case "tid":
			field = &e.in.tid
		}
		if err := t.value(field); err != nil {
			return err
		}
	}
	if _, err := t.ReadToken(); err != nil {
		return err
	}
	kind := categories[string(e.category)]
	if string(e.phase) != "X" || kind == ignored || !(e.duration >= 0) || math.IsNaN(e.start) || math.IsInf(e.start, 0) ||
		math.IsInf(e.duration, 0) {
		return nil
	}
	t.events++
	if kind == onGPU {
		t.into.add(t.into.operation(result.ProfileGPU, nameOf(e.name)), e.duration, 1)
		return nil
	}
	name := nameOf(e.name)
	if string(e.category) == "user_annotation" {
		name = withoutNumbers(name)
	}
	t.put(span{e.start, e.start + e.duration, t.into.operation(result.ProfileCPU, name), e.in, slices.Contains(waits, name)})
	return nil
}

// value reads a member into a field of the type that it should have, or skips it.
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
	case *uint64: // a number, or a text such as "Spans": which one does not matter
		*to = hash(tok.String())
	}
	return nil
}

// put takes an operation on a CPU. Operations of a thread come by their start, with some out
// of order: enough of them are kept back to be sorted.
func (t *trace) put(s span) {
	t.pending = append(t.pending, s)
	if len(t.pending) >= 2*reorder {
		t.flush(reorder)
	}
}

// flush works off all but the last operations by their start.
func (t *trace) flush(keep int) {
	slices.SortStableFunc(t.pending, func(a, b span) int {
		switch { // what encloses another comes first
		case a.start != b.start:
			return order(a.start, b.start)
		default:
			return order(b.end, a.end)
		}
	})
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

func order(a, b float64) int {
	if a < b {
		return -1
	} else if a > b {
		return 1
	}
	return 0
}

// stack are the operations of a thread that are not over.
type stack struct {
	frames []frame
	last   float64
}

type frame struct {
	span
	inside float64 // time of the operations inside
}

// push begins an operation. One that starts before another that was worked off already counts
// in full: what it is inside of, or has inside, is not known any more. It reports whether the
// operation came in time.
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

// unwind ends the operations that are over at a time.
func (st *stack) unwind(into *Summary, now float64) {
	for n := len(st.frames); n > 0 && st.frames[n-1].end <= now; n = len(st.frames) {
		f := st.frames[n-1]
		st.frames = st.frames[:n-1]
		if !f.wait {
			into.add(f.op, max(0, f.end-f.start-f.inside), 1)
		}
	}
}
