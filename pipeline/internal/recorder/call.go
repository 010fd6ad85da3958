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
	session       string // from the client's header
	began, took   time.Duration
	input, output int
	ids           []int // token IDs of the prompt, if given

	model  string
	prompt map[string]any // request to /tokenize
	single bool           // one prompt, one answer
}

// form describes how the requests of a path contain the prompt.
type form struct{ chat, native bool }

// forms maps the paths of model calls to their form.
var forms = map[string]form{
	"/v1/completions":      {},
	"/v1/chat/completions": {chat: true},
	"/generate":            {native: true},
}

// requestBody holds the relevant fields of a request.
type requestBody struct {
	Model    string          `json:"model"`
	Prompt   json.RawMessage `json:"prompt"`
	Messages json.RawMessage `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
	Text     json.RawMessage `json:"text"`
	IDs      []int           `json:"input_ids"`
	N        *int            `json:"n"`
}

// readCall reads a whole request, and restores its body for the server.
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
		return c, nil // the server reports the error
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

// measure determines the lengths of a call, from the server's usage or else its tokenizer. It returns why the
// call is left out, "" if it is not.
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
	c.input, c.output = seen.usage.Prompt, seen.usage.Output
	if len(c.ids) > 0 && (c.input == 0 || c.input != len(c.ids)) {
		if c.input > 0 {
			c.ids = nil // the tokenizer disagrees with the server, so these are not its blocks
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

// tokenize calls the server's tokenizer; nil if it has none.
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

// answer forwards a response and reads its token counts.
type answer struct {
	http.ResponseWriter
	status int
	absent string // why there is no response
	stream bool
	line   bytes.Buffer // of a stream; otherwise the whole document
	over   bool         // the line exceeds the limit
	text   strings.Builder
	events int  // of a stream, each with at least one token
	ended  bool // the model ended it, with a token without text
	usage  usage
}

// count returns the number of tokens of an answer, given the tokenizer's count of its text; 0 without a count.
// The model may have used more tokens than the tokenizer would.
func (a *answer) count(ofText int) int {
	if ofText == 0 {
		return 0
	}
	if a.ended {
		ofText++
	}
	return max(ofText, a.events)
}

// Unwrap gives the proxy access to Flush.
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
		err = http.NewResponseController(a.ResponseWriter).Flush() // forwards each event at once
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

// chunk holds the relevant fields of an event, or of a whole response.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	// SGLang's own format; Text is cumulative.
	Text string `json:"text"`
	Meta *usage `json:"meta_info"`
}

// usage holds the server's counts of tokens.
type usage struct {
	Prompt int `json:"prompt_tokens"`
	Output int `json:"completion_tokens"`
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

// bearsToken reports whether a stream event contains a token. It does if it has text, or an empty text, whose
// token is part of a character or the end. The first event of a chat has only the role.
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
	// Reasoning text has either name, or both while an engine renames it.
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

// flushLine parses the current line, or the document.
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
		a.usage = *c.Meta
		a.text.Reset()
		said = c.Text
	}
	if a.text.Len()+len(said) <= maxAnswer {
		a.text.WriteString(said)
	}
	if c.Usage != nil {
		a.usage = *c.Usage
	}
}
