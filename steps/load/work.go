package load

import (
	"fmt"

	"github.com/servegate/pipeline/steps/dataset"
)

// warmupContent changes the content seed of the warm-up, so that a prefix cache contains no part of the
// measured prompts.
const warmupContent = 0x7761726d2d757021

// hashedPrompts is the number of prompts that identify the work of a run whose number of requests is not
// known before.
const hashedPrompts = 256

// work holds the prompts and the requests' bytes. All are made before the run if their number is known.
type work struct {
	src   dataset.Source
	enc   *encoder
	seeds dataset.Seeds
	n     int // 0: unknown

	prompts []dataset.Prompt
	wires   [][]byte
}

func (o Options) seeds() dataset.Seeds {
	s := dataset.Seeds{Lengths: o.ShapeSeed, Content: o.Seed}
	if s.Lengths == 0 {
		s.Lengths = o.Seed
	}
	return s
}

// newWork makes n prompts and their requests. With n = 0 they are made when they are sent; newWork then makes
// only the first ones, for the hash and to find errors.
func newWork(src dataset.Source, enc *encoder, seeds dataset.Seeds, n int) (*work, error) {
	w := &work{src: src, enc: enc, seeds: seeds, n: n, prompts: firstPrompts(src, n, seeds)}
	w.wires = make([][]byte, len(w.prompts))
	for i, p := range w.prompts {
		var err error
		if w.wires[i], err = w.encode(i, p); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// firstPrompts returns all n prompts of a run, or those that identify it if n is 0.
func firstPrompts(src dataset.Source, n int, seeds dataset.Seeds) []dataset.Prompt {
	if n == 0 {
		n = hashedPrompts
	}
	return dataset.Prompts(src, n, seeds)
}

func (w *work) encode(i int, p dataset.Prompt) ([]byte, error) {
	return w.enc.of(i, w.seeds.Lengths).request(p, w.id(i))
}

// whole returns the request that asks for the log-probabilities of an answer.
func (w *work) whole(i int, p dataset.Prompt) ([]byte, error) {
	return w.enc.of(i, w.seeds.Lengths).whole(p, w.id(i)+"-logprobs")
}

func (w *work) id(i int) string { return fmt.Sprintf("pipeline-%016x-%d", w.seeds.Content, i) }

// get returns prompt i and its request.
func (w *work) get(i int) (dataset.Prompt, []byte, error) {
	if i < len(w.wires) {
		return w.prompts[i], w.wires[i], nil
	}
	p := w.src.Prompt(i, w.seeds)
	wire, err := w.encode(i, p)
	return p, wire, err
}
