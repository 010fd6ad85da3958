package recorder

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

// call is one call of a model.
type call struct {
	session       string // by the client's header
	began, took   time.Duration
	input, output int
	ids           []int // of the prompt, where the server says them

	model  string
	prompt map[string]any // what /tokenize is asked
	single bool           // one prompt, one answer
}

// form is how a path's requests say their prompt.
type form struct{ chat, native bool }

// forms are the paths whose requests are calls.
var forms = map[string]form{
	"/v1/completions":      {},
	"/v1/chat/completions": {chat: true},
	"/generate":            {native: true},
}

// requestBody is what is read of a request.
type requestBody struct {
	Model    string          `json:"model"`
	Prompt   json.RawMessage `json:"prompt"`
	Messages json.RawMessage `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
	Text     json.RawMessage `json:"text"`
	IDs      []int           `json:"input_ids"`
	N        *int            `json:"n"`
}

// readCall reads a request whole and puts it back for the server.
func readCall(w http.ResponseWriter, req *http.Request, f form, most int64) (*call, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, req.Body, most))
	if err != nil {
		return nil, err
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	req.TransferEncoding = nil
	c := &call{}
	var b requestBody
	if json.Unmarshal(raw, &b) != nil {
		return c, nil // the server says what is wrong with it
	}
	c.model, c.single = b.Model, b.N == nil || *b.N == 1
	var text string
	switch {
	case f.chat && len(b.Messages) > 0:
		c.prompt = map[string]any{"messages": b.Messages, "add_generation_prompt": true}
		if len(b.Tools) > 0 {
			c.prompt["tools"] = b.Tools
		}
	case f.native && len(b.IDs) > 0:
		c.ids = b.IDs
	case f.native && json.Unmarshal(b.Text, &text) == nil, json.Unmarshal(b.Prompt, &text) == nil:
		c.prompt = map[string]any{"prompt": text}
	case json.Unmarshal(b.Prompt, &c.ids) == nil:
	default:
		c.single = false
	}
	return c, nil
}

// measure finds the lengths of a call: by the server's own count where its answer has one, else by its
// tokenizer. It returns why the call is left out, "" if it is not.
func (r *Recorder) measure(ctx context.Context, c *call, seen *answer) string {
	seen.flushLine()
	switch {
	case seen.absent != "":
		return seen.absent
	case seen.status >= 300:
		return "the server refused it"
	case !c.single:
		return "it has several prompts or answers, or none"
	}
	if c.ids == nil {
		c.ids = r.tokenize(ctx, c.model, c.prompt)
	}
	c.input, c.output = seen.usage.prompt, seen.usage.output
	if len(c.ids) > 0 && (c.input == 0 || c.input != len(c.ids)) {
		if c.input > 0 {
			c.ids = nil // the server reads the prompt otherwise than its tokenizer, so its blocks are not these
		} else {
			c.input = len(c.ids)
		}
	}
	if c.output == 0 && seen.text.Len() > 0 {
		c.output = seen.count(len(r.tokenize(ctx, c.model, map[string]any{"prompt": seen.text.String(), "add_special_tokens": false})))
	}
	switch {
	case c.output == 0 && seen.text.Len() == 0:
		return "it has no answer"
	case c.input == 0 || c.output == 0:
		return "neither the answer nor a tokenizer says its lengths"
	}
	return ""
}

// tokenize asks the server's tokenizer; nil where it has none.
func (r *Recorder) tokenize(ctx context.Context, model string, of map[string]any) []int {
	if of == nil {
		return nil
	}
	body := map[string]any{"model": model}
	maps.Copy(body, of)
	raw, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.opt.Target.JoinPath("tokenize").String(), bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	var got struct {
		Tokens []int `json:"tokens"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&got) != nil {
		return nil
	}
	return got.Tokens
}

