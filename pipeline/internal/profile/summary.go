package profile

import (
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/result"
)

// Summary holds the time of each operation, summed over traces.
type Summary struct {
	// Traces counts complete traces with operations, and Events the events of operations and kernels in all
	// traces.
	Traces int
	Events int64
	// Late counts operations so far out of order that nested operations count twice.
	Late int64

	index map[key]int
	ops   []operation
}

// operation is an operation on a CPU, or a kernel, copy or fill on a GPU.
type operation struct {
	Kind string // result.ProfileCPU or result.ProfileGPU
	Name string
	// Time in seconds; on a CPU, without nested operations.
	Time  float64
	Calls float64
}

type key struct{ kind, name string }

// others collects operations beyond the limit on names.
const others = "(other operations)"

// operation returns the index of an operation.
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

// add adds calls of an operation with their time in microseconds.
func (s *Summary) add(op int, microseconds, calls float64) {
	s.ops[op].Time += microseconds / 1e6
	s.ops[op].Calls += calls
}

// total returns the time of all operations of a kind.
func (s *Summary) total(kind string) float64 {
	sum := 0.0
	for _, o := range s.ops {
		if o.Kind == kind {
			sum += o.Time
		}
	}
	return sum
}

// Totals returns the times of all operations on CPUs and GPUs, in seconds.
func (s *Summary) Totals() (cpu, gpu float64) {
	return s.total(result.ProfileCPU), s.total(result.ProfileGPU)
}

// nameOf returns a name for storage. It truncates a long name, and a hash keeps it distinct.
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

// withoutNumbers merges the annotations of steps, which contain numbers of requests and tokens:
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
	_, _ = h.Write([]byte(text)) // cannot fail
	return h.Sum64()
}

const hexDigits = "0123456789abcdef"

// shortHash returns a hash that distinguishes two cut names.
func shortHash(text string) string {
	h := hash(text)
	out := make([]byte, 8)
	for i := range out {
		out[i] = hexDigits[h>>(4*i)&0xf]
	}
	return string(out)
}
