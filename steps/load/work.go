package load

import (
	"cmp"
	"fmt"

	"github.com/servegate/pipeline/steps/dataset"
)

// warmupContent changes the content seed of the warm-up, so that a prefix cache contains no part of the
// measured prompts.
const warmupContent = 0x7761726d2d757021

// hashedPrompts is the number of prompts that identify the work of a run whose number of requests is not
// known before.
const hashedPrompts = 256

// keptBytes bounds the prompts and requests that are kept in memory: those of a million requests would take gigabytes.
const keptBytes = 128 << 20

// work holds the prompts and the requests' bytes. They are made before the run if their number is known, up to
// keptBytes. The others are made when they are sent.
type work struct {
	src   dataset.Source
	enc   *encoder
	seeds dataset.Seeds
	n     int // 0: unknown

	prompts []dataset.Prompt
	wires   [][]byte
	// hash identifies the prompts of the run, and asked has a hash of each.
	hash  string
	asked []uint32
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
	return newWorkWithin(src, enc, seeds, n, keptBytes)
}

// newWorkWithin is newWork with a bound of its own.
func newWorkWithin(src dataset.Source, enc *encoder, seeds dataset.Seeds, n, bound int) (*work, error) {
	w := &work{src: src, enc: enc, seeds: seeds, n: n}
	var failed error
	size := 0
	w.hash, w.asked = dataset.Hash(cmp.Or(n, hashedPrompts), func(i int) dataset.Prompt {
		p := src.Prompt(i, seeds)
		if failed != nil || size >= bound {
			return p
		}
		wire, err := w.encode(i, p)
		if failed = err; err == nil {
			w.prompts, w.wires = append(w.prompts, p), append(w.wires, wire)
			size += len(wire) + sizeOf(p)
		}
		return p
	})
	return w, failed
}

// sizeOf returns about how many bytes a prompt takes in memory.
func sizeOf(p dataset.Prompt) int {
	const word = 8
	size := word*len(p.IDs) + len(p.Text) + len(p.Messages)
	for _, document := range p.Documents {
		size += len(document)
	}
	return size
}

func (w *work) encode(i int, p dataset.Prompt) ([]byte, error) {
	return w.enc.of(i, w.seeds.Lengths).request(p, w.id(i))
}

// whole returns the request that asks for the log-probabilities of an answer.
func (w *work) whole(i int, p dataset.Prompt) ([]byte, error) {
	return w.enc.of(i, w.seeds.Lengths).whole(p, w.id(i)+"-logprobs")
}

func (w *work) id(i int) string { return fmt.Sprintf("pipeline-%016x-%d", w.seeds.Content, i) }

// sum returns a hash of prompt i, 0 if it was not made before the run.
func (w *work) sum(i int) uint32 {
	if i < len(w.asked) {
		return w.asked[i]
	}
	return 0
}

// get returns prompt i and its request.
func (w *work) get(i int) (dataset.Prompt, []byte, error) {
	if i < len(w.wires) {
		return w.prompts[i], w.wires[i], nil
	}
	p := w.src.Prompt(i, w.seeds)
	wire, err := w.encode(i, p)
	return p, wire, err
}
