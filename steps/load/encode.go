package load

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// endpoint is the protocol of a target.
type endpoint int

const (
	endpointCompletions endpoint = iota
	endpointChat
	endpointGenerate
	endpointEmbeddings
	endpointRerank
)

// endpoints are the names of steps.Endpoints and their paths.
var endpoints = [...]struct{ name, path string }{
	endpointCompletions: {"completions", "/v1/completions"},
	endpointChat:        {"chat", "/v1/chat/completions"},
	endpointGenerate:    {"generate", "/generate"},
	endpointEmbeddings:  {"embeddings", "/v1/embeddings"},
	endpointRerank:      {"rerank", "/v1/rerank"},
}

func parseEndpoint(name string) (endpoint, error) {
	name = cmp.Or(name, endpoints[endpointCompletions].name)
	for e, known := range endpoints {
		if known.name == name {
			return endpoint(e), nil
		}
	}
	return 0, fmt.Errorf("load: endpoint %w", steps.Endpoints.Check(name))
}

// pooled endpoints answer with one document, which is not made of tokens.
func (e endpoint) pooled() bool { return steps.Pooled(endpoints[e].name) }

func (e endpoint) path() string { return endpoints[e].path }

// encoder renders requests as the bytes that go over the wire.
type encoder struct {
	endpoint endpoint
	model    string
	workload steps.Workload
	target   target
	headers  []string // "Name: value": our own, then those of the options, sorted
	// adapter is true if the model is an adapter of the workload instead of the server's model.
	adapter bool
}

// target is the destination of requests.
type target struct {
	host   string // for the Host header
	addr   string // host:port to dial
	tls    bool
	server string // host name for TLS
	prefix string // path before /v1
}

func parseTarget(base string) (target, error) {
	u, err := url.Parse(base)
	if err != nil {
		return target{}, fmt.Errorf("load: base URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
		return target{}, fmt.Errorf("load: base URL %q must look like http://host:port, without user and query", u.Redacted())
	}
	t := target{host: u.Host, tls: u.Scheme == "https", server: u.Hostname()}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[t.tls]
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	t.addr = host + ":" + port
	t.prefix = strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "/"), "/v1")
	return t, nil
}

func newEncoder(opt Options, e endpoint, t target) (*encoder, error) {
	if err := steps.CheckBody(opt.Workload.Body); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	enc := &encoder{endpoint: e, model: opt.Model, workload: opt.Workload, target: t}
	given := map[string]bool{}
	for name := range opt.Headers {
		given[strings.ToLower(name)] = true
	}
	for _, own := range [...]string{"User-Agent: pipeline", "Content-Type: application/json"} {
		if name, _, _ := strings.Cut(own, ":"); !given[strings.ToLower(name)] {
			enc.headers = append(enc.headers, own)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(opt.Headers)) {
		value := opt.Headers[name]
		if !validHeader(name, value) {
			return nil, fmt.Errorf("load: header %q has a character that a header cannot have", name)
		}
		enc.headers = append(enc.headers, name+": "+value)
	}
	return enc, nil
}

// validHeader reports whether a header cannot end its line and start another. The client sets framing headers
// itself.
func validHeader(name, value string) bool {
	switch strings.ToLower(name) {
	case "", "host", "content-length", "transfer-encoding", "connection", "accept-encoding":
		return false
	}
	return !strings.ContainsAny(name, " \t\r\n:\x00") && !strings.ContainsAny(value, "\r\n\x00")
}

// streamModels separates the draw of models from other uses of one seed.
const streamModels = 0x6d6f64656c730000

// of returns the encoder of request i, whose model is drawn by the workload's weights.
func (e *encoder) of(i int, seed uint64) *encoder {
	if len(e.workload.Models) == 0 {
		return e
	}
	names, all := slices.Sorted(maps.Keys(e.workload.Models)), 0.0
	for _, name := range names {
		all += e.workload.Models[name]
	}
	drawn := *e
	x := uniform(rand.NewPCG(seed, streamModels^uint64(i)*0x9e3779b97f4a7c15)) * all
	for _, name := range names {
		drawn.model, drawn.adapter = name, name != e.model
		if x -= e.workload.Models[name]; x < 0 {
			break
		}
	}
	return &drawn
}

// request renders one request for a prompt.
func (e *encoder) request(p dataset.Prompt, id string) ([]byte, error) {
	body, err := json.Marshal(e.body(p))
	if err != nil {
		return nil, fmt.Errorf("load: request body: %w", err)
	}
	accept := "Accept: text/event-stream"
	if e.endpoint.pooled() {
		accept = "Accept: application/json"
	}
	return e.post(e.endpoint.path(), body, "X-Request-Id: "+id, accept), nil
}

// whole renders one request for a complete answer with log-probabilities.
func (e *encoder) whole(p dataset.Prompt, id string) ([]byte, error) {
	fields := e.body(p)
	e.askWhole(fields)
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("load: request body: %w", err)
	}
	return e.post(e.endpoint.path(), body, "X-Request-Id: "+id, "Accept: application/json"), nil
}

