// Package dataset makes the prompts of a workload. It draws lengths and content from seeds alone, so that both
// sides of a comparison get the same bytes.
//
//	files := &dataset.Files{Dir: "."}
//	src, err := files.Source(ctx, spec, dataset.Material{Corpus: dataset.Corpus{IDs: ids}})
//	prompt := src.Prompt(17, dataset.Seeds{Lengths: 1, Content: 7})
//
// If the server's tokenizer returned the IDs of the embedded text (Shakespeare's sonnets, public domain),
// prompts are token IDs. Their length is then exact, without a local tokenizer. Otherwise they are text of
// about the wanted length, and the server's usage reports the real length.
//
// Files reads datasets in files (ShareGPT, one JSON object per line, traces). It opens nothing outside its
// folders. Each kind of dataset is one [Kind].
//
// The package sends no requests: package load gives it the IDs. It downloads nothing.
package dataset
