// Package ab writes the pipeline file of a comparison of two sides that a command line describes.
//
//	text, err := ab.Write(ab.Request{
//		Base: "vllm/vllm-openai:v0.10.2", Head: "vllm/vllm-openai:v0.11.0", Model: "Qwen/Qwen2.5-7B-Instruct",
//	}, machine)
//
// The text is read as any other file: a comparison has no settings that the language lacks.
package ab
