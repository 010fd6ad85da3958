// Package answers compares the answers of launches. A run's answers are stored as a digest, a hash
// and a log-probability of each token, so that a look or a resumed session can compare launches
// without their texts. The texts stay in the records; the few that a report shows are quoted from
// there.
//
// Package gates computes the metrics from the values of all prompts and launches.
package answers

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// answer is one answer in a digest.
type answer struct {
	given bool
	// chain has a hash of every token and all before it, so that answers differ from the first
	// different token on.
	chain []uint32
	// nats are log-probabilities in units of natUnit, without their sign; nil if there are none.
	nats []uint32
	// ended is set if the model ended the answer itself. text is a hash of the whole answer,
	// because tokens that are a part of a character can have the same name, and a server can list
	// fewer than it sends.
	ended bool
	text  uint32
}

// Flags of an answer in a digest, besides its number of tokens.
const (
	flagGiven, flagLogprobs, flagEnded = 1, 1 << 1, 1 << 2

	flagBits = 3
)

// natUnit is the rounding of a log-probability: launches of one engine can differ by a few units.
const natUnit = 1e-6

// Collect returns the digest of the answers of a run. A text without tokens is one token.
func Collect(requests record.List) *result.RunAnswers {
	out := &result.RunAnswers{Logprobs: true}
	var digest []byte
	next := 0
	for _, r := range requests.Sorted().All() {
		for ; next < r.Index; next++ {
			digest = binary.AppendUvarint(digest, 0) // never sent
		}
		next++
		if r.Failure != "" || r.Answer == nil {
			digest = binary.AppendUvarint(digest, 0)
			continue
		}
		tokens := r.Answer.Tokens
		has := len(tokens) > 0 && len(r.Answer.Logprobs) == len(tokens)
		if len(tokens) == 0 {
			tokens = []string{r.Answer.Text + "\x00" + r.Answer.Sum}
		}
		out.Prompts++
		out.Tokens += len(tokens)
		out.Logprobs = out.Logprobs && has
		digest = binary.AppendUvarint(digest, uint64(len(tokens))<<flagBits|flagGiven|flag(flagLogprobs, has)|flag(flagEnded, r.Answer.Ended))
		h := fnv.New32a()
		_, _ = h.Write([]byte(r.Answer.Text + "\x00" + r.Answer.Sum)) // never fails
		digest = binary.BigEndian.AppendUint32(digest, h.Sum32())
		h.Reset()
		for k, token := range tokens {
			_, _ = h.Write([]byte(token + "\x00")) // never fails
			digest = binary.BigEndian.AppendUint32(digest, h.Sum32())
			if has {
				nats := math.Round(-r.Answer.Logprobs[k] / natUnit)
				digest = binary.BigEndian.AppendUint32(digest, uint32(max(0, min(nats, math.MaxUint32))))
			}
		}
	}
	out.Logprobs = out.Logprobs && out.Prompts > 0
	out.Digest = base64.StdEncoding.EncodeToString(digest)
	return out
}

func flag(bit uint64, set bool) uint64 {
	if set {
		return bit
	}
	return 0
}

// read decodes a digest, up to the first invalid part.
func read(a *result.RunAnswers) []answer {
	data, err := base64.StdEncoding.DecodeString(a.Digest)
	if err != nil {
		return nil
	}
	var out []answer
	for len(data) > 0 {
		head, n := binary.Uvarint(data)
		if n <= 0 {
			return out
		}
		data = data[n:]
		if head == 0 {
			out = append(out, answer{})
			continue
		}
		one := answer{given: true, ended: head&flagEnded != 0}
		tokens, has := head>>flagBits, head&flagLogprobs != 0
		width := uint64(4)
		if has {
			width = 8
		}
		if len(data) < 4 || uint64(len(data)-4)/width < tokens {
			return out
		}
		one.text = binary.BigEndian.Uint32(data)
		data = data[4:]
		for range tokens {
			one.chain = append(one.chain, binary.BigEndian.Uint32(data))
			if data = data[4:]; has {
				one.nats = append(one.nats, binary.BigEndian.Uint32(data))
				data = data[4:]
			}
		}
		out = append(out, one)
	}
	return out
}
