package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/servegate/pipeline/steps"
)

// generatesNothing reports whether an answer to a completion shows that the server has an embedding
// model: the path does not exist or, as in vLLM before 0.11, the model is refused.
func generatesNothing(a Answer) bool {
	switch a.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	case http.StatusBadRequest:
		return bytes.Contains(a.Body, []byte("does not support"))
	}
	return false
}

// embed requests an embedding and returns an error if none came back. refused is the answer to a
// completion. It becomes the error if the server does not make embeddings either.
func (c *Client) embed(ctx context.Context, ep steps.Endpoint, model, text string, refused Answer) error {
	a, err := c.Post(ctx, ep, "/v1/embeddings", map[string]any{"model": model, "input": text})
	if err != nil {
		return fmt.Errorf("canary request: %w", err)
	}
	if generatesNothing(a) {
		return c.rank(ctx, ep, model, text, refused)
	}
	if !a.OK() {
		return a.Err("canary request: POST /v1/embeddings")
	}
	var answer struct {
		Data []struct {
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
	}
	if json.Unmarshal(a.Body, &answer) != nil || len(answer.Data) == 0 || len(answer.Data[0].Embedding) == 0 {
		return errors.New("canary request: the answer of /v1/embeddings has no embedding")
	}
	return nil
}

// rank requests the order of two documents, as embed does for an embedding.
func (c *Client) rank(ctx context.Context, ep steps.Endpoint, model, text string, refused Answer) error {
	a, err := c.Post(ctx, ep, "/v1/rerank", map[string]any{"model": model, "query": text, "documents": []string{text, text}})
	switch {
	case err != nil:
		return fmt.Errorf("canary request: %w", err)
	case generatesNothing(a):
		return refused.Err("canary request")
	case !a.OK():
		return a.Err("canary request: POST /v1/rerank")
	}
	return nil
}
