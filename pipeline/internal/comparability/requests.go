package comparability

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// maxRequests is the largest number of requests of a run that are compared one by one. Their digest has about
// 35 bytes per request.
const maxRequests = 100_000

// request is one measured request in a digest.
type request struct {
	given     bool // it succeeded
	continues bool // its prompt repeats answers of the server
	limited   bool // the length limit ended it
	blank     bool // its first event with a token had no text
	known     bool // its text is known
	firstly   bool // its first characters are known; older digests lack them
	ended     bool // its last characters are known; older digests lack them

	prompt, output, events, chars int
	asked, sum, begin, first, end uint32
}

// Flags of a request in a digest.
const (
	flagGiven = 1 << iota
	flagContinues
	flagLimited
	flagBlank
	flagText
	flagFirst
	flagEnd
)

// CollectRequests counts the requests of a run and digests them one by one. warmup holds those before them.
func CollectRequests(requests, warmup record.List) *result.RunRequests {
	out := &result.RunRequests{Finish: map[string]int{}, Warmup: warmupOf(warmup)}
	tail, tails := 0.0, 0 // in seconds, and the requests that have one
	var digest []byte
	next := 0
	for _, r := range requests.Sorted().All() {
		if r.Resent {
			out.Resent++
		}
		one := requestOf(r)
		if one.given {
			out.PromptTokens += one.prompt
			out.OutputTokens += one.output
			out.Events += one.events
			out.Characters += one.chars
			out.Gathered += gatheredOf(r)
			if r.Text != nil {
				out.Reasoning += r.Text.Reasoning
			}
			if r.Finish != "" {
				out.Finish[r.Finish]++
			}
			if one.blank {
				out.Blank++
			}
			if n := len(r.Events); n > 0 && r.Done >= 0 {
				tail, tails = tail+float64(max(r.Done-r.Events[n-1].At, 0))/1e9, tails+1
			}
		}
		if r.Index < next || r.Index >= maxRequests {
			continue
		}
		for ; next < r.Index; next++ {
			digest = append(digest, 0) // it was never sent
		}
		next++
		digest = one.append(digest)
	}
	out.Tail = tail / float64(max(tails, 1))
	out.Digest = base64.StdEncoding.EncodeToString(digest)
	return out
}

// gatheredOf counts the events that arrived at the time of the one before.
func gatheredOf(r *record.Request) (n int) {
	for i := 1; i < len(r.Events); i++ {
		if r.Events[i].At == r.Events[i-1].At {
			n++
		}
	}
	return n
}

func requestOf(r *record.Request) request {
	one := request{
		given: r.Failure == "", continues: r.Continues, limited: r.Finish == "length",
		prompt: r.PromptTokens, output: r.OutputTokens, events: len(r.Events), asked: r.Asked,
	}
	if t := r.Text; t != nil {
		one.known, one.firstly, one.ended, one.blank = true, true, true, t.Blank > 0
		one.chars, one.sum, one.begin, one.first, one.end = t.Chars, t.Sum, t.Begin, t.First, t.End
	}
	return one
}

func (r *request) append(b []byte) []byte {
	if !r.given {
		return append(b, 0)
	}
	flags := flagGiven
	for _, f := range []struct {
		set bool
		bit int
	}{
		{r.continues, flagContinues}, {r.limited, flagLimited}, {r.blank, flagBlank}, {r.known, flagText}, {r.firstly, flagFirst},
		{r.ended, flagEnd},
	} {
		if f.set {
			flags |= f.bit
		}
	}
	b = append(b, byte(flags))
	for _, n := range []int{r.prompt, r.output, r.events} {
		b = binary.AppendUvarint(b, uint64(max(n, 0)))
	}
	b = binary.BigEndian.AppendUint32(b, r.asked)
	if !r.known {
		return b
	}
	b = binary.AppendUvarint(b, uint64(max(r.chars, 0)))
	b = binary.BigEndian.AppendUint32(b, r.sum)
	b = binary.BigEndian.AppendUint32(b, r.begin)
	if r.firstly {
		b = binary.BigEndian.AppendUint32(b, r.first)
	}
	if r.ended {
		b = binary.BigEndian.AppendUint32(b, r.end)
	}
	return b
}

// readRequests decodes a digest, up to the first error.
func readRequests(digest string) []request {
	data, err := base64.StdEncoding.DecodeString(digest)
	if err != nil {
		return nil
	}
	d := decoder{b: data}
	var out []request
	for len(d.b) > 0 {
		flags := d.b[0]
		d.b = d.b[1:]
		one := request{
			given: flags&flagGiven != 0, continues: flags&flagContinues != 0, limited: flags&flagLimited != 0,
			blank: flags&flagBlank != 0, known: flags&flagText != 0, firstly: flags&flagFirst != 0,
			ended: flags&flagEnd != 0,
		}
		if one.given {
			one.prompt, one.output, one.events, one.asked = d.count(), d.count(), d.count(), d.word()
		}
		if one.known {
			one.chars, one.sum, one.begin = d.count(), d.word(), d.word()
		}
		if one.firstly {
			one.first = d.word()
		}
		if one.ended {
			one.end = d.word()
		}
		if d.bad {
			return out
		}
		out = append(out, one)
	}
	return out
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) count() int {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return int(v)
}

func (d *decoder) word() uint32 {
	if len(d.b) < 4 {
		d.bad = true
		return 0
	}
	v := binary.BigEndian.Uint32(d.b)
	d.b = d.b[4:]
	return v
}
