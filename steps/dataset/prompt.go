package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"hash/fnv"
)

// Prompt is one request's content. One of IDs, Text and Messages is set.
type Prompt struct {
	// IDs are token IDs of the server's tokenizer, exactly Input of them.
	IDs []int
	// Text is a prompt or a query of about Input tokens.
	Text string
	// Messages is the JSON array of messages of a chat request, of about Input tokens.
	Messages json.RawMessage
	// Documents are to be ranked by Text, the query.
	Documents []string
	// Input and Output are the wanted lengths in tokens.
	Input, Output int
}

// Exact reports whether the prompt has exactly Input tokens.
func (p Prompt) Exact() bool { return p.IDs != nil }

// Hash returns a hash of the number of prompts, their lengths and their content, in order, and the Sum of each. Equal hashes
// mean that two runs sent the same prompts. It asks for each prompt once and keeps none.
func Hash(n int, prompt func(i int) Prompt) (hash string, sums []uint32) {
	h := hasher{Hash: sha256.New()}
	h.put(n)
	sum := fnv.New32a()
	one := hasher{Hash: sum}
	sums = make([]uint32, n)
	for i := range sums {
		p := prompt(i)
		h.put(p.Input)
		h.put(p.Output)
		h.content(p)
		sum.Reset()
		one.content(p)
		sums[i] = max(sum.Sum32(), 1) // as Sum does
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)[:16]), sums
}

// Sum returns a hash of the content of a prompt. It is never 0.
func (p Prompt) Sum() uint32 {
	sum := fnv.New32a()
	h := hasher{Hash: sum}
	h.content(p)
	return max(sum.Sum32(), 1)
}

// hasher writes prompts to a hash.
type hasher struct {
	hash.Hash
	word  [8]byte
	words []byte // token IDs, written at once
}

func (h *hasher) put(v int) {
	binary.LittleEndian.PutUint64(h.word[:], uint64(v))
	h.Write(h.word[:]) // never fails, here and below
}

func (h *hasher) content(p Prompt) {
	h.put(len(p.IDs))
	h.words = h.words[:0]
	for _, id := range p.IDs {
		h.words = binary.LittleEndian.AppendUint64(h.words, uint64(id))
	}
	h.Write(h.words)
	h.put(len(p.Text))
	h.Write([]byte(p.Text))
	if p.Messages != nil {
		h.put(len(p.Messages))
		h.Write(p.Messages)
	}
	for _, d := range p.Documents {
		h.put(len(d))
		h.Write([]byte(d))
	}
}
