package load

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
)

// Where answers are collected, each comes whole: nothing of it is timed, and a whole answer has
// its tokens in one list with all engines.

// askAnswer makes a request one for a whole greedy answer, with the log-probability of every token
// if that is wanted.
func (e *encoder) askAnswer(body map[string]any) {
	w := e.workload.Answers
	if w == nil {
		return
	}
	body["stream"] = false
	delete(body, "stream_options")
	switch {
	case !w.Logprobs:
	case e.endpoint == endpointGenerate:
		body["return_logprob"] = true
	case e.endpoint == endpointChat:
		body["logprobs"] = true
	default:
		body["logprobs"] = 1 // of the chosen token, and of the likeliest one, which it is
	}
}

// Bounds of what is kept of an answer.
const (
	maxAnswer = 64 << 10 // bytes of its text
	maxAsk    = 400      // bytes of the prompt's end
)

// said is a whole answer in text.
type said struct {
	document
	workload steps.Workload
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
				Token   string  `json:"token"`
				Logprob float64 `json:"logprob"`
			} `json:"content"`
		} `json:"logprobs"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`

	// Text and Meta are those of SGLang's own endpoint.
	Text *string `json:"text"`
	Meta struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Finish     *struct {
			Type string `json:"type"`
		} `json:"finish_reason"`
		Logprobs [][]any `json:"output_token_logprobs"` // log-probability, id, text
	} `json:"meta_info"`
}

type message struct {
	Content   *string `json:"content"`
	Reasoning *string `json:"reasoning_content"`
}

// classify judges the answer and takes from it what counts.
func (s *said) classify(resp *response, err error, cancelled bool) (record.Failure, string) {
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
	a := got.answer(s.rec)
	if s.rec.OutputTokens == 0 {
		s.rec.OutputTokens = len(a.Tokens)
	}
	s.rec.Events = []record.Event{{At: toModel(resp.last, s.scale)}}
	switch {
	case s.rec.Finish == "abort":
		return record.FailAborted, "finish reason abort"
	case s.rec.Finish == "":
		return record.FailCut, "an answer without a finish reason"
	case a.Text == "" && s.rec.OutputTokens == 0:
		return record.FailEmpty, "an answer without a token"
	case s.workload.IgnoreEOS && s.rec.OutputTokens < s.rec.WantTokens:
		return record.FailShort, fmt.Sprintf("%d of %d tokens, finish reason %s", s.rec.OutputTokens, s.rec.WantTokens, s.rec.Finish)
	}
	s.rec.Answer = &a
	return "", ""
}

// answer is what was answered, and notes in the record how long it is and why it ended.
func (c *completed) answer(rec *record.Request) (a record.Answer) {
	if len(c.Choices) == 0 {
		rec.PromptTokens, rec.OutputTokens = max(rec.PromptTokens, c.Meta.Prompt), c.Meta.Completion
		if c.Meta.Finish != nil {
			rec.Finish = clip(c.Meta.Finish.Type, 40)
		}
		a.Text = bounded(c.Text)
		for _, of := range c.Meta.Logprobs {
			if len(of) > 1 {
				if p, ok := of[0].(float64); ok {
					a.Tokens, a.Logprobs = append(a.Tokens, fmt.Sprint(of[1])), append(a.Logprobs, p)
				}
			}
		}
		return a
	}
	choice := c.Choices[0]
	rec.PromptTokens, rec.OutputTokens = max(rec.PromptTokens, c.Usage.Prompt), c.Usage.Completion
	rec.Finish = clip(choice.Finish, 40)
	a.Text = bounded(choice.Text)
	if m := choice.Message; m != nil {
		a.Text = bounded(m.Reasoning) + bounded(m.Content)
	}
	if l := choice.Logprobs; l != nil {
		for i, p := range l.Of {
			if p != nil && i < len(l.Tokens) {
				a.Tokens, a.Logprobs = append(a.Tokens, l.Tokens[i]), append(a.Logprobs, *p)
			}
		}
		for _, t := range l.Content {
			a.Tokens, a.Logprobs = append(a.Tokens, t.Token), append(a.Logprobs, t.Logprob)
		}
	}
	return a
}

func bounded(text *string) string {
	switch {
	case text == nil:
		return ""
	case len(*text) <= maxAnswer:
		return strings.ToValidUTF8(*text, "")
	}
	return clip(*text, maxAnswer)
}

// asked is the end of a prompt, "" of one that is made of token ids. It is cut between words, as
// clip does: the rest of a secret that the cut went through could not be masked any more.
func asked(p dataset.Prompt) string {
	text := p.Text
	if p.Messages != nil {
		text = string(p.Messages)
	}
	if len(text) > maxAsk {
		text = text[len(text)-maxAsk:]
		text = text[strings.IndexAny(text, " \t\r\n")+1:]
	}
	return strings.ToValidUTF8(text, "")
}
