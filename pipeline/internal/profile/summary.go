package profile

import (
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/result"
)

// Summary is the time of each operation, added up over traces.
type Summary struct {
	// Traces that were read whole and have operations, and the events of operations and kernels in all of them.
	Traces int
	Events int64
	// Late is how many operations came so far out of order that those inside them count twice.
	Late int64

	index map[key]int
	ops   []operation
}

// operation on a CPU, or a kernel, copy or fill on a GPU.
type operation struct {
	Kind string // result.ProfileCPU or result.ProfileGPU
	Name string
	// Time in seconds, of an operation on a CPU without that of those inside it.
	Time  float64
	Calls float64
}

type key struct{ kind, name string }

// others takes what comes when there are more names than are kept.
const others = "(other operations)"

// operation returns the number of an operation.
func (s *Summary) operation(kind, name string) int {
	k := key{kind, name}
	if i, ok := s.index[k]; ok {
		return i
	}
	if s.index == nil {
		s.index = map[key]int{}
	}
	if len(s.ops) >= maxNames && name != others {
		return s.operation(kind, others)
	}
	s.index[k] = len(s.ops)
	s.ops = append(s.ops, operation{Kind: kind, Name: name})
	return len(s.ops) - 1
}

// add counts calls of an operation with their time in microseconds.
func (s *Summary) add(op int, microseconds, calls float64) {
	s.ops[op].Time += microseconds / 1e6
	s.ops[op].Calls += calls
}

// total time of the operations of a kind.
func (s *Summary) total(kind string) float64 {
	sum := 0.0
	for _, o := range s.ops {
		if o.Kind == kind {
			sum += o.Time
		}
	}
	return sum
}

// Totals are the times of all operations on CPUs and GPUs, in seconds.
func (s *Summary) Totals() (cpu, gpu float64) {
	return s.total(result.ProfileCPU), s.total(result.ProfileGPU)
}

// nameOf is a name as it is kept. Of a longer one the end is cut, and a hash keeps it distinct.
func nameOf(raw []byte) string {
	name := strings.ToValidUTF8(string(raw), "?")
	if name == "" {
		return "(no name)"
	}
	if len(name) <= maxName {
		return name
	}
	cut := maxName
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "…#" + shortHash(name)
}

// withoutNumbers joins the annotations of steps, which count requests and tokens:
// "execute_context_1(512)_generation_3(3)" and "ProfilerStep#7".
func withoutNumbers(name string) string {
	var b strings.Builder
	digits := false
	for _, r := range name {
		if r >= '0' && r <= '9' {
			if !digits {
				b.WriteByte('N')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(r)
	}
	return b.String()
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // which cannot fail
	return h.Sum64()
}

const hexDigits = "0123456789abcdef"

// shortHash keeps two cut names apart.
func shortHash(text string) string {
	h := hash(text)
	out := make([]byte, 8)
	for i := range out {
		out[i] = hexDigits[h>>(4*i)&0xf]
	}
	return string(out)
}
