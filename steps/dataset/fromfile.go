package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// tokenizeBatch is how many texts one tokenizer request contains.
const tokenizeBatch = 128

// Material is what the prompts of a dataset are made from.
type Material struct {
	Corpus
	Table *Table
	// Tokenize returns the token IDs of texts as the server reads them, with special tokens; nil if the server
	// has no tokenizer.
	Tokenize func(ctx context.Context, texts []string) ([][]int, error)
	// Need is the number of requests, 0 if unknown.
	Need int
	// Seeds of the run; Lengths selects the entries.
	Seeds Seeds
}

// unknownNeed is how many entries are prepared if the number of requests is unknown.
const unknownNeed = 1024

// choose shuffles the entries of a file by the lengths seed. If there are fewer entries than requests, they
// repeat. To avoid prefix cache hits by such repetitions and by the next repeat, it replaces the second and
// third token of each prompt by drawn ones, at equal length. In text it prepends a few characters. rotate =
// false keeps all prompts unchanged; Verbatim keeps those of the first round.
func choose(conversations bool) func(context.Context, steps.Dataset, Material) (Source, error) {
	return func(ctx context.Context, d steps.Dataset, m Material) (Source, error) {
		c := chooser{maker: newMaker(d, m.Corpus, false), m: m, need: cmp.Or(m.Need, unknownNeed), conversations: conversations}
		return c.source(ctx)
	}
}

// chooser selects the entries of a run.
type chooser struct {
	maker
	m      Material
	need   int
	chosen []Prompt
	// conversations are filtered as in `vllm bench serve`. Their answers have the recorded lengths unless the
	// file sets a length for all.
	conversations bool
}

func (c *chooser) source(ctx context.Context) (Source, error) {
	seed := c.m.Seeds.Lengths
	if n, ok := wholeOption(c.spec.Options["seed"]); ok {
		seed = uint64(n)
	}
	order := stream(seed, streamOrder, 0).Perm(len(c.m.Table.Entries))
	for batch := range slices.Chunk(order, tokenizeBatch) {
		if err := c.addBatch(ctx, batch); err != nil {
			return nil, err
		}
		if len(c.chosen) >= c.need {
			c.chosen = c.chosen[:c.need]
			break
		}
	}
	if len(c.chosen) == 0 {
		return nil, invalid(
			"%s: none of its %d entries has a prompt of %d to %d tokens and at most %d with the answer; raise max_input or max_total",
			c.spec.Path, len(order), shareMin, option(c.spec, "max_input"), option(c.spec, "max_total"))
	}
	rotate, ok := c.spec.Options["rotate"].(bool)
	return marked{maker: c.maker, prompts: c.chosen, corpus: c.m.IDs, still: ok && !rotate, verbatim: c.spec.Verbatim && !ok}, nil
}

// addBatch makes prompts of entries and keeps those that pass the filter.
func (c *chooser) addBatch(ctx context.Context, batch []int) error {
	var texts []string
	for _, i := range batch {
		e := &c.m.Table.Entries[i]
		texts = append(texts, e.Text, e.Answer)
	}
	ids, err := c.tokens(ctx, texts)
	if err != nil {
		return err
	}
	for k, i := range batch {
		p, err := c.prompt(i, ids[2*k], ids[2*k+1])
		if err != nil {
			return err
		}
		if !c.conversations || kept(c.maker, p.Input, p.Output) {
			c.chosen = append(c.chosen, p)
		}
	}
	return nil
}

// counted holds a text's token IDs, or an estimate of their number.
type counted struct {
	ids []int
	n   int
}

// tokens tokenizes the non-empty texts.
func (c *chooser) tokens(ctx context.Context, texts []string) ([]counted, error) {
	out := make([]counted, len(texts))
	var asked []string
	var places []int
	for i, text := range texts {
		if text == "" {
			continue
		}
		out[i].n = c.draw.estimate(text)
		asked, places = append(asked, text), append(places, i)
	}
	if c.m.Tokenize == nil || len(asked) == 0 {
		return out, nil
	}
	ids, err := c.m.Tokenize(ctx, asked)
	if err != nil {
		return nil, err
	}
	for k, i := range places {
		out[i] = counted{ids: ids[k], n: len(ids[k])}
	}
	return out, nil
}

