package load

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

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
func (r *runner) ask(ctx context.Context, a *attempt, p dataset.Prompt, cn *conn, again time.Duration, wire []byte,
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
	resp, resent, err := r.client.exchange(ctx, cn, cn.patience(reused), wire, deadline, out)
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
