// Package answers compares what launches answered. A run's answers are kept as a digest, a hash
// and a log-probability of each token, so that a look or a resumed session can compare launches
// without their texts; those stay in the records, from which the few that a report shows are
// quoted.
//
// What the values of all prompts and launches mean is arithmetic of package gates.
package answers

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// answer is one answer as a digest has it.
type answer struct {
	given bool
	// chain has a hash of every token and all before it, so that answers differ from the first
	// other token on.
	chain []uint32
	// nats are log-probabilities in units of natUnit, without their sign; nil for none.
	nats []uint32
}

// natUnit is the rounding of a log-probability: launches of one engine can be a few of it apart.
const natUnit = 1e-6

// MaxTokens is the largest number of tokens of a run whose digest is kept.
const MaxTokens = 400_000

// Collect digests the answers of a run. A text without tokens is one token.
func Collect(requests []record.Request) *result.RunAnswers {
	out := &result.RunAnswers{Logprobs: true}
	requests = slices.Clone(requests)
	slices.SortFunc(requests, func(a, b record.Request) int { return a.Index - b.Index })
	var digest []byte
	next := 0
	for i := range requests {
		r := &requests[i]
		for ; next < r.Index; next++ {
			digest = binary.AppendUvarint(digest, 0) // it was never sent
		}
		next++
		if r.Failure != "" || r.Answer == nil {
			digest = binary.AppendUvarint(digest, 0)
			continue
		}
		tokens := r.Answer.Tokens
		has := len(tokens) > 0 && len(r.Answer.Logprobs) == len(tokens)
		if len(tokens) == 0 {
			tokens = []string{r.Answer.Text}
		}
		out.Prompts++
		out.Tokens += len(tokens)
		out.Logprobs = out.Logprobs && has
		digest = binary.AppendUvarint(digest, 2*uint64(len(tokens))+1+boolean(has)<<40)
		h := fnv.New32a()
		for k, token := range tokens {
			_, _ = h.Write([]byte(token + "\x00")) // it never fails
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

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// read decodes a digest. What is broken in it ends it.
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
		one := answer{given: head != 0}
		tokens, has := head&(1<<40-1)/2, head>>40 != 0
		width := uint64(4)
		if has {
			width = 8
		}
		if uint64(len(data)) < tokens*width {
			return out
		}
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
