package simulate

import (
	"fmt"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// Forms of the answers, in vLLM's order of fields.
type (
	answer[C any] struct {
		ID      string     `json:"id"`
		Object  string     `json:"object"`
		Created int64      `json:"created"`
		Model   string     `json:"model"`
		Choices []C        `json:"choices"`
		Usage   *usageBody `json:"usage,omitempty"`
		KV      any        `json:"kv_transfer_params,omitempty"`
	}
	completionChoice struct {
		Index        int     `json:"index"`
		Text         string  `json:"text"`
		Logprobs     any     `json:"logprobs"`
		FinishReason *string `json:"finish_reason"`
		StopReason   any     `json:"stop_reason"`
	}
	chatChoice struct {
		Index        int      `json:"index"`
		Delta        *chatMsg `json:"delta,omitempty"`
		Message      *chatMsg `json:"message,omitempty"`
		Logprobs     any      `json:"logprobs"`
		FinishReason *string  `json:"finish_reason"`
	}
	chatMsg struct {
		Role    string  `json:"role,omitempty"`
		Content *string `json:"content,omitempty"`
	}
	usageBody struct {
		PromptTokens        int            `json:"prompt_tokens"`
		TotalTokens         int            `json:"total_tokens"`
		CompletionTokens    int            `json:"completion_tokens"`
		PromptTokensDetails *cachedDetails `json:"prompt_tokens_details,omitempty"`
	}
	cachedDetails struct {
		CachedTokens int `json:"cached_tokens"`
	}
)

// usageOf counts a request after n output tokens. It reports cached tokens only with the flags that
// real servers need for it.
func (s *Server) usageOf(g *generation, n, cached int) *usageBody {
	u := &usageBody{PromptTokens: len(g.prompt), TotalTokens: len(g.prompt) + n, CompletionTokens: n}
	if s.launch.cached {
		u.PromptTokensDetails = &cachedDetails{CachedTokens: cached}
	}
	return u
}

// answerOf puts choices into an answer.
func answerOf[C any](s *Server, g *generation, object string, usage *usageBody, choices ...C) answer[C] {
	return answer[C]{ID: g.id, Object: object, Created: g.created, Model: s.launch.served, Choices: append([]C{}, choices...), Usage: usage}
}

// openaiBody returns a whole answer without streaming.
func (s *Server) openaiBody(g *generation, ids []int, last token) any {
	text, usage := model.Decode(ids), s.usageOf(g, len(ids), last.Cached)
	if g.chat {
		a := answerOf(s, g, "chat.completion", usage, chatChoice{Message: &chatMsg{Role: "assistant", Content: &text},
			Logprobs: s.logprobs(g, ids), FinishReason: &g.finish})
		a.KV = s.answerParams(g, last)
		return a
	}
	a := answerOf(s, g, "text_completion", usage, completionChoice{Text: text, Logprobs: s.logprobs(g, ids), FinishReason: &g.finish})
	a.KV = s.answerParams(g, last)
	return a
}

// answerParams returns kv_transfer_params of an answer, nil for none.
func (s *Server) answerParams(g *generation, last token) any {
	if g.exchange == nil || !g.exchange.ByBlocks || last.Blocks == nil {
		return nil
	}
	return s.kv.Params(g.id, last.Blocks)
}

// streamOpenAI streams one event for each step, then the usage if requested.
func (s *Server) streamOpenAI(w http.ResponseWriter, r *http.Request, at time.Duration, g *generation) {
	ev := wire.NewEvents(w)
	produced, cached := 0, 0
	err := s.driver.generate(r.Context(), at, g.prompt, g.output, g.exchange, func(t token) error {
		first := produced == 0
		produced, cached = t.Index+1, t.Cached
		if g.chat && first {
			if err := ev.Send(s.chunk(g, chatMsg{Role: "assistant", Content: new(string)}, nil, nil, 0, cached)); err != nil {
				return err
			}
		}
		ids := t.ids()
		text := model.Decode(ids)
		var finish *string
		if t.Last {
			finish = &g.finish
		}
		return ev.Send(s.chunk(g, chatMsg{Content: &text}, s.logprobs(g, ids), finish, produced, cached))
	})
	if err != nil {
		s.interrupted(w, ev, err)
		return
	}
	s.stats.finish(g.finish)
	switch usage := s.usageOf(g, produced, cached); {
	case g.usage && g.chat:
		_ = ev.Send(answerOf[chatChoice](s, g, "chat.completion.chunk", usage))
	case g.usage:
		_ = ev.Send(answerOf[completionChoice](s, g, "text_completion", usage))
	}
	ev.Done()
}

// chunk returns one event of a stream, after n tokens.
func (s *Server) chunk(g *generation, delta chatMsg, logprobs any, finish *string, n, cached int) any {
	var usage *usageBody
	if g.continuous {
		usage = s.usageOf(g, n, cached)
	}
	if g.chat {
		return answerOf(s, g, "chat.completion.chunk", usage, chatChoice{Delta: &delta, Logprobs: logprobs, FinishReason: finish})
	}
	return answerOf(s, g, "text_completion", usage, completionChoice{Text: *delta.Content, Logprobs: logprobs, FinishReason: finish})
}

// answerID returns an ID that is unique within a launch and the same in every launch with the same
// requests.
func (s *Server) answerID(chat bool) string {
	n := s.driver.nextAnswer()
	if chat {
		return fmt.Sprintf("chatcmpl-%032x", n)
	}
	return fmt.Sprintf("cmpl-%032x", n)
}
