package model

import "math"

// ModelShape is a model as the hardware sees it: what a token computes, what a step reads
// from memory, what stays in it.
type ModelShape struct {
	Name string
	// Source of the figures: the table, a configuration, arguments; "" where the size is not
	// known and a small model is assumed.
	Source string
	// Params that take part in one token's forward pass.
	Params float64
	// ProductBits of the operands of the linear layers' products: 16, 8 or 4; 0 means 16.
	// Weights that are only stored in fewer bits are multiplied in 16.
	ProductBits int
	Layers      int
	// Hidden is the width of the attention (heads × head size).
	Hidden int
	// Residual is the width between the layers, 0 where it is that of the attention.
	Residual int
	// KVBytesPerToken over all layers that see the whole context.
	KVBytesPerToken float64
	// KVHeads that tensor parallelism can spread; more GPUs than that hold copies. 0 is no limit.
	KVHeads int
	// WindowLayers see the last Window tokens alone. Their KV is not part of KVBytesPerToken.
	WindowLayers, Window int
	// WindowKVBytesPerToken over the layers with a window.
	WindowKVBytesPerToken float64
	// WeightBytes is what the weights need in memory.
	WeightBytes float64
	// StreamBytes of the weights are read by every step; 0 means all of them.
	StreamBytes float64
	// ExpertBytes are the weights of routed experts, of which a token takes ExpertShare.
	ExpertBytes, ExpertShare float64
	// MaxModelLen is the context length of the model's configuration.
	MaxModelLen int
	// Vocabulary is the number of tokens, 0 for the usual one.
	Vocabulary int
}

// HiddenBytes of one token's last hidden state, in 16 bits.
func (m ModelShape) HiddenBytes() float64 {
	if m.Residual > 0 {
		return 2 * float64(m.Residual)
	}
	return 2 * float64(m.Hidden)
}

// streamed is what a step of so many tokens reads of the weights: the dense part, and the
// experts that at least one of its tokens is routed to. Tokens are assumed to choose their
// experts evenly and independently.
func (m ModelShape) streamed(tokens int) float64 {
	dense := m.StreamBytes
	if dense == 0 {
		dense = m.WeightBytes
	}
	if m.ExpertBytes == 0 {
		return dense
	}
	return dense + m.ExpertBytes*(1-math.Pow(1-m.ExpertShare, float64(tokens)))
}

// copies is how many times a group of GPUs that share the layers holds the KV of a token.
func (m ModelShape) copies(tensorParallel int) float64 {
	if m.KVHeads == 0 || tensorParallel <= m.KVHeads {
		return 1
	}
	return float64(tensorParallel) / float64(m.KVHeads)
}

// vocabulary is the number of tokens that the model can choose from; that of the Qwen
// models where nothing is known.
func (m ModelShape) vocabulary() int {
	if m.Vocabulary > 0 {
		return m.Vocabulary
	}
	return 152064
}

// WithKVBits stores KV in another number of bits than 16.
func (m ModelShape) WithKVBits(bits float64) ModelShape {
	m.KVBytesPerToken *= bits / 16
	m.WindowKVBytesPerToken *= bits / 16
	return m
}

// demoShape stands for models whose size is not known: half a billion parameters.
func demoShape(name string) ModelShape {
	return ModelShape{Name: name, Params: 0.5e9, Layers: 24, Hidden: 1024, KVBytesPerToken: 49152, WeightBytes: 1.0e9, MaxModelLen: 32768}
}

// Sized reports whether the model's own size is what is simulated.
func (m ModelShape) Sized() bool { return m.Source != "" }