// answer passes an answer on and reads on the way what it says of tokens.
type answer struct {
	http.ResponseWriter
	status int
	absent string // why the server gave none
	stream bool
	line   bytes.Buffer // of a stream, or the whole document
	over   bool         // the line is longer than what is kept
	text   strings.Builder
	events int  // of a stream, with a token each at least
	ended  bool // the model ended it, by a token without text
	usage  struct{ prompt, output int }
}

// count is the number of tokens of an answer whose text has so many by the tokenizer, 0 where that has none. The
// model may have made the text of more tokens than the tokenizer does.
func (a *answer) count(ofText int) int {
	if ofText == 0 {
		return 0
	}
	if a.ended {
		ofText++
	}
	return max(ofText, a.events)
}

// Unwrap lets the proxy flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
		a.stream = strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream")
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	if a.stream && err == nil {
		err = http.NewResponseController(a.ResponseWriter).Flush() // the client does not wait for us
	}
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if !a.stream || end < 0 {
			a.keep(rest)
			break
		}
		a.keep(rest[:end])
		a.flushLine()
		rest = rest[end+1:]
	}
	return n, err
}

func (a *answer) keep(p []byte) {
	if a.over = a.over || a.line.Len()+len(p) > maxAnswer; !a.over {
		a.line.Write(p)
	}
}

// chunk is what is read of an event, or of a whole answer.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *struct {
		Prompt int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	} `json:"usage"`
	// SGLang's own form, whose text is all that was said so far.
	Text string `json:"text"`
	Meta *struct {
		Prompt int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	} `json:"meta_info"`
}

type choice struct {
	Text    *string  `json:"text"`
	Delta   *message `json:"delta"`
	Message *message `json:"message"`
	Finish  string   `json:"finish_reason"`
}

func (c choice) text() string {
	return deref(c.Text) + c.Delta.text() + c.Message.text()
}

// bearsToken reports whether an event of a stream has a token: any with text, and one with an empty text, whose
// token is a part of a character or the end. The first event of a chat has the role alone.
func (c choice) bearsToken() bool {
	blank := c.Text != nil || c.Delta != nil && c.Delta.Content != nil && c.Delta.Role == ""
	return c.text() != "" || c.Finish == endOfModel || blank && c.Finish == ""
}

// endOfModel is the finish reason of an answer that the model ended itself.
const endOfModel = "stop"

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

type message struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	// Thoughts have either name, or both while an engine changes from one to the other.
	Reasoning        string `json:"reasoning"`
	ReasoningContent string `json:"reasoning_content"`
	Tools            []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (m *message) text() string {
	if m == nil {
		return ""
	}
	parts := []string{cmp.Or(m.Reasoning, m.ReasoningContent), deref(m.Content)}
	for _, t := range m.Tools {
		parts = append(parts, t.Function.Name, t.Function.Arguments)
	}
	return strings.Join(parts, "")
}

// flushLine reads the line that has come, or the document.
func (a *answer) flushLine() {
	text, ok := a.line.Bytes(), !a.over
	if a.stream {
		text, ok = bytes.CutPrefix(text, []byte("data:"))
		ok = ok && !a.over
	}
	var c chunk
	if ok && len(text) > 0 && json.Unmarshal(text, &c) == nil {
		a.add(c)
	}
	a.line.Reset()
	a.over = false
}

func (a *answer) add(c chunk) {
	said := ""
	for _, choice := range c.Choices {
		said += choice.text()
		if a.stream && choice.bearsToken() {
			a.events++
		}
		a.ended = a.ended || choice.Finish == endOfModel
	}
	if c.Meta != nil {
		a.usage.prompt, a.usage.output = c.Meta.Prompt, c.Meta.Output
		a.text.Reset()
		said = c.Text
	}
	if a.text.Len()+len(said) <= maxAnswer {
		a.text.WriteString(said)
	}
	if c.Usage != nil {
		a.usage.prompt, a.usage.output = c.Usage.Prompt, c.Usage.Output
	}
}
