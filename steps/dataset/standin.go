package dataset

import (
	"math"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

// The lengths of ShareGPT's first two turns after the filter of `vllm bench serve`, for
// rehearsals without the file. A published run of 4,762 of them with the tokenizer of
// facebook/opt-6.7b had 1,083,600 input and 1,108,608 output tokens, 227.5 and 232.8 a
// request. Lengths are assumed log-normal, cut off where vLLM's filter cuts; the medians
// are those that give these means after the cut, and the spreads are an assumption.
const (
	shareInputMedian, shareInputSigma   = 172.0, 1.5
	shareOutputMedian, shareOutputSigma = 134.0, 1.2
	shareMin                            = 4
)

// standIn makes prompts with ShareGPT's lengths of the embedded text. It rehearses a run
// whose file is not there, and only a simulated one.
type standIn struct{ maker }

func newStandIn(d steps.Dataset, m Material) Source { return standIn{newMaker(d, m.Corpus, false)} }

func (s standIn) Prompt(i int, seeds Seeds) Prompt {
	r := stream(seeds.Lengths, streamLengths, i)
	var p Prompt
	for {
		p.Input = logNormal(r, shareInputMedian, shareInputSigma)
		p.Output = logNormal(r, shareOutputMedian, shareOutputSigma)
		if s.spec.OutputMin > 0 {
			p.Output = between(r, s.spec.OutputMin, s.spec.OutputMax)
		}
		if kept(s.maker, p.Input, p.Output) {
			break
		}
	}
	return s.fill(p, 0, r, stream(seeds.Content, streamContent, i))
}

func logNormal(r *rand.Rand, median, sigma float64) int {
	return int(math.Round(median * math.Exp(sigma*r.NormFloat64())))
}

// kept is the filter of `vllm bench serve` 0.33: lengths of at least 4, prompts of at
// most 1,024 tokens and 2,048 with the answer. An answer whose length the file sets is
// not filtered by it.
func kept(m maker, input, output int) bool {
	if input < shareMin || (m.spec.OutputMin == 0 && output < shareMin) {
		return false
	}
	return input <= option(m.spec, "max_input") && input+output <= option(m.spec, "max_total")
}
