package model

import (
	"strings"
)

// namedFormats are formats of weights, matched by substrings of checkpoint names and values of
// --quantization; the first match applies. Four bits carry a quarter of a bit of scales and zeros
// (groups of 128), NVFP4 half a bit (a scale for 16 weights).
var namedFormats = []struct {
	word   string
	format WeightFormat
}{
	{"experts_int8", WeightFormat{Bits: 8, ExpertsOnly: true}},
	{"nvfp4", WeightFormat{Bits: 4.5, Products: 4}},
	{"modelopt_fp4", WeightFormat{Bits: 4.5, Products: 4}},
	{"mxfp4", WeightFormat{Bits: 4.25}},
	{"fp4", WeightFormat{Bits: 4.5, Products: 4}},
	{"w4a8", WeightFormat{Bits: 4.25, Products: 8}},
	{"w8a8", WeightFormat{Bits: 8, Products: 8}},
	{"fp8", WeightFormat{Bits: 8, Products: 8}},
	{"w4a16", WeightFormat{Bits: 4.25}},
	{"int4", WeightFormat{Bits: 4.25}},
	{"4bit", WeightFormat{Bits: 4.25}},
	{"4-bit", WeightFormat{Bits: 4.25}},
	{"awq", WeightFormat{Bits: 4.25}},
	{"w8a16", WeightFormat{Bits: 8}},
	{"int8", WeightFormat{Bits: 8}},
	{"8bit", WeightFormat{Bits: 8}},
	{"8-bit", WeightFormat{Bits: 8}},
	{"gptq", WeightFormat{Bits: 4.25}},
	{"bitsandbytes", WeightFormat{Bits: 4.25}},
	{"bnb", WeightFormat{Bits: 4.25}},
	{"marlin", WeightFormat{Bits: 4.25}},
	// GGUF, as llama.cpp's table of Llama 3.1 8B has them.
	{"q8_0", WeightFormat{Bits: 8.5}},
	{"q6_k", WeightFormat{Bits: 6.56}},
	{"q5_k", WeightFormat{Bits: 5.7}},
	{"q4_k", WeightFormat{Bits: 4.89}},
	{"q4_0", WeightFormat{Bits: 4.66}},
}

// FormatNamed returns the format that a name or a flag's value contains.
func FormatNamed(text string) (WeightFormat, bool) {
	text = strings.ToLower(text)
	for _, f := range namedFormats {
		if strings.Contains(text, f.word) {
			return f.format, true
		}
	}
	return WeightFormat{}, false
}
