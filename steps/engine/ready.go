package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/servegate/pipeline/steps"
)

// Checks defines when an engine is ready.
type Checks struct {
	// Health is a path that answers 200 when healthy; "" skips this check.
	Health string
	// Unlisted skips /v1/models: the server does not list the model that it serves.
	Unlisted bool
	// NoCanary skips the completion, see [steps.Readiness].
	NoCanary bool
}

// Poll checks a server once and returns the furthest state that it has reached. Each check only
// runs if the previous ones succeed, so that a loading server gets no completion. The error is the
// reason why it is not ready.
//
// The order: the port accepts connections, the health path answers 200, /v1/models lists the model,
// one completion of one token comes back. vLLM binds its port long before it serves, SGLang lists
// its models before they are loaded, and routers are healthy while their workers load. Only the
// completion proves that the server generates tokens.
func Poll(ctx context.Context, c *Client, ep steps.Endpoint, checks Checks) (state string, ready bool, err error) {
	if checks.Health != "" {
		a, err := c.Get(ctx, ep, checks.Health)
		if err != nil {
			return connectionState(err), false, err
		}
		if !a.OK() {
			return steps.StateListening, false, a.Err("GET " + checks.Health)
		}
	}
	model := ep.Model
	if !checks.Unlisted {
		models, err := c.Models(ctx, ep)
		if err != nil {
			if checks.Health != "" {
				return steps.StateHealthy, false, err
			}
			return connectionState(err), false, err
		}
		if model, err = pick(models, model); err != nil {
			return steps.StateHealthy, false, err
		}
	}
	if checks.NoCanary {
		return steps.StateModels, true, nil
	}
	if err := c.Canary(ctx, ep, model); err != nil {
		return steps.StateModels, false, err
	}
	return steps.StateReady, true, nil
}

// connectionState distinguishes a port without a listener from one that accepts connections but
// does not answer correctly.
func connectionState(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) {
		return steps.StateStarting
	}
	var dns interface{ Temporary() bool }
	if errors.As(err, &dns) && strings.Contains(err.Error(), "lookup ") {
		return steps.StateStarting
	}
	return steps.StateListening
}

// Model is an entry of /v1/models.
type Model struct {
	ID   string `json:"id"`
	Root string `json:"root"`
	// MaxModelLen is the longest context in tokens, 0 if the server does not report it.
	MaxModelLen int64 `json:"max_model_len"`
}

// Models requests the list of models.
func (c *Client) Models(ctx context.Context, ep steps.Endpoint) ([]Model, error) {
	const path = "/v1/models"
	a, err := c.Get(ctx, ep, path)
	if err != nil {
		return nil, err
	}
	if !a.OK() {
		return nil, a.Err("GET " + path)
	}
	var list struct {
		Data []Model `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return nil, fmt.Errorf("GET %s: the answer is not a list of models%s", path, excerpt(a.Body))
	}
	return list.Data, nil
}

// Version returns the version that the server reports at /version, "" for none.
func (c *Client) Version(ctx context.Context, ep steps.Endpoint) string {
	var about struct {
		Version string `json:"version"`
	}
	if a, err := c.Get(ctx, ep, "/version"); err != nil || !a.OK() || json.Unmarshal(a.Body, &about) != nil {
		return ""
	}
	return about.Version
}

// pick returns the model to request: the wanted one, or the first one listed.
func pick(models []Model, want string) (string, error) {
	if len(models) == 0 {
		return "", errors.New("GET /v1/models: no model is listed yet")
	}
	if want == "" {
		return models[0].ID, nil
	}
	if slices.ContainsFunc(models, func(m Model) bool { return m.ID == want }) {
		return want, nil
	}
	ids := make([]string, 0, len(models))
	for _, m := range models[:min(len(models), 5)] {
		ids = append(ids, fmt.Sprintf("%q", m.ID))
	}
	return "", fmt.Errorf("%w %q: it lists %s; give one of these as model, or as served_name in a file", steps.ErrWrongModel, want,
		strings.Join(ids, ", "))
}

// Canary requests one token and returns an error if none came back. It tries completions first,
// then chat if the server has no completions, and an embedding if it does not generate.
func (c *Client) Canary(ctx context.Context, ep steps.Endpoint, model string) error {
	return c.Complete(ctx, ep, model, "Hello", 1)
}

// Complete requests tokens after a prompt, as [Client.Canary] does. If it requests several, it
// requires all of them, as a benchmark does: an answer that ends with its first token needs no KV
// cache.
func (c *Client) Complete(ctx context.Context, ep steps.Endpoint, model, prompt string, tokens int) error {
	body := map[string]any{"model": model, "max_tokens": tokens, "temperature": 0}
	if tokens > 1 {
		body["ignore_eos"] = true
	}
	body["prompt"] = prompt
	a, err := c.Post(ctx, ep, "/v1/completions", body)
	if err == nil && (a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed) {
		delete(body, "prompt")
		body["messages"] = []map[string]string{{"role": "user", "content": prompt}}
		a, err = c.Post(ctx, ep, "/v1/chat/completions", body)
	}
	if err == nil && tokens == 1 && generatesNothing(a) {
		return c.embed(ctx, ep, model, prompt, a)
	}
	if err != nil {
		return fmt.Errorf("canary request: %w", err)
	}
	if !a.OK() {
		return a.Err("canary request")
	}
	return hasToken(a.Body)
}

// hasToken returns an error unless an answer counts or contains at least one generated token.
func hasToken(body []byte) error {
	var answer struct {
		Choices []struct {
			Text    string `json:"text"`
			Message struct {
				Content   string `json:"content"`
				Reasoning string `json:"reasoning_content"`
			} `json:"message"`
		} `json:"choices"`
		Usage struct {
			CompletionTokens int `json:"completion_tokens"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return &steps.RefusedError{Err: fmt.Errorf("canary request: the answer is not a completion%s", excerpt(body))}
	}
	if e := string(answer.Error); e != "" && e != "null" {
		return fmt.Errorf("canary request: the server reports an error%s", excerpt(answer.Error))
	}
	if answer.Usage.CompletionTokens > 0 {
		return nil
	}
	for _, ch := range answer.Choices {
		if ch.Text != "" || ch.Message.Content != "" || ch.Message.Reasoning != "" {
			return nil
		}
	}
	return errors.New("canary request: the completion has no token")
}
