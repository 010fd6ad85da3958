package model

import (
	"strings"
)

// knownModel is a row of the table of models: the key that matches its names, its published sizes
// in billions of parameters, and its architecture.
type knownModel struct {
	key           string
	total, active float64
	architecture  Architecture
}

// eightBit is the format of checkpoints that are published in FP8, fourBitExperts the format of the
// gpt-oss models (MXFP4: four bits per weight and an eight-bit scale for 32 weights).
var (
	eightBit       = WeightFormat{Bits: 8, Products: 8}
	fourBitExperts = WeightFormat{Bits: 4.25, ExpertsOnly: true}
)

// qwen3, llama3 and the following functions return the architectures of a family.
func qwen3(layers, hidden, heads, intermediate int, tied bool) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: 8, HeadDim: 128, Intermediate: intermediate,
		Vocabulary: 151936, Context: 40960, Tied: tied}
}

func withContext(a Architecture, context int) Architecture {
	a.Context = context
	return a
}

func qwen3MoE(layers, hidden, heads, kvHeads, experts, width, context int) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: kvHeads, HeadDim: 128, Vocabulary: 151936, Context: context,
		Experts: experts, ExpertsPerToken: 8, ExpertIntermediate: width}
}

func qwen25(layers, hidden, heads, kvHeads, intermediate, vocabulary int, tied bool) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: kvHeads, Intermediate: intermediate, Vocabulary: vocabulary,
		Context: 32768, Tied: tied}
}

func llama3(layers, hidden, heads, intermediate, context int, tied bool) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: 8, Intermediate: intermediate, Vocabulary: 128256,
		Context: context, Tied: tied}
}

func llama2(layers, hidden, heads, kvHeads, intermediate int) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: kvHeads, Intermediate: intermediate,
		Vocabulary: 32000, Context: 4096}
}

func llama4(experts, denseLayers, context int) Architecture {
	return Architecture{Layers: 48, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, Intermediate: 16384,
		Vocabulary: 202048, Context: context,
		Experts: experts, ExpertsPerToken: 1, ExpertIntermediate: 8192, SharedIntermediate: 8192, DenseLayers: denseLayers}
}

func mistral(layers, hidden, heads, intermediate, vocabulary, context int) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: 8, HeadDim: 128, Intermediate: intermediate,
		Vocabulary: vocabulary, Context: context}
}

func mixtral(layers, hidden, heads, width, vocabulary, context int) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: 8, Vocabulary: vocabulary, Context: context,
		Experts: 8, ExpertsPerToken: 2, ExpertIntermediate: width}
}

func gemma(layers, hidden, heads, kvHeads, headDim, intermediate, vocabulary, context, windowLayers, window int) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: kvHeads, HeadDim: headDim, Intermediate: intermediate,
		Vocabulary: vocabulary, Context: context, Tied: true, WindowLayers: windowLayers, Window: window}
}

func deepSeek(layers, hidden, heads, qRank, vocabulary, experts, perToken, width, shared, denseLayers, intermediate int,
	f WeightFormat) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, QRank: qRank, KVRank: 512, RopeDim: 64, NopeDim: 128, ValueDim: 128,
		Vocabulary: vocabulary, Context: 163840, Experts: experts, ExpertsPerToken: perToken, ExpertIntermediate: width,
		SharedIntermediate: shared, DenseLayers: denseLayers, Intermediate: intermediate, Format: f}
}

func gptOSS(layers, experts int) Architecture {
	return Architecture{Layers: layers, Hidden: 2880, Heads: 64, KVHeads: 8, HeadDim: 64, Vocabulary: 201088, Context: 131072,
		Experts: experts, ExpertsPerToken: 4, ExpertIntermediate: 2880, WindowLayers: layers / 2, Window: 128, Format: fourBitExperts}
}

func glm45(layers, hidden, experts, width, denseLayers, intermediate int) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: 96, KVHeads: 8, HeadDim: 128, Vocabulary: 151552, Context: 131072,
		Experts: experts, ExpertsPerToken: 8, ExpertIntermediate: width, SharedIntermediate: width, DenseLayers: denseLayers,
		Intermediate: intermediate}
}

