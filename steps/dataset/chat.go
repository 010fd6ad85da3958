package dataset

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

// conversations makes the turns of synthetic conversations: kind chat. A request contains the whole history, so
// consecutive turns share a prefix as in a real chat. The answers in the history are made up at the requested
// lengths, not taken from the server. The prompts are thus known beforehand and equal on every side, whatever a
// model answers. With real_answers they are Sessions, whose turns contain the server's answers.
//
// Several users chat at the same time: requests 0..users-1 are their first turns, the next ones their second turns,
// and so on. After their last turn, new users follow.
type conversations struct {
	maker
	chat                 bool
	turns, users, system int
}

func newConversations(_ context.Context, d steps.Dataset, m Material) (Source, error) {
	c := conversations{
		maker: newMaker(d, m.Corpus, true), chat: m.Chat,
		turns: option(d, "turns"), users: option(d, "users"), system: option(d, "system_len"),
	}
	switch {
	case !RealAnswers(d):
		return c, nil
	case !m.Chat:
		return nil, invalid("real_answers needs endpoint \"chat\", whose messages can hold them")
	}
	return dialogue{c}, nil
}

// chatMessage is one message: its length in tokens and the generator of its content.
type chatMessage struct {
	role   string
	tokens int
	r      *rand.Rand
	real   json.RawMessage // the server's answer, a JSON string
}

// dialogue makes conversations with the server's answers: Sessions in which each turn waits for the one before it.
type dialogue struct{ conversations }

func (d dialogue) Session(i int) int {
	conversation, _ := d.turn(i)
	return conversation
}

func (d dialogue) Requests(session int) []int { return d.until(session, d.turns) }

func (d dialogue) After(i int) ([]int, time.Duration) {
	before := d.Answers(i)
	return before[max(len(before)-1, 0):], 0
}

func (d dialogue) Answers(i int) []int {
	conversation, turn := d.turn(i)
	return d.until(conversation, turn)
}

func (d dialogue) Continue(i int, seeds Seeds, answers []json.RawMessage) Prompt {
	return d.prompt(i, seeds, answers)
}

// turn returns the conversation of request i, and its turn in it, counted from 0.
func (s conversations) turn(i int) (conversation, turn int) {
	round := i % (s.users * s.turns)
	return i/(s.users*s.turns)*s.users + round%s.users, round / s.users
}

// until returns the first requests of a conversation.
func (s conversations) until(conversation, turns int) []int {
	out := make([]int, turns)
	for turn := range out {
		out[turn] = conversation/s.users*s.users*s.turns + turn*s.users + conversation%s.users
	}
	return out
}

func (s conversations) Prompt(i int, seeds Seeds) Prompt { return s.prompt(i, seeds, nil) }

func (s conversations) prompt(i int, seeds Seeds, answers []json.RawMessage) Prompt {
	conversation, turn := s.turn(i)
	var history []chatMessage
	if s.system > 0 {
		history = append(history, chatMessage{role: "system", tokens: s.system, r: stream(seeds.Content, streamPrefix, 0)})
	}
	var p Prompt
	for k := range turn + 1 {
		key := conversation*s.turns + k
		r := stream(seeds.Lengths, streamLengths, key)
		in, out := between(r, s.spec.InputMin, s.spec.InputMax), between(r, s.spec.OutputMin, s.spec.OutputMax)
		history = append(history, chatMessage{role: "user", tokens: in, r: stream(seeds.Content, streamContent, 2*key)})
		if k < turn {
			answer := chatMessage{role: "assistant", tokens: out, r: stream(seeds.Content, streamContent, 2*key+1)}
			if k < len(answers) {
				answer.real = answers[k]
			}
			history = append(history, answer)
		}
		p.Output = out
	}
	for _, m := range history {
		p.Input += m.tokens
	}
	return s.render(p, history)
}

// render formats a conversation as token IDs, messages or text.
func (s conversations) render(p Prompt, history []chatMessage) Prompt {
	if s.exact {
		for _, m := range history {
			p.IDs = s.draw.appendIDs(p.IDs, len(p.IDs)+m.tokens, m.r)
		}
		return p
	}
	messages := make([]message, len(history))
	texts := make([]string, len(history))
	for i, m := range history {
		texts[i] = s.draw.text(0, m.r, m.tokens, m.r)
		messages[i] = message{m.role, quote(texts[i])}
		if m.real != nil {
			messages[i].Content = m.real
		}
	}
	if !s.chat {
		p.Text = strings.Join(texts, "\n")
		return p
	}
	raw, err := json.Marshal(messages)
	if err != nil {
		panic("dataset: text cannot be JSON: " + err.Error()) // cannot happen for strings
	}
	p.Messages = raw
	return p
}
