package model

import "math"

// ModelShape describes a model's cost on the hardware: the computation of a token, the memory reads
// of a step, and the memory in use.
type ModelShape struct {
	Name string
	// Source of the figures: the table, a configuration, arguments; "" if the size is unknown and a
	// small model is assumed.
	Source string
	// Params that take part in one token's forward pass.
	Params float64
	// ProductBits of the operands of the linear layers' products: 16, 8 or 4; 0 means 16. Weights
	// that are only stored in fewer bits are multiplied in 16.
	ProductBits int
	Layers      int
	// Hidden is the width of the attention (heads × head size).
	Hidden int
	// Residual is the width between the layers, 0 if it equals Hidden.
	Residual int
	// KVBytesPerToken over all layers that attend to the whole context.
	KVBytesPerToken float64
	// KVHeads that tensor parallelism can distribute; additional GPUs hold copies. 0 means no
	// limit.
	KVHeads int
	// WindowLayers attend only to the last Window tokens. Their KV is not part of KVBytesPerToken.
	WindowLayers, Window int
	// WindowKVBytesPerToken over the layers with a window.
	WindowKVBytesPerToken float64
	// WeightBytes is the memory of the weights.
	WeightBytes float64
	// StreamBytes of the weights are read by every step; 0 means all of them.
	StreamBytes float64
	// ExpertBytes are the weights of routed experts; a token uses the share ExpertShare.
	ExpertBytes, ExpertShare float64
	// MaxModelLen is the context length of the model's configuration.
	MaxModelLen int
	// Vocabulary is the number of tokens, 0 for the default.
	Vocabulary int
}

// HiddenBytes returns the size of one token's last hidden state, in 16 bits.
func (m ModelShape) HiddenBytes() float64 {
	if m.Residual > 0 {
		return 2 * float64(m.Residual)
	}
	return 2 * float64(m.Hidden)
}

// streamed returns the bytes of weights that a step of the given number of tokens reads: the dense
// part, and the experts that at least one token is routed to. The choice of experts is assumed to
// be uniform and independent.
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

// copies returns how many times a group of GPUs that share the layers holds the KV of a token.
func (m ModelShape) copies(tensorParallel int) float64 {
	if m.KVHeads == 0 || tensorParallel <= m.KVHeads {
		return 1
	}
	return float64(tensorParallel) / float64(m.KVHeads)
}

// vocabulary returns the size of the model's vocabulary, by default the size of the Qwen models'.
func (m ModelShape) vocabulary() int {
	if m.Vocabulary > 0 {
		return m.Vocabulary
	}
	return 152064
}

// WithKVBits returns the shape with KV stored in the given number of bits.
func (m ModelShape) WithKVBits(bits float64) ModelShape {
	m.KVBytesPerToken *= bits / 16
	m.WindowKVBytesPerToken *= bits / 16
	return m
}

// demoShape replaces models of unknown size: half a billion parameters.
func demoShape(name string) ModelShape {
	return ModelShape{Name: name, Params: 0.5e9, Layers: 24, Hidden: 1024, KVBytesPerToken: 49152, WeightBytes: 1.0e9, MaxModelLen: 32768}
}

// Sized reports whether the shape has the model's actual size.
func (m ModelShape) Sized() bool { return m.Source != "" }