func phi(layers, hidden, heads, kvHeads, intermediate, vocabulary, context int, tied bool) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, KVHeads: kvHeads, Intermediate: intermediate, Vocabulary: vocabulary,
		Context: context, Tied: tied}
}

func opt(layers, hidden, heads int) Architecture {
	return Architecture{Layers: layers, Hidden: hidden, Heads: heads, Intermediate: 4 * hidden, Plain: true, Vocabulary: 50272,
		Context: 2048, Tied: true}
}

// knownModels are frequently served models, from their published configurations. A name is looked
// up by the longest key that it contains as whole words.
var knownModels = []knownModel{
	{"qwen3-0.6b", 0.6, 0.6, qwen3(28, 1024, 16, 3072, true)},
	{"qwen3-1.7b", 1.7, 1.7, qwen3(28, 2048, 16, 6144, true)},
	{"qwen3-4b", 4.0, 4.0, qwen3(36, 2560, 32, 9728, true)},
	{"qwen3-8b", 8.2, 8.2, qwen3(36, 4096, 32, 12288, false)},
	{"qwen3-14b", 14.8, 14.8, qwen3(40, 5120, 40, 17408, false)},
	{"qwen3-32b", 32.8, 32.8, qwen3(64, 5120, 64, 25600, false)},
	{"qwen3-30b-a3b", 30.5, 3.3, qwen3MoE(48, 2048, 32, 4, 128, 768, 40960)},
	{"qwen3-4b-instruct-2507", 4.0, 4.0, withContext(qwen3(36, 2560, 32, 9728, true), 262144)},
	{"qwen3-4b-thinking-2507", 4.0, 4.0, withContext(qwen3(36, 2560, 32, 9728, true), 262144)},
	{"qwen3-30b-a3b-instruct-2507", 30.5, 3.3, qwen3MoE(48, 2048, 32, 4, 128, 768, 262144)},
	{"qwen3-30b-a3b-thinking-2507", 30.5, 3.3, qwen3MoE(48, 2048, 32, 4, 128, 768, 262144)},
	{"qwen3-235b-a22b-instruct-2507", 235, 22, qwen3MoE(94, 4096, 64, 4, 128, 1536, 262144)},
	{"qwen3-235b-a22b-thinking-2507", 235, 22, qwen3MoE(94, 4096, 64, 4, 128, 1536, 262144)},
	{"qwen3-coder-30b-a3b", 30.5, 3.3, qwen3MoE(48, 2048, 32, 4, 128, 768, 262144)},
	{"qwen3-235b-a22b", 235, 22, qwen3MoE(94, 4096, 64, 4, 128, 1536, 40960)},
	{"qwen3-coder-480b-a35b", 480, 35, qwen3MoE(62, 6144, 96, 8, 160, 2560, 262144)},

	{"qwen2.5-0.5b", 0.49, 0.49, qwen25(24, 896, 14, 2, 4864, 151936, true)},
	{"qwen2.5-1.5b", 1.54, 1.54, qwen25(28, 1536, 12, 2, 8960, 151936, true)},
	{"qwen2.5-3b", 3.09, 3.09, qwen25(36, 2048, 16, 2, 11008, 151936, true)},
	{"qwen2.5-7b", 7.61, 7.61, qwen25(28, 3584, 28, 4, 18944, 152064, false)},
	{"qwen2.5-14b", 14.7, 14.7, qwen25(48, 5120, 40, 8, 13824, 152064, false)},
	{"qwen2.5-32b", 32.5, 32.5, qwen25(64, 5120, 40, 8, 27648, 152064, false)},
	{"qwen2.5-72b", 72.7, 72.7, qwen25(80, 8192, 64, 8, 29568, 152064, false)},
	{"qwen2.5-coder-7b", 7.61, 7.61, qwen25(28, 3584, 28, 4, 18944, 152064, false)},
	{"qwen2.5-coder-32b", 32.5, 32.5, qwen25(64, 5120, 40, 8, 27648, 152064, false)},
	{"qwen2-0.5b", 0.49, 0.49, qwen25(24, 896, 14, 2, 4864, 151936, true)},
	{"qwen2-1.5b", 1.54, 1.54, qwen25(28, 1536, 12, 2, 8960, 151936, true)},
	{"qwen2-7b", 7.61, 7.61, qwen25(28, 3584, 28, 4, 18944, 152064, false)},
	{"qwen2-72b", 72.7, 72.7, qwen25(80, 8192, 64, 8, 29568, 152064, false)},
	{"qwq-32b", 32.5, 32.5, qwen25(64, 5120, 40, 8, 27648, 152064, false)},

	{"llama-3.2-1b", 1.24, 1.24, Architecture{Layers: 16, Hidden: 2048, Heads: 32, KVHeads: 8, HeadDim: 64, Intermediate: 8192,
		Vocabulary: 128256, Context: 131072, Tied: true}},
	{"llama-3.2-3b", 3.21, 3.21, llama3(28, 3072, 24, 8192, 131072, true)},
	{"llama-3.1-8b", 8.03, 8.03, llama3(32, 4096, 32, 14336, 131072, false)},
	{"llama-3.1-70b", 70.6, 70.6, llama3(80, 8192, 64, 28672, 131072, false)},
	{"llama-3.3-70b", 70.6, 70.6, llama3(80, 8192, 64, 28672, 131072, false)},
	{"llama-3.1-405b", 405.9, 405.9, llama3(126, 16384, 128, 53248, 131072, false)},
	{"llama-3-8b", 8.03, 8.03, llama3(32, 4096, 32, 14336, 8192, false)},
	{"llama-3-70b", 70.6, 70.6, llama3(80, 8192, 64, 28672, 8192, false)},
	{"llama-2-7b", 6.74, 6.74, llama2(32, 4096, 32, 32, 11008)},
	{"llama-2-13b", 13.0, 13.0, llama2(40, 5120, 40, 40, 13824)},
	{"llama-2-70b", 69.0, 69.0, llama2(80, 8192, 64, 8, 28672)},
	{"llama-4-scout-17b-16e", 109, 17, llama4(16, 0, 10485760)},
	{"llama-4-maverick-17b-128e", 400, 17, llama4(128, 24, 1048576)},
	{"tinyllama-1.1b", 1.1, 1.1, Architecture{Layers: 22, Hidden: 2048, Heads: 32, KVHeads: 4, Intermediate: 5632,
		Vocabulary: 32000, Context: 2048}},

	{"mistral-7b", 7.25, 7.25, mistral(32, 4096, 32, 14336, 32768, 32768)},
	{"mistral-nemo", 12.2, 12.2, mistral(40, 5120, 32, 14336, 131072, 131072)},
	{"mistral-small-24b", 23.6, 23.6, mistral(40, 5120, 32, 32768, 131072, 32768)},
	{"mistral-small-3.1-24b", 23.6, 23.6, mistral(40, 5120, 32, 32768, 131072, 131072)},
	{"mistral-large", 123, 123, mistral(88, 12288, 96, 28672, 32768, 131072)},
	{"mixtral-8x7b", 46.7, 12.9, mixtral(32, 4096, 32, 14336, 32000, 32768)},
	{"mixtral-8x22b", 141, 39, mixtral(56, 6144, 48, 16384, 32768, 65536)},

	{"gemma-7b", 8.54, 8.54, gemma(28, 3072, 16, 16, 256, 24576, 256000, 8192, 0, 0)},
	{"gemma-2-2b", 2.61, 2.61, gemma(26, 2304, 8, 4, 256, 9216, 256000, 8192, 13, 4096)},
	{"gemma-2-9b", 9.24, 9.24, gemma(42, 3584, 16, 8, 256, 14336, 256000, 8192, 21, 4096)},
	{"gemma-2-27b", 27.2, 27.2, gemma(46, 4608, 32, 16, 128, 36864, 256000, 8192, 23, 4096)},
	{"gemma-3-1b", 1.0, 1.0, gemma(26, 1152, 4, 1, 256, 6912, 262144, 32768, 22, 512)},
	{"gemma-3-4b", 3.88, 3.88, gemma(34, 2560, 8, 4, 256, 10240, 262208, 131072, 29, 1024)},
	{"gemma-3-12b", 11.8, 11.8, gemma(48, 3840, 16, 8, 256, 15360, 262208, 131072, 40, 1024)},
	{"gemma-3-27b", 27.0, 27.0, gemma(62, 5376, 32, 16, 128, 21504, 262208, 131072, 52, 1024)},

	{"phi-2", 2.78, 2.78, Architecture{Layers: 32, Hidden: 2560, Heads: 32, Intermediate: 10240, Plain: true,
		Vocabulary: 51200, Context: 2048}},
	{"phi-3-mini-4k", 3.82, 3.82, phi(32, 3072, 32, 32, 8192, 32064, 4096, false)},
	{"phi-3-mini-128k", 3.82, 3.82, phi(32, 3072, 32, 32, 8192, 32064, 131072, false)},
	{"phi-3.5-mini", 3.82, 3.82, phi(32, 3072, 32, 32, 8192, 32064, 131072, false)},
	{"phi-3-medium-4k", 14.0, 14.0, phi(40, 5120, 40, 10, 17920, 32064, 4096, false)},
	{"phi-3-medium-128k", 14.0, 14.0, phi(40, 5120, 40, 10, 17920, 32064, 131072, false)},
	{"phi-4", 14.7, 14.7, phi(40, 5120, 40, 10, 17920, 100352, 16384, false)},
	{"phi-4-mini", 3.84, 3.84, phi(32, 3072, 24, 8, 8192, 200064, 131072, true)},
	{"phi-4-multimodal", 3.84, 3.84, phi(32, 3072, 24, 8, 8192, 200064, 131072, true)}, // sizes of its language model
	{"phi-3.5-moe", 41.9, 6.6, Architecture{Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, Vocabulary: 32064, Context: 131072, Experts: 16,
		ExpertsPerToken: 2, ExpertIntermediate: 6400}},

	{"deepseek-v2-lite", 15.7, 2.4, deepSeek(27, 2048, 16, 0, 102400, 64, 6, 1408, 2816, 1, 10944, WeightFormat{})},
	{"deepseek-v2", 236, 21, deepSeek(60, 5120, 128, 1536, 102400, 160, 6, 1536, 3072, 1, 12288, WeightFormat{})},
	{"deepseek-v3", 671, 37, deepSeek(61, 7168, 128, 1536, 129280, 256, 8, 2048, 2048, 3, 18432, eightBit)},
	{"deepseek-v3.1", 671, 37, deepSeek(61, 7168, 128, 1536, 129280, 256, 8, 2048, 2048, 3, 18432, eightBit)},
	{"deepseek-r1", 671, 37, deepSeek(61, 7168, 128, 1536, 129280, 256, 8, 2048, 2048, 3, 18432, eightBit)},
	{"deepseek-v3.2", 671, 37, deepSeek(61, 7168, 128, 1536, 129280, 256, 8, 2048, 2048, 3, 18432, eightBit)},
	{"deepseek-r1-0528-qwen3-8b", 8.2, 8.2, qwen3(36, 4096, 32, 12288, false)},
	{"deepseek-r1-distill-qwen-1.5b", 1.78, 1.78, qwen25(28, 1536, 12, 2, 8960, 151936, false)},
	{"deepseek-r1-distill-qwen-7b", 7.61, 7.61, qwen25(28, 3584, 28, 4, 18944, 152064, false)},
	{"deepseek-r1-distill-qwen-14b", 14.7, 14.7, qwen25(48, 5120, 40, 8, 13824, 152064, false)},
	{"deepseek-r1-distill-qwen-32b", 32.5, 32.5, qwen25(64, 5120, 40, 8, 27648, 152064, false)},
	{"deepseek-r1-distill-llama-8b", 8.03, 8.03, llama3(32, 4096, 32, 14336, 131072, false)},
	{"deepseek-r1-distill-llama-70b", 70.6, 70.6, llama3(80, 8192, 64, 28672, 131072, false)},
	{"kimi-k2", 1026, 32, deepSeek(61, 7168, 64, 1536, 163840, 384, 8, 2048, 2048, 1, 18432, eightBit)},

	{"gpt-oss-20b", 20.9, 3.6, gptOSS(24, 32)},
	{"gpt-oss-120b", 116.8, 5.1, gptOSS(36, 128)},
	{"glm-4.5-air", 106, 12, glm45(46, 4096, 128, 1408, 1, 10944)},
	{"glm-4.5", 355, 32, glm45(92, 5120, 160, 1536, 3, 12288)},

	{"opt-125m", 0.125, 0.125, opt(12, 768, 12)},
	{"opt-1.3b", 1.3, 1.3, opt(24, 2048, 32)},
	{"opt-2.7b", 2.65, 2.65, opt(32, 2560, 32)},
	{"opt-6.7b", 6.66, 6.66, opt(32, 4096, 32)},
	{"opt-13b", 12.9, 12.9, opt(40, 5120, 40)},
	{"opt-30b", 30.0, 30.0, opt(48, 7168, 56)},
	{"opt-66b", 66.0, 66.0, opt(64, 9216, 72)},
	{"smollm2-135m", 0.135, 0.135, Architecture{Layers: 30, Hidden: 576, Heads: 9, KVHeads: 3, Intermediate: 1536, Vocabulary: 49152,
		Context: 8192, Tied: true}},
	{"smollm2-360m", 0.362, 0.362, Architecture{Layers: 32, Hidden: 960, Heads: 15, KVHeads: 5, Intermediate: 2560, Vocabulary: 49152,
		Context: 8192, Tied: true}},
	{"smollm2-1.7b", 1.71, 1.71, Architecture{Layers: 24, Hidden: 2048, Heads: 32, Intermediate: 8192, Vocabulary: 49152,
		Context: 8192, Tied: true}},
	{"yi-34b", 34.4, 34.4, Architecture{Layers: 60, Hidden: 7168, Heads: 56, KVHeads: 8, Intermediate: 20480,
		Vocabulary: 64000, Context: 4096}},
}

