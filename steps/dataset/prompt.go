package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
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

// Hash returns a hash of the number of prompts, their lengths and their content, in order, and a hash of the content of each,
// which is never 0. Equal hashes mean that two runs sent the same prompts. It asks for each prompt once and keeps none.
func Hash(n int, prompt func(i int) Prompt) (hash string, sums []uint32) {
	all := sha256.New()
	all.Write(word(nil, n)) // never fails, here and below
	sums = make([]uint32, n)
	var text []byte
	for i := range sums {
		p := prompt(i)
		text = word(word(text[:0], p.Input), p.Output)
		lengths := len(text)
		text = p.appendContent(text)
		all.Write(text)
		sums[i] = sum(text[lengths:])
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)[:16]), sums
}

// word appends a number in eight bytes.
func word(b []byte, v int) []byte { return binary.LittleEndian.AppendUint64(b, uint64(v)) }

// appendContent appends token IDs, text, messages and documents, each after its length, so that other content gives other bytes.
func (p Prompt) appendContent(b []byte) []byte {
	b = word(b, len(p.IDs))
	for _, id := range p.IDs {
		b = word(b, id)
	}
	b = append(word(b, len(p.Text)), p.Text...)
	if p.Messages != nil {
		b = append(word(b, len(p.Messages)), p.Messages...)
	}
	for _, d := range p.Documents {
		b = append(word(b, len(d)), d...)
	}
	return b
}

// sum returns the FNV-1a hash of b, or 1 in place of 0. It takes eight bytes at a time: those of a token end with zeros,
// and a zero multiplies by the prime alone, so that the last byte and the zeros behind it are one multiplication.
func sum(b []byte) uint32 {
	const prime = 16777619
	h := uint32(2166136261)
	for ; len(b) >= 8; b = b[8:] {
		left, v := 8, binary.LittleEndian.Uint64(b)
		for ; v > 0xff; left-- {
			h = (h ^ uint32(v&0xff)) * prime
			v >>= 8
		}
		h = (h ^ uint32(v)) * primes[left]
	}
	for _, c := range b {
		h = (h ^ uint32(c)) * prime
	}
	return max(h, 1)
}

// primes are the powers of the prime of FNV-1a.
var primes = func() (powers [9]uint32) {
	powers[0] = 1
	for i := range 8 {
		powers[i+1] = powers[i] * 16777619
	}
	return powers
}()
