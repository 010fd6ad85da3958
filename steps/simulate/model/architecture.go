package model

// Architecture holds a transformer's figures from its configuration. Zero fields have defaults: one
// KV head for each head, heads as wide as the hidden state divided by their number, no experts, no
// window.
type Architecture struct {
	Layers     int `json:"layers"`
	Hidden     int `json:"hidden"`
	Heads      int `json:"heads"`
	KVHeads    int `json:"kv_heads,omitempty"`
	HeadDim    int `json:"head_dim,omitempty"`
	Vocabulary int `json:"vocabulary"`
	Context    int `json:"context"`
	// Intermediate is the width of the dense feed-forward layers.
	Intermediate int `json:"intermediate,omitempty"`
	// Plain feed-forward layers have two matrices; others have a third for their gate.
	Plain bool `json:"plain,omitempty"`
	// Tied is true if input and output share the embeddings.
	Tied bool `json:"tied,omitempty"`

	// Experts is the number of experts of a layer; the next fields are the number per token and
	// their width.
	Experts            int `json:"experts,omitempty"`
	ExpertsPerToken    int `json:"experts_per_token,omitempty"`
	ExpertIntermediate int `json:"expert_intermediate,omitempty"`
	// SharedIntermediate is the width of the experts that every token uses.
	SharedIntermediate int `json:"shared_intermediate,omitempty"`
	// DenseLayers is the number of layers without experts.
	DenseLayers int `json:"dense_layers,omitempty"`

	// KVRank is the width of the compressed KV of multi-head latent attention, RopeDim the width of
	// its rotary part, and QRank the width of the compressed queries; NopeDim and ValueDim are the
	// widths of a head.
	KVRank   int `json:"kv_rank,omitempty"`
	RopeDim  int `json:"rope_dim,omitempty"`
	QRank    int `json:"q_rank,omitempty"`
	NopeDim  int `json:"nope_dim,omitempty"`
	ValueDim int `json:"value_dim,omitempty"`

	// WindowLayers attend only to the last Window tokens.
	Window       int `json:"window,omitempty"`
	WindowLayers int `json:"window_layers,omitempty"`

	// Format of the published weights, the zero value for 16 bits.
	Format WeightFormat `json:"format"`
}

// WeightFormat describes how the linear layers are stored and multiplied.
type WeightFormat struct {
	// Bits of one weight, including its share of the scales; 0 means 16.
	Bits float64 `json:"bits,omitempty"`
	// Products is the width in bits of the operands of products; 0 means 16.
	Products int `json:"products,omitempty"`
	// ExpertsOnly is true if all weights other than experts have 16 bits.
	ExpertsOnly bool `json:"experts_only,omitempty"`
}

// complete reports whether the figures determine the model's size.
func (a Architecture) complete() bool {
	return a.Layers > 0 && a.Hidden > 0 && a.Heads > 0 && a.Vocabulary > 0 && (a.Intermediate > 0 || a.Experts > 0 && a.ExpertIntermediate > 0)
}

func (a Architecture) withDefaults() Architecture {
	if a.KVHeads == 0 {
		a.KVHeads = a.Heads
	}
	if a.HeadDim == 0 {
		a.HeadDim = a.Hidden / a.Heads
	}
	if a.Context == 0 {
		a.Context = 32768
	}
	return a
}

// weights holds the parameters of a model by cost: those of the linear layers that every token
// uses, those of the experts, and those of one embedding.
type weights struct{ linear, experts, embedding float64 }

func (a Architecture) weights() weights {
	layers, h := float64(a.Layers), float64(a.Hidden)
	feed := 3 * h
	if a.Plain {
		feed = 2 * h
	}
	w := weights{linear: layers * a.attention(), embedding: float64(a.Vocabulary) * h}
	if a.Experts == 0 {
		w.linear += layers * feed * float64(a.Intermediate)
		return w
	}
	sparse := layers - float64(a.DenseLayers)
	w.linear += float64(a.DenseLayers) * feed * float64(a.Intermediate)
	w.linear += sparse * (feed*float64(a.SharedIntermediate) + h*float64(a.Experts))
	w.experts = sparse * float64(a.Experts) * feed * float64(a.ExpertIntermediate)
	return w
}

// attention returns the number of parameters of one layer's attention.
func (a Architecture) attention() float64 {
	h, heads := float64(a.Hidden), float64(a.Heads)
	if a.KVRank == 0 {
		return h * float64(a.HeadDim) * (2*heads + 2*float64(a.KVHeads))
	}
	nope, rope, value := float64(a.NopeDim), float64(a.RopeDim), float64(a.ValueDim)
	q := h * heads * (nope + rope)
	if r := float64(a.QRank); r > 0 {
		q = h*r + r*heads*(nope+rope)
	}
	rank := float64(a.KVRank)
	return q + h*(rank+rope) + rank*heads*(nope+value) + heads*value*h
}

// tables returns the number of embedding tables.
func (a Architecture) tables() float64 {
	if a.Tied {
		return 1
	}
	return 2
}

// share returns the share of the experts that a token uses.
func (a Architecture) share() float64 {
	if a.Experts == 0 {
		return 0
	}
	return float64(a.ExpertsPerToken) / float64(a.Experts)
}

// Shape returns the shape of the model with its weights in a format. Embeddings stay in 16 bits, as
// in the engines and the published checkpoints. The lookup of a token reads one row, so the input's
// table is neither computed nor streamed.
func (a Architecture) Shape(name string, f WeightFormat) ModelShape {
	a = a.withDefaults()
	w := a.weights()
	bits := f.Bits
	if bits == 0 {
		bits = 16
	}
	dense := bits
	if f.ExpertsOnly {
		dense = 16
	}
	m := ModelShape{
		Name: name, Layers: a.Layers, Hidden: a.Heads * a.HeadDim, Residual: a.Hidden, KVHeads: a.KVHeads,
		Params: w.linear + w.experts*a.share() + w.embedding, ProductBits: f.Products,
		StreamBytes: w.linear*dense/8 + 2*w.embedding, ExpertBytes: w.experts * bits / 8, ExpertShare: a.share(),
		MaxModelLen: a.Context, Vocabulary: a.Vocabulary, WindowLayers: a.WindowLayers, Window: a.Window,
	}
	m.WeightBytes = m.StreamBytes + m.ExpertBytes + 2*w.embedding*(a.tables()-1)
	kv := 2 * 2 * float64(a.KVHeads*a.HeadDim) // keys and values in 16 bits
	if a.KVRank > 0 {
		kv = 2 * float64(a.KVRank+a.RopeDim)
		m.Hidden, m.KVHeads = a.Heads*(a.NopeDim+a.RopeDim+a.ValueDim)/2, 1
	}
	if a.WindowLayers == 0 {
		m.Window = 0
	}
	m.KVBytesPerToken = kv * float64(a.Layers-a.WindowLayers)
	m.WindowKVBytesPerToken = kv * float64(a.WindowLayers)
	if m.KVBytesPerToken == 0 { // all layers have a window, so this is their only KV
		m.KVBytesPerToken, m.WindowKVBytesPerToken, m.WindowLayers, m.Window = m.WindowKVBytesPerToken, 0, 0, 0
	}
	return m
}
