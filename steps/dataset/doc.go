// Package dataset makes the prompts of a workload: their lengths and their content,
// both drawn from a seed alone, so that two sides of a comparison get the same bytes.
//
//	src, err := dataset.New(spec, dataset.Corpus{IDs: ids})
//	prompt := src.Prompt(17, dataset.Seeds{Lengths: 1, Content: 7})
//
// Prompts are token ids where the server's own tokenizer told us the ids of the
// embedded text (Shakespeare's sonnets, public domain): their length is then exact and
// no local tokenizer is needed. Otherwise they are text of about the wanted length,
// and the server's usage says what it really was.
//
// The package does no I/O: package load asks the server for the ids. It does not read
// datasets from files yet (kinds sharegpt, file and trace are refused with an
// UnsupportedError), and makes no images, audio or conversations.
package dataset
