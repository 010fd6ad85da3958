package load

import "bytes"

// chunk is what counts in one stream event.
type chunk struct {
	// choices is true for an event with a choice (an OpenAI one) or a text (SGLang's):
	// anything but a usage-only event.
	choices bool
	// text is true where the event shows output: text, content, reasoning, tool calls.
	text bool
	// opening is a chat delta that only opens the message (a role and no output).
	opening bool
	// bare is a chat delta with nothing that could be output, not even an empty content.
	bare bool
	// content is what a chat delta adds to the message, a raw JSON string without quotes.
	content []byte
	// finish is the raw finish reason, nil while there is none.
	finish []byte
	// Usage of the server so far; -1 where it does not say.
	prompt, completion, cached int
	// failure is the raw value of an error member, nil without one.
	failure []byte
}

// scanChunk reads an event of the completions, chat or generate endpoint. ok is false
// for anything but a JSON object.
func scanChunk(data []byte, c *chunk) (ok bool) {
	*c = chunk{prompt: -1, completion: -1, cached: -1}
	s := jsonScan{b: data}
	if !s.take('{') {
		return false
	}
	for first := true; s.next(&first, '}'); {
		switch string(s.key()) {
		case "choices":
			c.scanChoices(&s)
		case "usage", "meta_info":
			c.scanUsage(&s)
		case "text":
			c.choices = true
			c.text = s.filled()
		case "output_ids":
			c.choices = true
			s.skip()
		case "error":
			if v := s.skip(); string(v) != "null" {
				c.failure = v
			}
		default:
			s.skip()
		}
	}
	return !s.bad && s.peek() == 0
}

func (c *chunk) scanChoices(s *jsonScan) {
	if s.peek() != '[' {
		s.skip()
		return
	}
	s.i++
	for first := true; s.next(&first, ']'); {
		c.choices = true
		if s.peek() != '{' {
			s.skip()
			continue
		}
		s.i++
		for f := true; s.next(&f, '}'); {
			switch string(s.key()) {
			case "text":
				c.text = s.filled()
			case "delta":
				c.scanDelta(s)
			case "finish_reason":
				c.scanFinish(s)
			default:
				s.skip()
			}
		}
	}
}

// scanDelta reads a chat delta. As in `vllm bench serve` 0.33 output is non-empty
// content, reasoning or a call, or an empty content without a role; the first event,
// with its role, is none.
func (c *chunk) scanDelta(s *jsonScan) {
	c.bare = true
	if s.peek() != '{' {
		s.skip()
		return
	}
	s.i++
	role := false
	for first := true; s.next(&first, '}'); {
		switch string(s.key()) {
		case "role":
			role = s.filled() || role
		case "content":
			quoted := s.peek() == '"'
			start := s.i
			c.text = s.filled() || c.text
			if quoted && !s.bad {
				c.bare, c.content = false, s.b[start+1:s.i-1]
			}
		case "reasoning", "reasoning_content", "tool_calls", "function_call":
			c.text = s.filled() || c.text
		default:
			s.skip()
		}
	}
	c.bare = c.bare && !c.text
	c.opening = role && !c.text
}

// scanFinish reads a finish reason: a string, or SGLang's {"type": "length", …}.
func (c *chunk) scanFinish(s *jsonScan) {
	switch s.peek() {
	case '"':
		c.finish = s.str()
	case '{':
		s.i++
		for first := true; s.next(&first, '}'); {
			if string(s.key()) == "type" && s.peek() == '"' {
				c.finish = s.str()
				continue
			}
			s.skip()
		}
	default:
		s.skip()
	}
}

// scanUsage reads a usage object or SGLang's meta_info.
func (c *chunk) scanUsage(s *jsonScan) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	s.i++
	for first := true; s.next(&first, '}'); {
		switch string(s.key()) {
		case "prompt_tokens":
			setCount(&c.prompt, s)
		case "completion_tokens":
			setCount(&c.completion, s)
		case "cached_tokens":
			setCount(&c.cached, s)
		case "prompt_tokens_details":
			c.scanDetails(s)
		case "finish_reason":
			c.scanFinish(s)
		default:
			s.skip()
		}
	}
}

// scanDetails reads usage.prompt_tokens_details.
func (c *chunk) scanDetails(s *jsonScan) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	s.i++
	for first := true; s.next(&first, '}'); {
		if string(s.key()) == "cached_tokens" {
			setCount(&c.cached, s)
			continue
		}
		s.skip()
	}
}

func setCount(dst *int, s *jsonScan) {
	if n, ok := s.number(); ok {
		*dst = n
	}
}

// bearsToken reports whether the event is one of the token-bearing events that
// latencies are taken between. seen is the number of tokens before it.
//
// For completions this is vLLM's rule: any event with a choice, even of empty text,
// since a token may decode to nothing. An event that by the server's own count brings
// the first token later (completion_tokens 0) is excepted. /generate repeats its
// cumulative text, so there the count must have grown or, without counts, text be there.
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
