package record

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
)

// List holds requests in a compact form: one with eight tokens takes 70 bytes, where a [Request] takes 330. A run of a
// million requests then fits in memory, and its metrics can still be computed from its records. The zero value is an
// empty list. Copies share their requests, so only one of them may be added to.
type List struct {
	chunks [][]byte // encoded requests, each within one chunk
	at     []place  // of each request, in the order of the list
	events int
	// words are the texts of the requests, which refer to them by number, since most are equal. numbers has the number
	// of each.
	words   []string
	numbers map[string]int
	answers []*Answer
	scratch []byte   // the last encoded request
	spare   [][]byte // chunks that Edit has read
}

// place is where a request begins.
type place struct{ chunk, offset uint32 }

// ListOf returns a list of requests.
func ListOf(requests ...Request) List {
	var l List
	for _, r := range requests {
		l.Add(r)
	}
	return l
}

// Len returns the number of requests.
func (l List) Len() int { return len(l.at) }

// Events returns the number of events of all requests.
func (l List) Events() int { return l.events }

// The sizes of chunks in bytes: each of the first is twice as large as the one before, so that short and long lists waste
// little.
const (
	firstChunk = 1 << 10
	lastChunk  = 1 << 18
)

// Add appends a request. An answer is shared with it, and everything else is copied.
func (l *List) Add(r Request) {
	l.scratch = l.encode(l.scratch[:0], &r)
	last := len(l.chunks) - 1
	if last < 0 || len(l.scratch) > cap(l.chunks[last])-len(l.chunks[last]) {
		last++
		l.chunks = append(l.chunks, l.chunk(len(l.scratch)))
	}
	l.at = append(l.at, place{uint32(last), uint32(len(l.chunks[last]))})
	l.chunks[last] = append(l.chunks[last], l.scratch...)
	l.events += len(r.Events)
}

// chunk returns an empty chunk for at least n bytes.
func (l *List) chunk(n int) []byte {
	if last := len(l.spare) - 1; last >= 0 && cap(l.spare[last]) >= n {
		c := l.spare[last]
		l.spare = l.spare[:last]
		return c[:0]
	}
	return make([]byte, 0, max(min(firstChunk<<min(len(l.chunks), 8), lastChunk), n))
}

// All yields the requests in order, with their numbers. Each is valid until the next one is yielded.
func (l List) All() iter.Seq2[int, *Request] {
	return func(yield func(int, *Request) bool) {
		var d decoder
		for i := range l.at {
			if !yield(i, d.decode(&l, i)) {
				return
			}
		}
	}
}

// At returns request i.
func (l List) At(i int) Request {
	var d decoder
	return *d.decode(&l, i)
}

// Sorted returns the list in the order of the requests' indices.
func (l List) Sorted() List {
	index := func(p place) int64 {
		v, _ := binary.Varint(l.chunks[p.chunk][p.offset:])
		return v
	}
	byIndex := func(a, b place) int { return cmp.Compare(index(a), index(b)) }
	sorted := l
	if !slices.IsSortedFunc(l.at, byIndex) {
		sorted.at = slices.Clone(l.at)
		slices.SortStableFunc(sorted.at, byIndex)
	}
	return sorted
}

// Edit changes each request. It writes into the memory of what it has read, so that copies of the list must not be used
// afterwards.
func (l *List) Edit(change func(*Request)) {
	old := *l
	left := make([]int, len(old.chunks)) // requests of each chunk
	for _, p := range old.at {
		left[p.chunk]++
	}
	*l = List{at: old.at[:0]}
	var d decoder
	for i := range old.at {
		from := old.at[i].chunk
		r := d.decode(&old, i)
		change(r)
		l.Add(*r)
		if left[from]--; left[from] == 0 {
			l.spare = append(l.spare, old.chunks[from])
		}
	}
	l.spare = nil
}

// Flags of an encoded request.
const (
	flagResent = 1 << iota
	flagContinues
	flagOneEach // every event brought one token
	flagText
	flagAnswer
	flagSession
)

