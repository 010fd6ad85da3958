// Package convert reads the results of other load generators into the result
// document and writes ours in their shapes, so that a team can judge the results that it
// already has.
//
//	runs, err := convert.Read(file, "night.log", convert.ReadOptions{})
//	doc, err := convert.Document(runs, convert.Options{By: []string{"qps", "input_len"}})
//
// Read understands the printed blocks of vLLM and SGLang wherever they stand (logs,
// markdown, shell scripts), markdown tables, CSV, the JSON of the tools in StandardTools,
// and Benchmark Reports of llm-d, its own CSV and JSON included. It is liberal in what surrounds
// a result and strict inside it: a figure that cannot be read is an error with its line,
// never a zero, and a figure without data is absent. Lines of an engine's log between results
// become series of the run that they stand before.
//
// # Definitions
//
// Values are stored under the ids and in the units of the metric registry (package
// gates/metric) only where the tool defines them as the registry does. A figure with
// another definition has a name of its own that begins with the tool (SGLang's end-to-end
// latency, which lasts until the last line of the stream, is sglang_e2el), and
// Run.Definitions says how it differs. So figures of different definitions are never compared.
//
// # A further tool
//
//  1. Its Tool goes into a file of its name: the keys that distinguish its objects from others, and
//     the paths of its parameters and figures. What a table cannot say is a function there.
//  2. StandardTools lists it. Then import, compare, gate and drivers read its files.
//  3. What it defines otherwise than the registry is listed in gates/metric/foreign.go, so
//     that gates can name it.
//
// The package opens no files and judges nothing: see packages judge and gates.
package convert
