package load

import (
	"fmt"

	"github.com/servegate/pipeline/steps/jsonscan"
	"github.com/servegate/pipeline/steps/record"
)

// document is an answer that is one JSON document, as a sink of an exchange. It is judged once it
// is whole, and its end is its one event.
type document struct {
	page
	rec   *record.Request
	scale float64
}

func (d *document) onHead(resp *response, at int64) {
	d.rec.Status, d.rec.Headers = resp.status, toModel(at, d.scale)
}

// arrived judges how the document came, before its content is looked at: "" if nothing is wrong.
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

// embedding is the answer of the embeddings endpoint.
type embedding struct{ document }

// classify judges the answer and takes from it what counts.
func (e *embedding) classify(resp *response, err error, cancelled bool) (record.Failure, string) {
	if f, text := e.arrived(resp, err, cancelled); f != "" {
		return f, text
	}
	a, ok := scanEmbeddings(e.b)
	switch {
	case !ok:
		return record.FailGarbage, clip(fmt.Sprintf("not a JSON object (content type %q): %.100q", resp.contentType, e.b), maxError)
	case a.failure != nil:
		return record.FailStreamError, errorText(a.failure)
	case a.vectors == 0:
		return record.FailEmpty, "an answer without an embedding"
	}
	if a.prompt > 0 {
		e.rec.PromptTokens = a.prompt
	}
	e.rec.Events = []record.Event{{At: toModel(resp.last, e.scale)}}
	return "", ""
}

// embeddings is what counts in an answer of /v1/embeddings.
type embeddings struct {
	vectors int // that are not empty
	prompt  int // tokens, -1 where the server does not say
	failure []byte
}

// scanEmbeddings reads an answer without decoding its numbers, which are thousands. ok is
// false for anything but a JSON object.
func scanEmbeddings(data []byte) (a embeddings, ok bool) {
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
					if s.Filled() && string(field) == "embedding" {
						a.vectors++
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