// encode appends an encoded request. Times are differences, which need fewer bytes; the index comes first.
func (l *List) encode(b []byte, r *Request) []byte {
	flags, n := byte(flagOneEach), 0
	for _, e := range r.Events {
		if n++; e.Tokens != n {
			flags &^= flagOneEach
		}
	}
	for _, f := range []struct {
		set bool
		bit byte
	}{
		{r.Resent, flagResent}, {r.Continues, flagContinues}, {r.Text != nil, flagText}, {r.Answer != nil, flagAnswer},
		{r.Session != nil, flagSession},
	} {
		if f.set {
			flags |= f.bit
		}
	}
	b = append(binary.AppendVarint(b, int64(r.Index)), flags)
	for _, v := range [...]int64{
		r.Planned, r.Sent - r.Planned, int64(r.PromptTokens), int64(r.WantTokens), int64(r.OutputTokens), int64(r.CachedTokens),
		int64(r.Status), l.number(r.Finish), l.number(string(r.Failure)), l.number(r.Error), int64(len(r.Events)),
	} {
		b = binary.AppendVarint(b, v)
	}
	at, tokens := r.Sent, 0
	for _, e := range r.Events {
		b = binary.AppendVarint(b, e.At-at)
		if flags&flagOneEach == 0 {
			b = binary.AppendVarint(b, int64(e.Tokens-tokens-1))
		}
		at, tokens = e.At, e.Tokens
	}
	b = binary.AppendVarint(b, r.Done-at)
	if len(r.Events) > 0 {
		at = r.Events[0].At
	}
	b = binary.AppendVarint(b, r.Headers-at)
	b = binary.LittleEndian.AppendUint32(b, r.Asked)
	if t := r.Text; t != nil {
		for _, n := range [...]int{t.Chars, t.Blank, t.Reasoning} {
			b = binary.AppendVarint(b, int64(n))
		}
		for _, sum := range [...]uint32{t.Sum, t.Begin, t.First, t.End} {
			b = binary.LittleEndian.AppendUint32(b, sum)
		}
	}
	if r.Answer != nil {
		b = binary.AppendVarint(b, int64(len(l.answers)))
		l.answers = append(l.answers, r.Answer)
	}
	if r.Session != nil {
		b = binary.AppendVarint(b, int64(*r.Session))
	}
	return b
}

// number returns the number of a text, from 1; the empty text is 0.
func (l *List) number(word string) int64 {
	if word == "" {
		return 0
	}
	n, ok := l.numbers[word]
	if !ok {
		if l.numbers == nil {
			l.numbers = map[string]int{}
		}
		l.words = append(l.words, word)
		n = len(l.words)
		l.numbers[word] = n
	}
	return int64(n)
}

// decoder decodes one request after the other into the same memory.
type decoder struct {
	b       []byte // the chunk of the request
	at      int    // what is decoded next
	request Request
	events  []Event
	text    Text
}

// decode returns request i of a list.
func (d *decoder) decode(l *List, i int) *Request {
	d.b, d.at = l.chunks[l.at[i].chunk], int(l.at[i].offset)
	r := &d.request
	*r = Request{Index: int(d.int())}
	flags := d.b[d.at]
	d.at++
	r.Resent, r.Continues = flags&flagResent != 0, flags&flagContinues != 0
	r.Planned = d.int()
	r.Sent = r.Planned + d.int()
	for _, n := range [...]*int{&r.PromptTokens, &r.WantTokens, &r.OutputTokens, &r.CachedTokens, &r.Status} {
		*n = int(d.int())
	}
	r.Finish, r.Failure, r.Error = d.word(l), Failure(d.word(l)), d.word(l)
	last := d.decodeEvents(r.Sent, flags&flagOneEach != 0)
	r.Done, r.Headers = last+d.int(), r.Sent
	if len(d.events) > 0 {
		r.Events, r.Headers = d.events, d.events[0].At
	}
	r.Headers += d.int()
	r.Asked = d.uint32()
	if flags&flagText != 0 {
		d.text = Text{
			Chars: int(d.int()), Blank: int(d.int()), Reasoning: int(d.int()),
			Sum: d.uint32(), Begin: d.uint32(), First: d.uint32(), End: d.uint32(),
		}
		r.Text = &d.text
	}
	if flags&flagAnswer != 0 {
		r.Answer = l.answers[d.int()]
	}
	if flags&flagSession != 0 {
		r.Session = new(int(d.int()))
	}
	return r
}

// decodeEvents decodes the events of a request, and returns the time of the last one, or of its send.
func (d *decoder) decodeEvents(sent int64, oneEach bool) (last int64) {
	n := int(d.int())
	d.events = slices.Grow(d.events[:0], n)[:n]
	e := Event{At: sent}
	for k := range d.events {
		e.At += d.int()
		if e.Tokens++; !oneEach {
			e.Tokens += int(d.int())
		}
		d.events[k] = e
	}
	return e.At
}

// int decodes a number as binary.Varint does, but faster: the requests of a run are decoded a dozen times.
func (d *decoder) int() int64 {
	var v uint64
	at := d.at
	for shift := 0; ; shift += 7 {
		b := d.b[at]
		at++
		if v |= uint64(b&0x7f) << (shift & 63); b < 0x80 {
			break
		}
	}
	d.at = at
	return int64(v>>1) ^ -int64(v&1)
}

func (d *decoder) uint32() uint32 {
	v := binary.LittleEndian.Uint32(d.b[d.at:])
	d.at += 4
	return v
}

func (d *decoder) word(l *List) string {
	if n := d.int(); n > 0 {
		return l.words[n-1]
	}
	return ""
}

// MarshalJSON implements json.Marshaler: a list is an array.
func (l List) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, r := range l.All() {
		if i > 0 {
			b = append(b, ',')
		}
		one, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", r.Index, err)
		}
		b = append(b, one...)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(text []byte) error {
	*l = List{}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if _, err := in.Token(); err != nil { // the bracket, or null
		return err
	}
	for in.More() {
		var r Request
		if err := in.Decode(&r); err != nil {
			return err
		}
		l.Add(r)
	}
	return nil
}
