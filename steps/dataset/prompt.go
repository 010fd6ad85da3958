package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
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
	h := sha256.New()
	var word [8]byte
	put := func(v int) {
		binary.LittleEndian.PutUint64(word[:], uint64(v))
		h.Write(word[:])
	}
	put(len(prompts))
	for _, p := range prompts {
		put(p.Input)
		put(p.Output)
		put(len(p.IDs))
		for _, id := range p.IDs {
			put(id)
		}
		put(len(p.Text))
		h.Write([]byte(p.Text))
		if p.Messages != nil {
			put(len(p.Messages))
			h.Write(p.Messages)
		}
		for _, d := range p.Documents {
			put(len(d))
			h.Write([]byte(d))
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)[:16])
}
