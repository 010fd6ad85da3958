package dataset

import (
	"math"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

// The lengths of ShareGPT's first two turns after the filter of `vllm bench serve`, for rehearsals without the
// file. A published run of 4,762 conversations with the tokenizer of facebook/opt-6.7b had 1,083,600 input and
// 1,108,608 output tokens: 227.5 and 232.8 per request. Lengths are assumed log-normal, truncated by vLLM's
// filter. The medians give these means after truncation; the spreads are assumptions.
const (
	shareInputMedian, shareInputSigma   = 172.0, 1.5
	shareOutputMedian, shareOutputSigma = 134.0, 1.2
	shareMin                            = 4
)

// standIn makes prompts with ShareGPT's lengths from the embedded text. It serves only simulated runs whose
// file is missing.
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

// kept applies the filter of `vllm bench serve` 0.33: lengths of at least 4, prompts of at most 1,024 tokens,
// and at most 2,048 with the answer. An answer length set by the file is not subject to the minimum.
func kept(m maker, input, output int) bool {
	if input < shareMin || (m.spec.OutputMin == 0 && output < shareMin) {
		return false
	}
	return input <= option(m.spec, "max_input") && input+output <= option(m.spec, "max_total")
}
