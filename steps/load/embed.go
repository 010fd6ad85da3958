package load

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/servegate/pipeline/steps/jsonscan"
	"github.com/servegate/pipeline/steps/record"
)

// document is the sink of an answer that is one JSON document. It is classified once it is complete, and its
// end is its only event.
type document struct {
	page
	rec   *record.Request
	scale float64
}

func (d *document) onHead(resp *response, at int64) {
	d.rec.Status, d.rec.Headers = resp.status, toModel(at, d.scale)
}

// arrived classifies the response before its content is parsed: "" if it is valid so far.
func (d *document) arrived(resp *response, err error, cancelled bool) (record.Failure, string) {
	f, text := classifyHTTP(resp, err, cancelled, d.b, "a part of the answer")
	switch {
	case f != "":
		return f, text
	case broken(err):
		return record.FailGarbage, clip(err.Error(), maxError)
	case err != nil:
		return record.FailCut, cutText(err, "the answer broke off")
	}
	return "", ""
}

// pooledForm describes the answers of an endpoint without generation.
type pooledForm struct {
	scan func([]byte) (pooledAnswer, bool)
	// without names the values that an answer lacks if it has none.
	without string
}

var pooledForms = map[endpoint]pooledForm{
	endpointEmbeddings: {scanEmbeddings, "an answer without an embedding"},
	endpointRerank:     {scanRanking, "an answer without a score"},
}

// pooled is the answer of an endpoint without generation.
type pooled struct {
	document
	form pooledForm
}

// classify classifies the answer and records its figures.
func (e *pooled) classify(resp *response, err error, cancelled bool) (record.Failure, string) {
	if f, text := e.arrived(resp, err, cancelled); f != "" {
		return f, text
	}
	a, ok := e.form.scan(e.b)
	switch {
	case !ok:
		return record.FailGarbage, clip(fmt.Sprintf("not the JSON of an answer (content type %q): %.100q", resp.contentType, e.b), maxError)
	case a.failure != nil:
		return record.FailStreamError, errorText(a.failure)
	case a.values == 0:
		return record.FailEmpty, e.form.without
	}
	if a.prompt > 0 {
		e.rec.PromptTokens = a.prompt
	}
	e.rec.Text = &record.Text{Chars: a.size, Sum: a.sum}
	e.rec.Events = []record.Event{{At: toModel(resp.last, e.scale)}}
	return "", ""
}

// pooledAnswer holds the figures of an answer without tokens.
type pooledAnswer struct {
	values  int    // vectors that are not empty, or scores
	size    int    // numbers of the vectors, or scores
	sum     uint32 // of all numbers as they were written
	prompt  int    // tokens, -1 if not reported
	failure []byte
}

// add adds the raw value of n numbers.
func (a *pooledAnswer) add(raw []byte, n int) {
	a.size += n
	for _, c := range raw {
		a.sum = (a.sum ^ uint32(c)) * fnvPrime
	}
}

// numbers returns how many numbers a vector has: a list of them, or 32-bit floats in base64.
func numbers(raw []byte) int {
	if raw[0] == '"' {
		return base64.StdEncoding.DecodedLen(len(raw)-2) / 4
	}
	return bytes.Count(raw, []byte(",")) + 1
}

// scanEmbeddings reads an answer without decoding its numbers, of which there are thousands. ok is false for
// anything but a JSON object.
func scanEmbeddings(data []byte) (a pooledAnswer, ok bool) {
	usage := chunk{prompt: -1}
	s := jsonscan.Of(data)
	if s.Peek() != '{' {
		return a, false
	}
	for name := range s.Object {
		switch string(name) {
		case "data":
			for range s.Array {
				for field := range s.Object {
					raw := s.Skip()
					if vector := jsonscan.Of(raw); string(field) == "embedding" && vector.Filled() {
						a.values++
						a.add(raw, numbers(raw))
					}
				}
			}
		case "usage":
			usage.scanUsage(&s)
		case "error":
			a.failure = failureOf(&s)
		default:
			s.Skip()
		}
	}
	a.prompt = usage.prompt
	return a, s.Done()
}

// scanRanking reads scores from vLLM's object or SGLang's list.
func scanRanking(data []byte) (a pooledAnswer, ok bool) {
	usage := chunk{prompt: -1}
	s := jsonscan.Of(data)
	scores := func() {
		for range s.Array {
			for field := range s.Object {
				if name := string(field); name == "relevance_score" || name == "score" {
					a.values++
					a.add(s.Skip(), 1)
					continue
				}
				s.Skip()
			}
		}
	}
	switch s.Peek() {
	case '[':
		scores()
	case '{':
		for name := range s.Object {
			switch string(name) {
			case "results":
				scores()
			case "usage":
				usage.scanUsage(&s)
			case "error":
				a.failure = failureOf(&s)
			default:
				s.Skip()
			}
		}
	default:
		return a, false
	}
	a.prompt = usage.prompt
	return a, s.Done()
}