// fittedModel is the model to which the profile "a10" was fitted: the size of its checkpoint as
// published, with all parameters in every pass, as in the fit.
const fittedModel = "qwen2.5-7b-instruct-gptq-int4"

var fittedShape = ModelShape{Params: 7.62e9, Layers: 28, Hidden: 3584, KVHeads: 4, KVBytesPerToken: 57344, WeightBytes: 5.57e9,
	MaxModelLen: 32768}

// lookUpModel returns the row of the table whose key is the longest in the name.
func lookUpModel(name string) (knownModel, bool) {
	var found knownModel
	for _, m := range knownModels {
		if len(m.key) > len(found.key) && holdsWord(strings.ToLower(name), m.key) {
			found = m
		}
	}
	return found, found.key != ""
}

// holdsWord reports whether a name contains a key that is not part of a longer number or word:
// qwen3-4b is in "Qwen/Qwen3-4B-Instruct" but not in "qwen3-4b5".
func holdsWord(name, key string) bool {
	for {
		i := strings.Index(name, key)
		if i < 0 {
			return false
		}
		before, after := name[:i], name[i+len(key):]
		if (before == "" || strings.ContainsAny(before[len(before)-1:], "/-_ ")) && (after == "" || !isWord(after[0])) {
			return true
		}
		name = after
	}
}

// isWord reports whether a byte continues a word or number: the dot of "v3.2" does.
func isWord(b byte) bool {
	return b == '.' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z'
}

// KnownShape returns the shape of a model in the table, or the shape of a small model if it is not
// in the table. format returns the format of the served weights, given the published one.
func KnownShape(name string, format func(published WeightFormat) WeightFormat) ModelShape {
	var m ModelShape
	if strings.Contains(strings.ToLower(name), fittedModel) {
		m = fittedShape
		m.Name = name
	} else if known, ok := lookUpModel(name); ok {
		m = known.architecture.Shape(name, format(known.architecture.Format))
	} else {
		return demoShape(name)
	}
	m.Source = "the table of known models"
	return m
}
