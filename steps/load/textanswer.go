package load

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/jsonscan"
	"github.com/servegate/pipeline/steps/record"
)

// textAnswer is a complete answer in text.
type textAnswer struct {
	document
	workload steps.Workload
	stop     string // the string that cut it
}

// completed is an answer of the completions, chat or generate endpoint.
type completed struct {
	Choices []struct {
		Text     *string  `json:"text"`
		Message  *message `json:"message"`
		Logprobs *struct {
			Tokens  []string   `json:"tokens"`
			Of      []*float64 `json:"token_logprobs"`
			Content []struct {
				Token   string   `json:"token"`
				Logprob *float64 `json:"logprob"`
				Bytes   []int    `json:"bytes"`
			} `json:"content"`
		} `json:"logprobs"`
		Finish string `json:"finish_reason"`
		// Stop is the string that ended the answer, or the ID of the token that ended it.
		Stop any `json:"stop_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     count `json:"prompt_tokens"`
		Completion count `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`

	// Text and Meta are fields of SGLang's endpoint.
	Text *string `json:"text"`
	Meta struct {
		Prompt     count `json:"prompt_tokens"`
		Completion count `json:"completion_tokens"`
		Finish     *struct {
			Type    string `json:"type"`
			Matched any    `json:"matched"` // as Stop
		} `json:"finish_reason"`
		Logprobs [][]any `json:"output_token_logprobs"` // log-probability, ID, text
	} `json:"meta_info"`
}

// count is a number of tokens. It is read as in a stream, where one that is written as 12.0 counts and one that is none is
// left out.
type count int

// UnmarshalJSON implements json.Unmarshaler.
func (c *count) UnmarshalJSON(b []byte) error {
	s := jsonscan.Of(b)
	if n, ok := s.Number(); ok {
		*c = count(n)
	}
	return nil
}

type message struct {
	Content *string `json:"content"`
	// Reasoning has two names; vLLM uses the second since 0.11.1.
	ReasoningContent *string `json:"reasoning_content"`
	Reasoning        *string `json:"reasoning"`
	ToolCalls        []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// text returns all parts of a message. They are marked, since text that moves from one part to another
// changes the answer. IDs of tool calls are random and left out.
func (m *message) text() string {
	reasoning := m.ReasoningContent
	if reasoning == nil {
		reasoning = m.Reasoning
	}
	var parts []string
	if r := value(reasoning); r != "" {
		parts = append(parts, "<think>"+r+"</think>")
	}
	parts = append(parts, value(m.Content))
	for _, call := range m.ToolCalls {
		parts = append(parts, call.Function.Name+"("+call.Function.Arguments+")")
	}
	return strings.Join(parts, "")
}

// classify classifies the answer and records its content.
func (s *textAnswer) classify(resp *response, err error, cancelled bool) (record.Failure, string) {
	if f, text := s.arrived(resp, err, cancelled); f != "" {
		return f, text
	}
	var got completed
	if err := json.Unmarshal(s.b, &got); err != nil {
		return record.FailGarbage, clip(fmt.Sprintf("not an answer (content type %q): %v: %.100q", resp.contentType, err, s.b), maxError)
	}
	if len(got.Error) > 0 && string(got.Error) != "null" {
		return record.FailStreamError, errorText(got.Error)
	}
	a := s.answer(&got)
	s.rec.Events = []record.Event{{At: toModel(resp.last, s.scale)}}
	if f, text := ended(s.rec, &a, s.stop, s.workload.IgnoreEOS); f != "" {
		return f, text
	}
	s.rec.Answer = &a
	return "", ""
}

// naturalEnds are the finish reasons of an answer that the model ended itself.
var naturalEnds = []string{"stop", "eos", "eos_token", "tool_calls", "function_call"}

// ended checks the reason for an answer's end. An answer that was ended by anything other than the model or
// its length limit is a failure.
func ended(r *record.Request, a *record.Answer, stop string, ignoreEOS bool) (record.Failure, string) {
	natural := slices.Contains(naturalEnds, r.Finish)
	switch {
	case r.Finish == "abort":
		return record.FailAborted, "finish reason abort"
	case r.Finish == "error":
		return record.FailStreamError, "finish reason error"
	case r.Finish == "":
		return record.FailCut, "an answer without a finish reason"
	case stop != "":
		return record.FailShort, clip(fmt.Sprintf("cut after %d tokens by the stop string %q, which the server has by default",
			r.OutputTokens, stop), maxError)
	case !natural && r.Finish != "length":
		return record.FailShort, "finish reason " + r.Finish + ", which is neither the model's end nor the limit"
	case a.Text == "" && r.OutputTokens == 0 && !natural:
		return record.FailEmpty, "an answer without a token"
	case ignoreEOS && r.OutputTokens < r.WantTokens:
		return record.FailShort, fmt.Sprintf("%d of %d tokens in spite of ignore_eos, finish reason %s", r.OutputTokens, r.WantTokens, r.Finish)
	}
	a.Ended = natural
	return "", ""
}

// answer returns the content of an answer. It records its length and the reason for its end.
func (s *textAnswer) answer(c *completed) (a record.Answer) {
	if len(c.Choices) > 0 {
		s.choice(&a, c)
	} else {
		s.generated(&a, c)
	}
	if s.rec.OutputTokens == 0 {
		s.rec.OutputTokens = len(a.Tokens)
	}
	// Servers differ in whether they count or list the token that ends an answer.
	if len(a.Logprobs) != len(a.Tokens) || len(a.Tokens)+1 < s.rec.OutputTokens {
		a.Tokens, a.Logprobs = nil, nil
	}
	return a
}

// choice reads the first choice of an answer in OpenAI's form.
func (s *textAnswer) choice(a *record.Answer, c *completed) {
	choice := c.Choices[0]
	s.ends(c.Usage.Prompt, c.Usage.Completion, choice.Finish, choice.Stop)
	a.SetText(value(choice.Text))
	if m := choice.Message; m != nil {
		a.SetText(m.text())
	}
	l := choice.Logprobs
	if l == nil {
		return
	}
	a.Tokens = l.Tokens
	of := l.Of
	for _, t := range l.Content {
		a.Tokens, of = append(a.Tokens, tokenName(t.Token, t.Bytes)), append(of, t.Logprob)
	}
	for _, p := range of {
		if p != nil {
			a.Logprobs = append(a.Logprobs, *p)
		}
	}
}

// generated reads an answer in SGLang's form.
func (s *textAnswer) generated(a *record.Answer, c *completed) {
	s.ends(c.Meta.Prompt, c.Meta.Completion, "", nil)
	if c.Meta.Finish != nil {
		s.ends(c.Meta.Prompt, c.Meta.Completion, c.Meta.Finish.Type, c.Meta.Finish.Matched)
	}
	a.SetText(value(c.Text))
	for _, token := range c.Meta.Logprobs {
		if len(token) < 2 {
			continue
		}
		a.Tokens = append(a.Tokens, fmt.Sprint(token[1]))
		if p, ok := token[0].(float64); ok {
			a.Logprobs = append(a.Logprobs, p)
		}
	}
}

// ends records an answer's length and the reason for its end.
func (s *textAnswer) ends(prompt, output count, finish string, stop any) {
	s.rec.PromptTokens, s.rec.OutputTokens = max(s.rec.PromptTokens, int(prompt)), int(output)
	s.rec.Finish = clip(finish, 40)
	s.stop, _ = stop.(string) // a number is the ID of a token that ends the model's answer
}

// tokenName distinguishes tokens that are parts of a character, which all have the same text.
func tokenName(text string, bytes []int) string {
	if !strings.ContainsRune(text, utf8.RuneError) || len(bytes) == 0 {
		return text
	}
	return fmt.Sprint(bytes)
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
