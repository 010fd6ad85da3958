package load

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/servegate/pipeline/steps/dataset"
)

const tokenizeTimeout = 60 * time.Second

// corpus asks the server's own tokenizer for the ids of the embedded text. A server
// without such an endpoint gets text prompts of estimated length; a server that does
// not answer is an error, because the other side of a comparison, which does, would get
// other work.
func corpus(ctx context.Context, c *client, enc *encoder) (dataset.Corpus, error) {
	ids, err := tokenize(ctx, c, enc, dataset.Text())
	if err != nil {
		return dataset.Corpus{}, err
	}
	if enc.endpoint == endpointChat {
		return dataset.TextCorpus(ids), nil
	}
	return dataset.Corpus{IDs: ids}, nil
}

// tokenize returns the token ids of a text by POST /tokenize (vLLM, SGLang), without
// special tokens; none where the server has no such endpoint.
func tokenize(ctx context.Context, c *client, enc *encoder, text string) ([]int, error) {
	body, err := json.Marshal(map[string]any{"model": enc.model, "prompt": text, "add_special_tokens": false})
	if err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	status, answer, err := c.fetch(ctx, enc.post("/tokenize", body), tokenizeTimeout)
	if err != nil {
		return nil, fmt.Errorf("tokenize the embedded text on the server: %w; is the server running at %s?", err, enc.target.addr)
	}
	switch {
	case status == 401 || status == 403:
		return nil, fmt.Errorf("the server refused /tokenize with status %d; set its API key", status)
	case status >= 500 && status != 501:
		return nil, fmt.Errorf("the server answered /tokenize with status %d: %s", status, clip(string(answer), maxError))
	case status != 200:
		return nil, nil
	}
	var out struct {
		Tokens []int `json:"tokens"`
	}
	if json.Unmarshal(answer, &out) != nil {
		return nil, nil // a page of something else: the requests will say what
	}
	return out.Tokens, nil
}
