package model

import (
	"fmt"
	"math"
)

// ModelSize describes a model's size in a file, for models without an entry in the table and
// without a configuration. Missing values follow the proportions of common models.
type ModelSize struct {
	// Parameters of the model, and those that one token uses; 0 means all.
	Parameters       float64 `json:"parameters"`
	ActiveParameters float64 `json:"active_parameters,omitempty"`
	Layers           int     `json:"layers,omitempty"`
	HiddenSize       int     `json:"hidden_size,omitempty"`
	Heads            int     `json:"heads,omitempty"`
	KVHeads          int     `json:"kv_heads,omitempty"`
	HeadDim          int     `json:"head_dim,omitempty"`
	// Context is the longest sequence, 0 for 32768.
	Context int `json:"context,omitempty"`
	// WeightBits of one weight. With 0 the name of the model or its flags decide; the default is
	// 16.
	WeightBits float64 `json:"weight_bits,omitempty"`
}

// Check returns an error for sizes that are impossible.
func (s ModelSize) Check() error {
	switch {
	case !(s.Parameters >= 1e5) || s.Parameters > 1e14:
		return fmt.Errorf("parameters is %g; it must be a number of parameters such as 32e9", s.Parameters)
	case s.ActiveParameters < 0 || s.ActiveParameters > s.Parameters || math.IsNaN(s.ActiveParameters):
		return fmt.Errorf("active_parameters is %g; it must be at most parameters (%g)", s.ActiveParameters, s.Parameters)
	case s.WeightBits != 0 && !(s.WeightBits >= 1 && s.WeightBits <= 32):
		return fmt.Errorf("weight_bits is %g; it must be from 1 to 32", s.WeightBits)
	case s.KVHeads > 0 && s.Heads > 0 && s.KVHeads > s.Heads:
		return fmt.Errorf("kv_heads is %d; it must be at most heads (%d)", s.KVHeads, s.Heads)
	}
	for _, n := range []struct {
		name         string
		value, limit int
	}{
		{"layers", s.Layers, 1000}, {"hidden_size", s.HiddenSize, 1 << 20}, {"heads", s.Heads, 1 << 12}, {"kv_heads", s.KVHeads, 1 << 12},
		{"head_dim", s.HeadDim, 1 << 14}, {"context", s.Context, 1 << 30},
	} {
		if n.value < 0 || n.value > n.limit {
			return fmt.Errorf("%s is %d; it must be from 1 to %d", n.name, n.value, n.limit)
		}
	}
	return nil
}

// Shape returns the shape of a model of that size. Layers hold 12 parameters for each pair of
// hidden units, and the hidden state is 128 times as wide as the number of layers: 8 billion
// parameters have 35 layers of 4,400 units. Heads are 128 wide, and 8 of them have KV.
func (s ModelSize) Shape(name string, f WeightFormat) ModelShape {
	active := s.ActiveParameters
	if active == 0 {
		active = s.Parameters
	}
	width := func(value *int, usual float64) float64 {
		if *value == 0 {
			*value = max(int(math.Round(usual)), 1)
		}
		return float64(*value)
	}
	dense := s.Parameters
	if active < s.Parameters { // half of a token's parameters are shared by all tokens
		dense = active
	}
	layers := width(&s.Layers, math.Cbrt(dense/(12*128*128)))
	hidden := width(&s.HiddenSize, math.Sqrt(dense/(12*layers)))
	headDim := width(&s.HeadDim, 128)
	heads := width(&s.Heads, hidden/headDim)
	kvHeads := width(&s.KVHeads, math.Min(8, heads))
	bits := s.WeightBits
	if bits == 0 {
		bits = f.Bits
	}
	if bits == 0 {
		bits = 16
	}
	m := ModelShape{
		Name: name, Params: active, ProductBits: f.Products, Layers: s.Layers, Hidden: int(heads * headDim), Residual: s.HiddenSize,
		KVHeads:         s.KVHeads,
		KVBytesPerToken: 4 * layers * kvHeads * headDim, WeightBytes: s.Parameters * bits / 8, MaxModelLen: s.Context,
	}
	if active < s.Parameters {
		shared := active / 2
		m.StreamBytes = shared * bits / 8
		m.ExpertBytes, m.ExpertShare = (s.Parameters-shared)*bits/8, (active-shared)/(s.Parameters-shared)
	}
	if m.MaxModelLen == 0 {
		m.MaxModelLen = 32768
	}
	return m
}
