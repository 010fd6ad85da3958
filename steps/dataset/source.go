package dataset

import (
	"fmt"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

// Seeds of a draw. Lengths and content are separate, so that repeats can rotate the
// content (and not hit the prefix cache of the repeat before) at equal lengths.
type Seeds struct {
	Lengths, Content uint64
}

// Source makes prompts. The prompt of an index depends on the index, the seeds, the
// dataset and the corpus, and on nothing else: not on earlier calls, nor on the side.
// A Source may be used by several goroutines.
type Source interface {
	Prompt(i int, s Seeds) Prompt
}

// Prompts returns the first n prompts of a source.
func Prompts(src Source, n int, s Seeds) []Prompt {
	out := make([]Prompt, n)
	for i := range out {
		out[i] = src.Prompt(i, s)
	}
	return out
}

// UnsupportedError says that prompts of a kind cannot be made yet.
type UnsupportedError struct{ Kind string }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("dataset %q is not supported at run time yet; use random or sonnet", e.Kind)
}

// InvalidError says what is wrong with the lengths of a dataset.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "dataset: " + e.Reason }

// New returns the source of a dataset. The errors are those of Check, and an
// *InvalidError for a corpus too small to draw from.
func New(d steps.Dataset, c Corpus) (Source, error) {
	if err := Check(d); err != nil {
		return nil, err
	}
	if len(c.IDs) > 0 && len(c.IDs) < minCorpus {
		return nil, &InvalidError{Reason: fmt.Sprintf(
			"the server's tokenizer made %d tokens of the embedded text, at least %d are needed", len(c.IDs), minCorpus)}
	}
	return synthetic{spec: d, exact: len(c.IDs) > 0, draw: newDrawer(d.Kind, c)}, nil
}

// Check says whether prompts of a dataset can be made: *UnsupportedError for a kind
// that cannot be run yet, *InvalidError for an unknown kind or lengths that make no
// sense.
func Check(d steps.Dataset) error {
	bad := func(format string, args ...any) error { return &InvalidError{Reason: fmt.Sprintf(format, args...)} }
	switch d.Kind {
	case "random", "sonnet":
	case "sharegpt", "file", "trace":
		return &UnsupportedError{Kind: d.Kind}
	default:
		return bad("unknown kind %q", d.Kind)
	}
	switch {
	case d.InputMin < 1 || d.InputMax < d.InputMin:
		return bad("input lengths %d..%d: the minimum must be at least 1 and not above the maximum", d.InputMin, d.InputMax)
	case d.OutputMin < 1 || d.OutputMax < d.OutputMin:
		return bad("output lengths %d..%d: the minimum must be at least 1 and not above the maximum", d.OutputMin, d.OutputMax)
	case d.PrefixLen < 0:
		return bad("prefix length %d is negative", d.PrefixLen)
	case d.PrefixLen >= d.InputMin:
		return bad("prefix length %d leaves no token of its own to an input of %d; make it shorter than the shortest input", d.PrefixLen, d.InputMin)
	}
	return nil
}

// synthetic makes prompts of the embedded text: kinds random and sonnet.
type synthetic struct {
	spec  steps.Dataset
	exact bool
	draw  drawer
}

// Streams of the generator, so that lengths, content and the shared prefix do not
// depend on how much of another was drawn.
const (
	streamLengths = 0x6c656e6774687300 + iota
	streamContent
	streamPrefix
)

// stream returns the generator of one index. PCG is specified bit for bit, so draws
// are stable over versions of Go; the index is mixed in by an odd multiplier.
func stream(seed, name uint64, i int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, name^(uint64(i)*0x9e3779b97f4a7c15)))
}

func (s synthetic) Prompt(i int, seeds Seeds) Prompt {
	r := stream(seeds.Lengths, streamLengths, i)
	p := Prompt{
		Input:  between(r, s.spec.InputMin, s.spec.InputMax),
		Output: between(r, s.spec.OutputMin, s.spec.OutputMax),
	}
	body := stream(seeds.Content, streamContent, i)
	prefix := stream(seeds.Content, streamPrefix, 0)
	if s.exact {
		p.IDs = s.draw.appendIDs(make([]int, 0, p.Input), s.spec.PrefixLen, prefix)
		p.IDs = s.draw.appendIDs(p.IDs, p.Input, body)
		return p
	}
	p.Text = s.draw.text(s.spec.PrefixLen, prefix, p.Input, body)
	return p
}

// between draws uniformly from lo..hi, both included.
func between(r *rand.Rand, lo, hi int) int {
	if hi == lo {
		return lo
	}
	return lo + r.IntN(hi-lo+1)
}
