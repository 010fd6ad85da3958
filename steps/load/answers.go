package load

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/jsonscan"
	"github.com/servegate/pipeline/steps/record"
)

// When answers are collected, each is requested in the form of a measured request: streamed, and without
// log-probabilities. A server can answer differently in another form. Log-probabilities need a further
// request, whose answer is not streamed: all engines then return its tokens in one list.

// askWhole changes a request to ask for a complete answer with the log-probability of every token.
func (e *encoder) askWhole(body map[string]any) {
	body["stream"] = false
	delete(body, "stream_options")
	switch e.endpoint {
	case endpointGenerate:
		body["return_logprob"] = true
	case endpointChat:
		body["logprobs"] = true
	default:
		body["logprobs"] = 1 // of the chosen token, which is the likeliest one
	}
}

// maxAsk limits the recorded part of a prompt, in bytes.
const maxAsk = 400

// ask reads a streamed answer, and the log-probabilities of its tokens if they are requested.
func (r *runner) ask(ctx context.Context, a *attempt, p dataset.Prompt, cn *conn, again bool, wire []byte,
	deadline time.Time) (*response, error) {
	out := &answer{newStream(r.endpoint, r.opt.Workload.IgnoreEOS, r.scale, &a.rec)}
	out.several, out.words = severalAnswers(r.opt.Workload.Body), &words{}
	resp, resent, err := r.client.exchange(ctx, cn, again, wire, deadline, out)
	a.rec.Resent = resent
	found, failure, text := out.answer(resp, out.end(err), ctx.Err() != nil)
	if failure == "" && r.opt.Workload.Answers.Logprobs {
		failure, text = r.logprobs(ctx, a, p, &found)
	}
	if a.rec.Failure, a.rec.Error = failure, text; failure == "" {
		a.rec.Answer = &found
	}
	return resp, err
}

// logprobs requests an answer again, complete and with log-probabilities, and adds its tokens.
func (r *runner) logprobs(ctx context.Context, a *attempt, p dataset.Prompt, to *record.Answer) (record.Failure, string) {
	wire, err := r.work.whole(a.rec.Index, p)
	var cn *conn
	var reused bool
	if err == nil {
		cn, reused, err = r.client.pool.take(ctx)
	}
	if err != nil {
		return record.FailConnect, clip(err.Error(), maxError)
	}
	var deadline time.Time
	if t := r.opt.Workload.RequestTimeout; t > 0 {
		deadline = time.Now().Add(r.wall(t))
	}
	again := newRequest(a.rec.Index, -1, a.rec.PromptTokens, a.rec.WantTokens)
	out := &textAnswer{document: document{rec: &again, scale: r.scale}, workload: r.opt.Workload}
	resp, resent, err := r.client.exchange(ctx, cn, reused && cn.rested(), wire, deadline, out)
	a.rec.Resent = a.rec.Resent || resent
	failure, text := out.classify(resp, err, ctx.Err() != nil)
	if failure != "" {
		return failure, clip("asked for log-probabilities: "+text, maxError)
	}
	to.Tokens, to.Logprobs = again.Answer.Tokens, again.Answer.Logprobs
	return "", ""
}

// words holds the words of a streamed answer: raw JSON strings without quotes.
type words struct {
	reasoning, content []byte
	calls              []byte // as they are displayed
	open               bool   // the arguments of a call continue
}

// add appends the words of one event. It stops after maxAnswer bytes.
func (w *words) add(c *chunk) {
	if len(w.reasoning)+len(w.content)+len(w.calls) > maxAnswer {
		return
	}
	w.reasoning = append(w.reasoning, c.reasoning...)
	w.content = append(w.content, c.content...)
	if c.calls != nil {
		s := jsonscan.Of(c.calls)
		if s.Peek() == '{' {
			w.call(&s)
			return
		}
		for range s.Array {
			w.call(&s)
		}
	}
}