// prompt makes the prompt of entry i.
func (c *chooser) prompt(i int, text, answer counted) (Prompt, error) {
	e := &c.m.Table.Entries[i]
	p := Prompt{Text: e.Text, Messages: e.Messages, IDs: e.IDs, Documents: e.Documents, Input: e.Input, Output: e.Output}
	switch {
	case c.spec.OutputMin > 0 && (e.Output == 0 || c.conversations):
		p.Output = between(stream(c.m.Seeds.Lengths, streamLengths, i), c.spec.OutputMin, c.spec.OutputMax)
	case e.Output == 0 && c.conversations:
		p.Output = answer.n
	case e.Output == 0:
		return p, invalid("%s, line %d: no output_tokens, and the dataset has no output_len", c.spec.Path, e.line)
	}
	switch {
	case c.m.Rerank != (e.Documents != nil):
		return p, invalid("%s, line %d: a query with documents is for endpoint = \"rerank\", which asks nothing else", c.spec.Path, e.line)
	case e.Documents != nil:
		for _, d := range e.Documents {
			p.Input += text.n + c.draw.estimate(d)
		}
	case e.Messages != nil && !c.m.Chat:
		return p, invalid("%s, line %d: messages need endpoint = \"chat\"", c.spec.Path, e.line)
	case e.IDs != nil && c.m.Chat:
		return p, invalid("%s, line %d: token ids cannot be sent to endpoint \"chat\"; use completions or generate", c.spec.Path, e.line)
	case e.Text != "" && text.ids != nil && !c.m.Chat:
		p.Text, p.IDs, p.Input = "", text.ids, len(text.ids)
	case e.Text != "":
		p.Input = text.n
	case e.Messages != nil:
		p.Input = c.draw.estimate(string(e.Messages))
	}
	return p, nil
}

// marked holds the selected prompts and changes their beginning from repeat to repeat.
type marked struct {
	maker
	prompts []Prompt
	corpus  []int
	still   bool
	// verbatim prompts change only when they repeat.
	verbatim bool
}

func (s marked) Prompt(i int, seeds Seeds) Prompt {
	p := s.prompts[i%len(s.prompts)]
	if s.still || s.verbatim && i < len(s.prompts) {
		return p
	}
	r := stream(seeds.Content, streamMark, i/len(s.prompts))
	switch {
	case p.IDs != nil:
		// Skip the first token: it may be a beginning-of-sequence token.
		p.IDs = slices.Clone(p.IDs)
		for j := 1; j < min(3, len(p.IDs)) && len(s.corpus) > 0; j++ {
			p.IDs[j] = s.corpus[r.IntN(len(s.corpus))]
		}
	case p.Messages != nil:
		p.Messages = markMessages(p.Messages, mark(r.Uint64()))
	default:
		p.Text = mark(r.Uint64()) + p.Text
	}
	return p
}

// mark returns a short text that makes the beginning of a prompt unique.
func mark(x uint64) string { return fmt.Sprintf("[%05x] ", x&0xfffff) }

// markMessages puts a mark before the text of the first message. A first message without text, for example with
// images only, stays unchanged.
func markMessages(raw json.RawMessage, mark string) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return raw
	}
	first := list[0]
	var text string
	var parts []map[string]json.RawMessage
	switch {
	case json.Unmarshal(first["content"], &text) == nil:
		first["content"] = quote(mark + text)
	case json.Unmarshal(first["content"], &parts) == nil:
		at := slices.IndexFunc(parts, func(p map[string]json.RawMessage) bool {
			return strings.Trim(string(p["type"]), `"`) == "text" && json.Unmarshal(p["text"], &text) == nil
		})
		if at < 0 {
			return raw
		}
		parts[at]["text"] = quote(mark + text)
		first["content"], _ = json.Marshal(parts)
	}
	out, err := json.Marshal(list)
	if err != nil {
		return raw
	}
	return out
}

func quote(s string) json.RawMessage {
	b, _ := json.Marshal(s) // cannot fail for a string
	return b
}
