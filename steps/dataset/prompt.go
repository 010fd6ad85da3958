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
	// IDs are token ids of the server's own tokenizer; their number is Input exactly.
	IDs []int
	// Text is a prompt of about Input tokens.
	Text string
	// Messages are those of a chat request, a JSON array, of about Input tokens.
	Messages json.RawMessage
	// Documents are to be ranked by Text, which is a query.
	Documents []string
	// Input and Output are the wanted lengths in tokens.
	Input, Output int
}

// Exact reports whether the input has exactly Input tokens by construction.
func (p Prompt) Exact() bool { return p.IDs != nil }

// Hash identifies work: the number of prompts, their lengths and their content, in
// order. Equal hashes mean that two runs sent the same prompts.
func Hash(prompts []Prompt) string {
	h := hasher{Hash: sha256.New()}
	h.put(len(prompts))
	for _, p := range prompts {
		h.put(p.Input)
		h.put(p.Output)
		h.content(p)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Sum is a hash of the content of a prompt. Prompts of one content have one sum; it is never 0.
func (p Prompt) Sum() uint32 {
	sum := fnv.New32a()
	h := hasher{Hash: sum}
	h.content(p)
	return max(sum.Sum32(), 1)
}

// hasher writes prompts to a hash.
type hasher struct {
	hash.Hash
	word [8]byte
}

func (h *hasher) put(v int) {
	binary.LittleEndian.PutUint64(h.word[:], uint64(v))
	h.Write(h.word[:]) // it never fails, here and below
}

func (h *hasher) content(p Prompt) {
	h.put(len(p.IDs))
	for _, id := range p.IDs {
		h.put(id)
	}
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
