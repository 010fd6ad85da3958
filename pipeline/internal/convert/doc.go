// Package convert reads the results of other load generators into the result document, and writes
// ours in their formats, so that a team can judge the results it already has.
//
//	runs, err := convert.Read(file, "night.log", convert.ReadOptions{})
//	doc, err := convert.Document(runs, convert.Options{By: []string{"qps", "input_len"}})
//
// Read reads the printed blocks of vLLM and SGLang in any text (logs, markdown, shell scripts),
// markdown tables, CSV, the JSON of the tools in StandardTools, Benchmark Reports of llm-d, and its
// own CSV and JSON. It accepts anything around a result, but nothing wrong inside it: a figure that
// cannot be read is an error with its line, never a zero, and a figure without data is absent.
// Lines of an engine's log between results become series of the run after them.
//
// # Definitions
//
// A value is stored under the id and in the unit of the metric registry (package gates/metric) only
// if the tool defines it like the registry. A figure with another definition has its own name,
// which begins with the tool (SGLang's end-to-end latency, which lasts until the last line of the
// stream, is sglang_e2el), and Run.Definitions has the difference. So figures of different
// definitions are never compared.
//
// # A further tool
//
// Add its row to the table of package gates/foreign: the keys that distinguish its objects from others, the paths of its
// parameters and figures, and the definitions that differ from the registry. Then import, compare, gate and drivers
// read its files. What a table cannot express is a function in a file of its name, listed in readers.
//
// The package opens no files and judges nothing: see packages judge and gates.
package convert
