package simulate

import (
	"fmt"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// The shapes of the answers, in vLLM's order of fields.
type (
	completionChunk struct {
		ID      string             `json:"id"`
		Object  string             `json:"object"`
		Created int64              `json:"created"`
		Model   string             `json:"model"`
		Choices []completionChoice `json:"choices"`
		Usage   *usageBody         `json:"usage,omitempty"`
		KV      any                `json:"kv_transfer_params,omitempty"`
	}
	completionChoice struct {
		Index        int     `json:"index"`
		Text         string  `json:"text"`
		Logprobs     any     `json:"logprobs"`
		FinishReason *string `json:"finish_reason"`
		StopReason   any     `json:"stop_reason"`
	}
	chatChunk struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Created int64        `json:"created"`
		Model   string       `json:"model"`
		Choices []chatChoice `json:"choices"`
		Usage   *usageBody   `json:"usage,omitempty"`
		KV      any          `json:"kv_transfer_params,omitempty"`
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

// usageOf counts a request after n output tokens. Cached tokens are reported only with the
// flags that real servers need for it.
func (s *Server) usageOf(g *generation, n, cached int) *usageBody {
	u := &usageBody{PromptTokens: len(g.prompt), TotalTokens: len(g.prompt) + n, CompletionTokens: n}
	if s.launch.reportsCached() {
		u.PromptTokensDetails = &cachedDetails{CachedTokens: cached}
	}
	return u
}

// reportsCached reports whether the server has the flag that real ones need to report cached tokens.
func (l *launch) reportsCached() bool {
	return l.args.bool("--enable-prompt-tokens-details", false) || l.args.bool("--enable-cache-report", false)
}

// openaiBody is a whole answer without streaming.
func (s *Server) openaiBody(g *generation, ids []int, last token) any {
	text, usage := model.Decode(ids), s.usageOf(g, len(ids), last.Cached)
	g.id = s.answerID(g.chat)
	kv := s.answerParams(g, last)
	if g.chat {
		choice := chatChoice{Message: &chatMsg{Role: "assistant", Content: &text}, FinishReason: &g.finish}
		return chatChunk{ID: g.id, Object: "chat.completion", Created: s.now().Unix(), Model: s.launch.served, Choices: []chatChoice{choice}, Usage: usage, KV: kv}
	}
	choice := completionChoice{Text: text, FinishReason: &g.finish}
	return completionChunk{ID: g.id, Object: "text_completion", Created: s.now().Unix(), Model: s.launch.served, Choices: []completionChoice{choice}, Usage: usage, KV: kv}
}

// answerParams is kv_transfer_params of an answer, nil for none.
func (s *Server) answerParams(g *generation, last token) any {
	switch {
	case g.exchange == nil || !g.exchange.Tells:
		return nil
	case last.Blocks != nil:
		return s.kv.Params(g.id, last.Blocks)
	}
	return map[string]any{"first_tok": last.Token} // LMCache's
}

// streamOpenAI streams one event for each token, then the usage if it was asked for.
func (s *Server) streamOpenAI(w http.ResponseWriter, r *http.Request, at time.Duration, g *generation) {
	g.id = s.answerID(g.chat)
	created := s.now().Unix()
	ev := wire.NewEvents(w)
	produced, cached := 0, 0
	err := s.driver.generate(r.Context(), at, g.prompt, g.output, g.exchange, func(t token) error {
		produced, cached = t.Index+1, t.Cached
		if g.chat && t.Index == 0 {
			if err := ev.Send(s.chatDelta(g, created, chatMsg{Role: "assistant", Content: new(string)}, nil, s.continuousUsage(g, 0, cached))); err != nil {
				return err
			}
		}
		return ev.Send(s.tokenChunk(g, created, t))
	})
	if err != nil {
		s.interrupted(w, ev, err)
		return
	}
	s.stats.finish(g.finish)
	if g.usage {
		_ = ev.Send(s.usageChunk(g, created, s.usageOf(g, produced, cached)))
	}
	ev.Done()
}

// tokenChunk is the event of one token.
func (s *Server) tokenChunk(g *generation, created int64, t token) any {
	var finish *string
	if t.Last {
		finish = &g.finish
	}
	text, usage := model.Decode([]int{t.Token}), s.continuousUsage(g, t.Index+1, t.Cached)
	if g.chat {
		return s.chatDelta(g, created, chatMsg{Content: &text}, finish, usage)
	}
	choice := completionChoice{Text: text, FinishReason: finish}
	return completionChunk{ID: g.id, Object: "text_completion", Created: created, Model: s.launch.served, Choices: []completionChoice{choice}, Usage: usage}
}

func (s *Server) chatDelta(g *generation, created int64, delta chatMsg, finish *string, usage *usageBody) chatChunk {
	return chatChunk{ID: g.id, Object: "chat.completion.chunk", Created: created, Model: s.launch.served,
		Choices: []chatChoice{{Delta: &delta, FinishReason: finish}}, Usage: usage}
}

func (s *Server) usageChunk(g *generation, created int64, usage *usageBody) any {
	if g.chat {
		return chatChunk{ID: g.id, Object: "chat.completion.chunk", Created: created, Model: s.launch.served, Choices: []chatChoice{}, Usage: usage}
	}
	return completionChunk{ID: g.id, Object: "text_completion", Created: created, Model: s.launch.served, Choices: []completionChoice{}, Usage: usage}
}

func (s *Server) continuousUsage(g *generation, n, cached int) *usageBody {
	if !g.continuous {
		return nil
	}
	return s.usageOf(g, n, cached)
}

// answerID is unique within a launch and the same in every launch with the same requests.
func (s *Server) answerID(chat bool) string {
	n := s.driver.nextAnswer()
	if chat {
		return fmt.Sprintf("chatcmpl-%032x", n)
	}
	return fmt.Sprintf("cmpl-%032x", n)
}