// body returns the request body. encoding/json sorts its keys, so equal work has equal bytes.
func (e *encoder) body(p dataset.Prompt) map[string]any {
	w := e.workload
	b := map[string]any{"stream": true}
	switch e.endpoint {
	case endpointGenerate:
		e.generateBody(b, p)
		return b
	case endpointEmbeddings:
		return e.embeddingsBody(p)
	case endpointRerank:
		return e.rerankBody(p)
	}
	maps.Copy(b, map[string]any{
		"model":       e.model,
		"temperature": w.Temperature,
		// Cumulative usage in every event makes token counts exact.
		"stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true},
	})
	if w.IgnoreEOS {
		b["ignore_eos"] = true
	}
	switch {
	case e.endpoint == endpointChat:
		b["messages"] = []any{map[string]any{"role": "user", "content": p.Text}}
		if p.Messages != nil {
			b["messages"] = p.Messages
		}
		b["max_completion_tokens"] = p.Output
	case p.IDs != nil:
		b["prompt"], b["max_tokens"] = p.IDs, p.Output
	default:
		b["prompt"], b["max_tokens"] = p.Text, p.Output
	}
	maps.Copy(b, w.Body)
	return b
}

// generateBody returns the body in SGLang's native form. Extra sampling parameters in Body are merged into
// the generator's.
func (e *encoder) generateBody(b map[string]any, p dataset.Prompt) {
	maps.Copy(b, e.workload.Body)
	if e.adapter {
		b["lora_path"] = e.model // as SGLang's client names it
	}
	params := map[string]any{}
	if extra, ok := e.workload.Body["sampling_params"].(map[string]any); ok {
		maps.Copy(params, extra)
	}
	params["temperature"], params["max_new_tokens"] = e.workload.Temperature, p.Output
	if e.workload.IgnoreEOS {
		params["ignore_eos"] = true
	}
	b["sampling_params"] = params
	if p.IDs != nil {
		b["input_ids"] = p.IDs
		return
	}
	b["text"] = p.Text
}

// embeddingsBody requests the embedding of one prompt.
func (e *encoder) embeddingsBody(p dataset.Prompt) map[string]any {
	b := map[string]any{"model": e.model, "input": p.Text}
	if p.IDs != nil {
		b["input"] = p.IDs
	}
	maps.Copy(b, e.workload.Body)
	return b
}

// rerankBody requests the relevance of documents to a query.
func (e *encoder) rerankBody(p dataset.Prompt) map[string]any {
	b := map[string]any{"model": e.model, "query": p.Text, "documents": p.Documents}
	maps.Copy(b, e.workload.Body)
	return b
}

// post renders a POST request. It sends no Accept-Encoding: a compressing server or proxy would buffer a
// stream.
func (e *encoder) post(path string, body []byte, headers ...string) []byte {
	var b bytes.Buffer
	b.Grow(512 + len(body))
	b.WriteString("POST " + e.target.prefix + path + " HTTP/1.1\r\nHost: " + e.target.host + "\r\n")
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	for _, h := range e.headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n")
	b.Write(body)
	return b.Bytes()
}
