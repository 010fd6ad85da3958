package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

// Seeds of a draw. Lengths and content have separate seeds, so that repeats can change the content at equal
// lengths, and do not hit the prefix cache of the previous repeat.
type Seeds struct {
	Lengths, Content uint64
}

// Source makes prompts. A prompt depends only on its index, the seeds, the dataset and the corpus, not on
// earlier calls or the side. A Source is safe for concurrent use.
type Source interface {
	Prompt(i int, s Seeds) Prompt
}

// InvalidError describes what is wrong with a dataset: its lengths or its file.
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

// maker holds what all sources make prompts with.
type maker struct {
	spec  steps.Dataset
	exact bool // uses token IDs
	draw  drawer
}

// newMaker returns a maker that draws whole verses, or single words.
func newMaker(d steps.Dataset, c Corpus, lines bool) maker {
	return maker{spec: d, exact: len(c.IDs) > 0, draw: newDrawer(lines, c)}
}

// synthetic makes prompts from the embedded text: kinds random and sonnet.
type synthetic struct{ maker }

// drawn returns a source of prompts made of whole verses, or of single words.
func drawn(lines bool) func(context.Context, steps.Dataset, Material) (Source, error) {
	return func(_ context.Context, d steps.Dataset, m Material) (Source, error) {
		return synthetic{newMaker(d, m.Corpus, lines)}, nil
	}
}

// Streams of the generator. Separate streams keep lengths, content and shared prefix independent of each other.
const (
	streamLengths = 0x6c656e6774687300 + iota
	streamContent
	streamPrefix
	streamOrder
	streamBlock
	streamMark
	streamAnswer
)

// stream returns the generator for an index. PCG is specified bit for bit, so draws are the same in all
// versions of Go. An odd multiplier mixes in the index.
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
