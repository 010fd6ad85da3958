// Package dataset makes the prompts of a workload: their lengths and their content,
// both drawn from a seed alone, so that two sides of a comparison get the same bytes.
//
//	files := &dataset.Files{Dir: "."}
//	src, err := files.Source(ctx, spec, dataset.Material{Corpus: dataset.Corpus{IDs: ids}})
//	prompt := src.Prompt(17, dataset.Seeds{Lengths: 1, Content: 7})
//
// Prompts are token ids where the server's own tokenizer gave the ids of the
// embedded text (Shakespeare's sonnets, public domain): their length is then exact and
// no local tokenizer is needed. Otherwise they are text of about the wanted length,
// and the server's usage says what it really was.
//
// Datasets of files (ShareGPT, one JSON object a line, traces) are read by Files, which
// opens nothing outside of the folders it is given. Each kind of dataset is one [Kind].
//
// The package asks no server: package load hands it the ids. It makes no images and no
// audio, and downloads nothing.
package dataset
