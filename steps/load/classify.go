package load

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/servegate/pipeline/steps/record"
)

// classify classifies a request after its response ended or failed with err. cancelled is true if we stopped
// the run. The order matters: an error that the server reports precedes conclusions from the end of the
// stream.
func (s *stream) classify(resp *response, err error, cancelled bool) (record.Failure, string) {
	if f, text := classifyHTTP(resp, err, cancelled, s.head, fmt.Sprintf("%d events", len(s.rec.Events))); f != "" {
		if resp.status == 404 || resp.status == 405 { // without net/http, which the language must not reach
			text = clip(fmt.Sprintf("%s at %s; the endpoint of the benchmark may be another", text, s.endpoint.path()), maxError)
		}
		return f, text
	}
	switch {
	case s.streamErr != "":
		return record.FailStreamError, s.streamErr
	case s.rec.Finish == "error":
		return record.FailStreamError, "finish reason error"
	case s.rec.Finish == "abort":
		return record.FailAborted, "finish reason abort"
	case s.garbage != "":
		return record.FailGarbage, clip(s.garbage, maxError)
	case broken(err):
		return record.FailGarbage, clip(err.Error(), maxError)
	case s.events == 0 && len(s.head) > 0 && (err == nil || s.sse.junk):
		return s.classifyForeign(resp)
	}
	return s.classifyEnd(resp, err)
}

// classifyHTTP classifies a response before its content is parsed: "" if it is valid so far. body is its
// beginning, got describes how much has arrived.
func classifyHTTP(resp *response, err error, cancelled bool, body []byte, got string) (record.Failure, string) {
	switch {
	case err != nil && cancelled:
		return record.FailCancelled, "the run was stopped"
	case errors.Is(err, os.ErrDeadlineExceeded) && !resp.headDone():
		return record.FailTimeout, "no answer within the request timeout"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return record.FailTimeout, "request timeout after " + got
	case !resp.headDone():
		return classifyHeadless(err)
	case resp.status/100 != 2:
		return record.FailStatus, statusText(resp, body)
	case resp.encoded():
		return record.FailGarbage, clip("content encoding that was not asked for: "+resp.encoding, maxError)
	}
	return "", ""
}

// broken reports whether the response violates the protocol, or is incomplete.
func broken(err error) bool {
	return errors.Is(err, errProtocol) || errors.Is(err, errEventTooLong) || errors.Is(err, errFlood)
}

// classifyHeadless classifies a connection that ended before a response began.
func classifyHeadless(err error) (record.Failure, string) {
	if errors.Is(err, errProtocol) {
		return record.FailGarbage, clip(err.Error(), maxError)
	}
	return record.FailConnect, clip(fmt.Sprintf("no answer: %v", err), maxError)
}

// classifyForeign classifies a 2xx response without a single event: an error sent as plain JSON, an answer
// that was not streamed, or any other page.
func (s *stream) classifyForeign(resp *response) (record.Failure, string) {
	var c chunk
	if scanChunk(s.head, &c); c.failure != nil {
		return record.FailStreamError, errorText(c.failure)
	}
	return record.FailGarbage, clip(fmt.Sprintf("not an event stream (content type %q): %.100q", resp.contentType, s.head), maxError)
}

// classifyEnd classifies the end of a stream of the right protocol.
func (s *stream) classifyEnd(resp *response, err error) (record.Failure, string) {
	r := s.rec
	clean := err == nil && resp.ended() && !s.torn
	switch {
	case r.Finish == "" && s.done:
		return record.FailCut, "the stream ended without a finish reason"
	case r.Finish == "":
		return record.FailCut, cutText(err, "the stream ended without a finish reason or [DONE]")
	case !clean && !s.done:
		return record.FailCut, cutText(err, "the stream broke after its finish reason")
	case len(r.Events) == 0 || (r.OutputTokens == 0 && !s.output):
		return record.FailEmpty, "finished without a token"
	case !s.several && r.WantTokens > 0 && r.OutputTokens > r.WantTokens:
		return record.FailLong, fmt.Sprintf("%d tokens, and at most %d were asked for", r.OutputTokens, r.WantTokens)
	case s.ignoreEOS && r.OutputTokens > 0 && r.OutputTokens < r.WantTokens:
		return record.FailShort, fmt.Sprintf("%d of %d tokens in spite of ignore_eos", r.OutputTokens, r.WantTokens)
	case s.ignoreEOS && r.OutputTokens == 0 && r.Finish != "length":
		return record.FailShort, fmt.Sprintf("finish reason %s in spite of ignore_eos, and no usage to count tokens by", r.Finish)
	}
	return "", ""
}

func cutText(err error, text string) string {
	if err != nil {
		text = fmt.Sprintf("%s: %v", text, err)
	}
	return clip(text, maxError)
}

func statusText(resp *response, body []byte) string {
	text := fmt.Sprintf("status %d", resp.status)
	if resp.retryAfter != "" {
		text += ", retry after " + clip(resp.retryAfter, 40)
	}
	if resp.encoded() {
		return text + ", a text in the content encoding " + clip(resp.encoding, 40)
	}
	if said := errorText(body[:min(len(body), maxError)]); said != "" {
		text += ": " + strings.Join(strings.Fields(said), " ")
	}
	return clip(text, maxError)
}
