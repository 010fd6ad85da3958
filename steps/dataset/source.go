package dataset

import (
	"context"
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

// InvalidError says what is wrong with a dataset: its lengths or its file.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "dataset: " + e.Reason }

func invalid(format string, args ...any) error {
	return &InvalidError{Reason: fmt.Sprintf(format, args...)}
}

func checkCorpus(c Corpus) error {
	if len(c.IDs) > 0 && len(c.IDs) < minCorpus {
		return invalid("the server's tokenizer made %d tokens of the embedded text, at least %d are needed", len(c.IDs), minCorpus)
	}
	return nil
}

// maker is what all sources make prompts with.
type maker struct {
	spec  steps.Dataset
	exact bool // of token ids
	draw  drawer
}

// newMaker draws whole lines of verse, or single words.
func newMaker(d steps.Dataset, c Corpus, lines bool) maker {
	return maker{spec: d, exact: len(c.IDs) > 0, draw: newDrawer(lines, c)}
}

// synthetic makes prompts of the embedded text: kinds random and sonnet.
type synthetic struct{ maker }

// drawn makes prompts of whole lines of verse, or of single words.
func drawn(lines bool) func(context.Context, steps.Dataset, Material) (Source, error) {
	return func(_ context.Context, d steps.Dataset, m Material) (Source, error) {
		return synthetic{newMaker(d, m.Corpus, lines)}, nil
	}
}

// Streams of the generator, so that lengths, content and the shared prefix do not
// depend on how much of another was drawn.
const (
	streamLengths = 0x6c656e6774687300 + iota
	streamContent
	streamPrefix
	streamOrder
	streamBlock
	streamMark
	streamAnswer
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
	return s.fill(p, s.spec.PrefixLen, stream(seeds.Content, streamPrefix, 0), stream(seeds.Content, streamContent, i))
}

// between draws uniformly from lo..hi, both included.
func between(r *rand.Rand, lo, hi int) int {
	if hi == lo {
		return lo
	}
	return lo + r.IntN(hi-lo+1)
}
