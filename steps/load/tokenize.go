package load

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/dataset"
)

const tokenizeTimeout = 60 * time.Second

// corpus requests the token IDs of the embedded text from the server's tokenizer. For a server without such
// an endpoint prompts are texts of estimated length. A server that does not answer is an error, because the
// other side of a comparison would otherwise get different work.
func corpus(ctx context.Context, c *client, enc *encoder) (dataset.Corpus, error) {
	ids, err := tokenize(ctx, c, enc, dataset.Text(), false)
	if err != nil {
		return dataset.Corpus{}, err
	}
	return corpusOf(enc.endpoint, ids), nil
}

// corpusOf returns the embedded text for an endpoint, given its token IDs.
func corpusOf(e endpoint, ids []int) dataset.Corpus {
	if e == endpointChat || e == endpointRerank { // requests of these endpoints contain words
		text := dataset.TextCorpus(ids)
		text.Chat, text.Rerank = e == endpointChat, e == endpointRerank
		return text
	}
	return dataset.Corpus{IDs: ids}
}

// tokenizer converts texts to token IDs; nil if the server has none.
type tokenizer func(ctx context.Context, texts []string) ([][]int, error)

// source returns the source of the run's prompts.
func source(ctx context.Context, opt Options, corpus dataset.Corpus, tokenize tokenizer) (dataset.Source, error) {
	m := dataset.Material{Corpus: corpus, Need: opt.Arrivals.Count(opt.Workload.Load), Seeds: opt.seeds()}
	if len(corpus.IDs) > 0 || corpus.TokensPerByte > 0 {
		m.Tokenize = tokenize
	}
	return opt.Files.Source(ctx, opt.Workload.Dataset, m)
}

// tokenizers is the number of concurrent requests for token IDs.
const tokenizers = 16

// tokenizeAll requests the IDs of texts, with the special tokens that the server would add to them.
func tokenizeAll(ctx context.Context, c *client, enc *encoder, texts []string) ([][]int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([][]int, len(texts))
	slots := make(chan struct{}, tokenizers)
	var wg sync.WaitGroup
	for i, text := range texts {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ids, err := tokenize(ctx, c, enc, text, true)
			if err == nil && len(ids) == 0 {
				err = fmt.Errorf("the server's tokenizer made nothing of a text of the dataset: %.60q", text)
			}
			if err != nil {
				cancel(err)
			}
			out[i] = ids
		})
	}
	wg.Wait()
	return out, context.Cause(ctx)
}

// tokenize returns the token IDs of a text by POST /tokenize, in the form of vLLM and SGLang, then of llama.cpp; nil
// if the server has no such endpoint.
func tokenize(ctx context.Context, c *client, enc *encoder, text string, special bool) (ids []int, err error) {
	for _, body := range []map[string]any{
		{"model": enc.model, "prompt": text, "add_special_tokens": special},
		{"content": text, "add_special": special},
	} {
		if ids, err = tokenizeBy(ctx, c, enc, body); err != nil || ids == nil || len(ids) > 0 || text == "" {
			return ids, err
		}
	}
	return ids, nil
}

// tokenizeBy returns the token IDs that the server answers to a request: nil without such an endpoint, an empty list if
// the server finds no text in the request.
func tokenizeBy(ctx context.Context, c *client, enc *encoder, request map[string]any) ([]int, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	status, answer, err := c.fetch(ctx, enc.post("/tokenize", body), tokenizeTimeout)
	if err != nil {
		return nil, fmt.Errorf("tokenize text on the server: %w; is the server running at %s?", err, enc.target.addr)
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
		return nil, nil // another page: the requests will report it
	}
	return out.Tokens, nil
}
