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

// generatesNothing reports whether an answer to a completion is that of a server of an
// embedding model: it has no such path or, as vLLM before 0.11, refuses the model.
func generatesNothing(a Answer) bool {
	switch a.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	case http.StatusBadRequest:
		return bytes.Contains(a.Body, []byte("does not support"))
	}
	return false
}

// embed asks for an embedding and fails unless one came back. refused is what the server
// said to a completion: the error, where it makes no embeddings either.
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

// rank asks for the order of two documents, as embed does for an embedding.
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
