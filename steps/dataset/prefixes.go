package dataset

import (
	"cmp"
	"context"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

// Defaults of kind prefix_repetition, as in `vllm bench serve` 0.33.
const (
	defaultPrefix = 256
	defaultOutput = 128
)

// prefixes makes prompts that share one of several prefixes: kind prefix_repetition. In each num_prefixes
// consecutive prompts every prefix occurs once, in an order drawn from the lengths seed. So any number of
// requests is balanced, and all repeats have the same order.
type prefixes struct {
	maker
	count, prefix, suffix int
	out                   [2]int
}

func prefixed(_ context.Context, d steps.Dataset, given Material) (Source, error) {
	m := newMaker(d, given.Corpus, false)
	p := prefixes{maker: m, count: option(m.spec, "num_prefixes"), suffix: option(m.spec, "suffix_len")}
	p.prefix, p.out = m.spec.PrefixLen, [2]int{m.spec.OutputMin, m.spec.OutputMax}
	if p.prefix == 0 {
		p.prefix = defaultPrefix
	}
	if p.out[0] == 0 {
		p.out = [2]int{defaultOutput, defaultOutput}
	}
	return p, nil
}

func (s prefixes) Prompt(i int, seeds Seeds) Prompt {
	r := stream(seeds.Lengths, streamLengths, i)
	p := Prompt{Input: s.prefix + s.suffix, Output: between(r, s.out[0], s.out[1])}
	which := stream(seeds.Lengths, streamOrder, i/s.count).Perm(s.count)[i%s.count]
	return s.fill(p, s.prefix, stream(seeds.Content, streamPrefix, 1+which), stream(seeds.Content, streamContent, i))
}

// repeatedPrefixes returns the share of the shared prefixes.
func repeatedPrefixes(d steps.Dataset) float64 {
	prefix := float64(cmp.Or(d.PrefixLen, defaultPrefix))
	return prefix / (prefix + float64(option(d, "suffix_len")))
}

// fill makes the content of a prompt; pr generates its first prefix tokens.
func (m maker) fill(p Prompt, prefix int, pr, body *rand.Rand) Prompt {
	if m.exact {
		p.IDs = m.draw.appendIDs(make([]int, 0, p.Input), prefix, pr)
		p.IDs = m.draw.appendIDs(p.IDs, p.Input, body)
		return p
	}
	p.Text = m.draw.text(prefix, pr, p.Input, body)
	return p
}
