package simulate

import "github.com/servegate/pipeline/steps/simulate/model"

// The log-probabilities of chosen tokens, as vLLM and SGLang send them. Both list others only on
// request.
type (
	completionLogprobs struct {
		TextOffset    []int     `json:"text_offset"`
		TokenLogprobs []float64 `json:"token_logprobs"`
		Tokens        []string  `json:"tokens"`
		TopLogprobs   []any     `json:"top_logprobs"`
	}
	chatLogprobs struct {
		Content []chatLogprob `json:"content"`
	}
	chatLogprob struct {
		Token       string  `json:"token"`
		Logprob     float64 `json:"logprob"`
		Bytes       []int   `json:"bytes"`
		TopLogprobs []any   `json:"top_logprobs"`
	}
)

// logprobsOf returns the log-probabilities of the next tokens of an answer, and appends the tokens
// to it.
func (s *Server) logprobsOf(g *generation, ids []int) []float64 {
	context := append(append(make([]int, 0, len(g.prompt)+len(g.scored)+len(ids)), g.prompt...), g.scored...)
	out := make([]float64, len(ids))
	for i, id := range ids {
		out[i] = s.launch.config.Voice.Logprob(context)
		context = append(context, id)
	}
	g.scored = append(g.scored, ids...)
	return out
}

// logprobs returns the field of an answer for its next tokens, null if it was not requested.
func (s *Server) logprobs(g *generation, ids []int) any {
	if !g.logprobs {
		return nil
	}
	offset := len(model.Decode(g.scored))
	of := s.logprobsOf(g, ids)
	if g.chat {
		out := chatLogprobs{Content: []chatLogprob{}}
		for i, id := range ids {
			text := model.Decode([]int{id})
			l := chatLogprob{Token: text, Logprob: of[i], Bytes: []int{}, TopLogprobs: []any{}}
			for k := range len(text) {
				l.Bytes = append(l.Bytes, int(text[k]))
			}
			out.Content = append(out.Content, l)
		}
		return out
	}
	out := completionLogprobs{TextOffset: []int{}, TokenLogprobs: of, Tokens: []string{}, TopLogprobs: []any{}}
	for i, id := range ids {
		text := model.Decode([]int{id})
		out.TextOffset, out.Tokens = append(out.TextOffset, offset), append(out.Tokens, text)
		out.TopLogprobs = append(out.TopLogprobs, map[string]float64{text: of[i]})
		offset += len(text)
	}
	return out
}
