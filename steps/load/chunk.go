package load

import (
	"bytes"

	"github.com/servegate/pipeline/steps/jsonscan"
)

// chunk holds the relevant fields of one stream event.
type chunk struct {
	// choices is true for an event with a choice (an OpenAI one) or a text (SGLang's):
	// anything but a usage-only event.
	choices bool
	// text is true if the event has output: text, content, reasoning, tool calls.
	text bool
	// opening is true for a chat delta that only opens the message (a role and no output).
	opening bool
	// bare is true for a chat delta without any output field, not even an empty content.
	bare bool
	// content is the text of the event, or the text that a chat delta adds to the message, and reasoning the
	// text that it adds to the reasoning: raw JSON strings without quotes. calls is the raw value of its tool
	// calls.
	content, reasoning, calls []byte
	// finish is the raw finish reason, nil if there is none.
	finish []byte
	// stop is the raw string that ended the answer, nil if there is none.
	stop []byte
	// Usage of the server so far; -1 if not reported.
	prompt, completion, cached int
	// failure is the raw value of an error member, nil if there is none.
	failure []byte
}

// scanChunk reads an event of the completions, chat or generate endpoint. ok is false
// for anything but a JSON object.
func scanChunk(data []byte, c *chunk) (ok bool) {
	*c = chunk{prompt: -1, completion: -1, cached: -1}
	s := jsonscan.Of(data)
	if s.Peek() != '{' {
		return false
	}
	for name := range s.Object {
		switch string(name) {
		case "choices":
			for range s.Array {
				c.choices = true
				c.scanChoice(&s)
			}
		case "usage", "meta_info":
			c.scanUsage(&s)
		case "text":
			c.choices = true
			c.scanText(&s)
		case "output_ids":
			c.choices = true
			s.Skip()
		case "error":
			c.failure = failureOf(&s)
		case "object": // some servers send an error without a member of that name
			if of, _ := s.Text(); string(of) == "error" && c.failure == nil {
				c.failure = data
			}
		default:
			s.Skip()
		}
	}
	return s.Done()
}

// failureOf reads an error member; it returns nil for null.
func failureOf(s *jsonscan.Scanner) []byte {
	if v := s.Skip(); string(v) != "null" {
		return v
	}
	return nil
}

func (c *chunk) scanChoice(s *jsonscan.Scanner) {
	for name := range s.Object {
		switch string(name) {
		case "text":
			c.scanText(s)
		case "delta":
			c.scanDelta(s)
		case "finish_reason":
			c.scanFinish(s)
		case "stop_reason":
			c.stop, _ = s.Text() // a number is the ID of a token that ends the model's answer
		default:
			s.Skip()
		}
	}
}

func (c *chunk) scanText(s *jsonscan.Scanner) {
	c.content, _ = s.Text()
	c.text = len(c.content) > 0
}

// scanDelta reads a chat delta. As in `vllm bench serve` 0.33 output is non-empty content, reasoning or a
// call, or an empty content without a role. The first event, with its role, is not output.
func (c *chunk) scanDelta(s *jsonscan.Scanner) {
	content, role := false, false
	for name := range s.Object {
		switch string(name) {
		case "role":
			role = s.Filled() || role
		case "content":
			if text, ok := s.Text(); ok {
				content, c.content = true, text
				c.text = len(text) > 0 || c.text
			}
		case "reasoning", "reasoning_content":
			if text, ok := s.Text(); ok && len(text) > 0 {
				c.reasoning, c.text = text, true
			}
		case "tool_calls", "function_call":
			calls := s.Skip()
			if value := jsonscan.Of(calls); value.Filled() {
				c.calls, c.text = calls, true
			}
		default:
			s.Skip()
		}
	}
	c.bare = !content && !c.text
	c.opening = role && !c.text
}

// scanFinish reads a finish reason: a string, or SGLang's object with a "type" such as "length".
func (c *chunk) scanFinish(s *jsonscan.Scanner) {
	if s.Peek() == '"' {
		c.finish, _ = s.Text()
		return
	}
	for name := range s.Object {
		switch string(name) {
		case "type":
			if reason, ok := s.Text(); ok {
				c.finish = reason
			}
		case "matched":
			c.stop, _ = s.Text()
		default:
			s.Skip()
		}
	}
}

// scanUsage reads a usage object, its prompt_tokens_details or SGLang's meta_info. A count of neither prompt nor output is a
// field that the server does not fill.
func (c *chunk) scanUsage(s *jsonscan.Scanner) {
	c.scanCounts(s)
	if c.prompt == 0 && c.completion == 0 {
		c.prompt, c.completion = -1, -1
	}
}

func (c *chunk) scanCounts(s *jsonscan.Scanner) {
	for name := range s.Object {
		switch string(name) {
		case "prompt_tokens":
			setCount(&c.prompt, s)
		case "completion_tokens":
			setCount(&c.completion, s)
		case "cached_tokens":
			setCount(&c.cached, s)
		case "prompt_tokens_details":
			for detail := range s.Object {
				if string(detail) == "cached_tokens" {
					setCount(&c.cached, s)
				} else {
					s.Skip()
				}
			}
		case "finish_reason":
			c.scanFinish(s)
		default:
			s.Skip()
		}
	}
}

func setCount(dst *int, s *jsonscan.Scanner) {
	if n, ok := s.Number(); ok {
		*dst = n
	}
}

// bearsToken reports whether the event is one of the token-bearing events between which latencies are
// measured. seen is the number of tokens before it.
//
// For completions it follows vLLM's rule: any event with a choice counts, even with empty text, since a token
// may decode to an empty text. It excludes an event for which the server's count is still zero
// (completion_tokens 0). /generate repeats its cumulative text, so the count must have grown or, without
// counts, the event must have text.
func (c *chunk) bearsToken(e endpoint, seen int) bool {
	if !c.choices || c.opening || c.completion == 0 {
		return false
	}
	switch e {
	case endpointChat:
		return !c.bare
	case endpointGenerate:
		if c.completion >= 0 {
			return c.completion > seen
		}
		return c.text
	default:
		return true
	}
}

var doneMark = []byte("[DONE]")

func isDone(data []byte) bool { return bytes.Equal(bytes.TrimSpace(data), doneMark) }