// call reads a piece of a call: its name comes first, and then its arguments, in pieces.
func (w *words) call(s *jsonscan.Scanner) {
	for name := range s.Object {
		switch string(name) {
		case "function":
			w.call(s)
		case "name":
			if text, ok := s.Text(); ok && len(text) > 0 {
				w.close()
				w.calls, w.open = append(append(w.calls, text...), '('), true
			}
		case "arguments":
			text, _ := s.Text()
			w.calls = append(w.calls, text...)
		default:
			s.Skip()
		}
	}
}

func (w *words) close() {
	if w.open {
		w.calls, w.open = append(w.calls, ')'), false
	}
}

// text returns the whole answer, in the form of message.text.
func (w *words) text() string {
	w.close()
	out := unquote(w.content) + unquote(w.calls)
	if r := unquote(w.reasoning); r != "" {
		out = "<think>" + r + "</think>" + out
	}
	return out
}

// unquote decodes a raw JSON string without quotes.
func unquote(raw []byte) string {
	var text string
	if json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &text) != nil {
		return string(raw)
	}
	return text
}

// answer classifies a streamed answer as a measured one, and returns its content. An answer that the model
// ends at once also counts as an answer.
func (s *stream) answer(resp *response, err error, cancelled bool) (a record.Answer, f record.Failure, text string) {
	natural := slices.Contains(naturalEnds, s.rec.Finish)
	if f, text = s.classify(resp, err, cancelled); f != "" && (f != record.FailEmpty || !natural || s.ignoreEOS) {
		return a, f, text
	}
	if s.repeated.broken {
		return a, record.FailGarbage, "the text of an event neither repeats nor continues the text of the events before it, as it does " +
			"where a server sends the new text alone and its second text began with its first"
	}
	a.SetText(s.words.text())
	f, text = ended(s.rec, &a, s.stop, s.ignoreEOS)
	return a, f, text
}

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
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`

	// Text and Meta are fields of SGLang's endpoint.
	Text *string `json:"text"`
	Meta struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Finish     *struct {
			Type    string `json:"type"`
			Matched any    `json:"matched"` // as Stop
		} `json:"finish_reason"`
		Logprobs [][]any `json:"output_token_logprobs"` // log-probability, ID, text
	} `json:"meta_info"`
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
	var of []float64
	if len(c.Choices) == 0 {
		s.ends(c.Meta.Prompt, c.Meta.Completion, "", nil)
		if c.Meta.Finish != nil {
			s.ends(c.Meta.Prompt, c.Meta.Completion, c.Meta.Finish.Type, c.Meta.Finish.Matched)
		}
		a.SetText(value(c.Text))
		for _, token := range c.Meta.Logprobs {
			if len(token) > 1 {
				a.Tokens = append(a.Tokens, fmt.Sprint(token[1]))
				if p, ok := token[0].(float64); ok {
					of = append(of, p)
				}
			}
		}
	} else {
		choice := c.Choices[0]
		s.ends(c.Usage.Prompt, c.Usage.Completion, choice.Finish, choice.Stop)
		a.SetText(value(choice.Text))
		if m := choice.Message; m != nil {
			a.SetText(m.text())
		}
		if l := choice.Logprobs; l != nil {
			a.Tokens = l.Tokens
			for _, p := range l.Of {
				if p != nil {
					of = append(of, *p)
				}
			}
			for _, t := range l.Content {
				a.Tokens = append(a.Tokens, tokenName(t.Token, t.Bytes))
				if t.Logprob != nil {
					of = append(of, *t.Logprob)
				}
			}
		}
	}
	if s.rec.OutputTokens == 0 {
		s.rec.OutputTokens = len(a.Tokens)
	}
	// Servers differ in whether they count or list the token that ends an answer.
	if len(of) != len(a.Tokens) || len(a.Tokens)+1 < s.rec.OutputTokens {
		a.Tokens = nil
		return a
	}
	a.Logprobs = of
	return a
}

// ends records an answer's length and the reason for its end.
func (s *textAnswer) ends(prompt, output int, finish string, stop any) {
	s.rec.PromptTokens, s.rec.OutputTokens = max(s.rec.PromptTokens, prompt), output
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

// asked returns the end of a prompt, or "" for token IDs. Like clip it cuts between words: the rest of a
// secret that is cut in two could not be masked.
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
