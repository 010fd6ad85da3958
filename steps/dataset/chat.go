package dataset

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
)

// conversations makes the turns of synthetic conversations: kind chat. A request holds
// all that was said before, so that consecutive turns share their beginning as those of
// a chat do. The answers in the history are made up at their wanted lengths instead of
// taken from the server: what is sent is then known beforehand and the same on every
// side, whatever a model says.
//
// So many users talk at once: requests 0..users-1 are their first turns, the next ones
// their second turns, and so on; after their last turn new ones follow.
type conversations struct {
	maker
	chat                 bool
	turns, users, system int
}

func newConversations(m maker, chat bool) conversations {
	return conversations{
		maker: m, chat: chat,
		turns: option(m.spec, "turns"), users: option(m.spec, "users"), system: option(m.spec, "system_len"),
	}
}

// said is one message: its length in tokens and what draws its content.
type said struct {
	role   string
	tokens int
	r      *rand.Rand
}

func (s conversations) Prompt(i int, seeds Seeds) Prompt {
	round := i % (s.users * s.turns)
	turn := round / s.users
	conversation := i/(s.users*s.turns)*s.users + round%s.users
	var history []said
	if s.system > 0 {
		history = append(history, said{"system", s.system, stream(seeds.Content, streamPrefix, 0)})
	}
	var p Prompt
	for k := range turn + 1 {
		key := conversation*s.turns + k
		r := stream(seeds.Lengths, streamLengths, key)
		in, out := between(r, s.spec.InputMin, s.spec.InputMax), between(r, s.spec.OutputMin, s.spec.OutputMax)
		history = append(history, said{"user", in, stream(seeds.Content, streamContent, 2*key)})
		if k < turn {
			history = append(history, said{"assistant", out, stream(seeds.Content, streamContent, 2*key+1)})
		}
		p.Output = out
	}
	for _, m := range history {
		p.Input += m.tokens
	}
	return s.render(p, history)
}

// render writes a conversation as token ids, messages or text.
func (s conversations) render(p Prompt, history []said) Prompt {
	if s.exact {
		for _, m := range history {
			p.IDs = s.draw.appendIDs(p.IDs, len(p.IDs)+m.tokens, m.r)
		}
		return p
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := make([]message, len(history))
	texts := make([]string, len(history))
	for i, m := range history {
		texts[i] = s.draw.text(0, m.r, m.tokens, m.r)
		messages[i] = message{m.role, texts[i]}
	}
	if !s.chat {
		p.Text = strings.Join(texts, "\n")
		return p
	}
	raw, err := json.Marshal(messages)
	if err != nil {
		panic("dataset: text cannot be JSON: " + err.Error()) // strings always can
	}
	p.Messages = raw
	return p
}
