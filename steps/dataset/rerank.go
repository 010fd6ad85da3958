package dataset

import (
	"context"

	"github.com/servegate/pipeline/steps"
)

// queries makes queries with the documents to rank: kind rerank. Both are made-up text of about the wanted
// lengths.
type queries struct {
	maker
	query, documents int
}

func ask(_ context.Context, d steps.Dataset, m Material) (Source, error) {
	return queries{maker: newMaker(d, m.Corpus, false), query: option(d, queryLen.Name), documents: option(d, documents.Name)}, nil
}

func (q queries) Prompt(i int, seeds Seeds) Prompt {
	r := stream(seeds.Content, streamContent, i)
	p := Prompt{Text: q.draw.text(0, r, q.query, r), Output: 1}
	lengths := stream(seeds.Lengths, streamLengths, i)
	for range q.documents {
		n := between(lengths, q.spec.InputMin, q.spec.InputMax)
		p.Documents = append(p.Documents, q.draw.text(0, r, n, r))
		p.Input += q.query + n // the server reads each document together with the query
	}
	return p
}

// checkInput checks the length of prompts for endpoints that generate nothing.
func checkInput(d steps.Dataset) error { return checkSpan("input", d.InputMin, d.InputMax) }
