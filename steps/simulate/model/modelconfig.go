package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// configFile is the configuration file in a model's folder.
const configFile = "config.json"

// maxConfig limits the size of a configuration in bytes; published ones have some kilobytes.
const maxConfig = 4 << 20

// ReadArchitecture reads the architecture of the model in a folder from its config.json. It returns
// false if there is none, or if it does not describe a transformer.
func ReadArchitecture(dir string) (Architecture, bool, error) {
	f, err := os.Open(filepath.Join(dir, configFile))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err != nil && isNotDir(dir):
		return Architecture{}, false, nil
	case err != nil:
		return Architecture{}, false, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Architecture{}, false, nil //nolint:nilerr // a folder or a pipe of that name is not a configuration
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return Architecture{}, false, err
	}
	if len(text) > maxConfig {
		return Architecture{}, false, fmt.Errorf("%s is longer than %d bytes", f.Name(), maxConfig)
	}
	a, ok, err := ParseArchitecture(text)
	if err != nil {
		return a, false, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return a, ok, nil
}

// ConfiguredShape returns the shape of a model from the configuration in its folder. format returns
// the format of the served weights, given the published one.
func (a Architecture) ConfiguredShape(name string, format func(published WeightFormat) WeightFormat) ModelShape {
	m := a.Shape(name, format(a.Format))
	m.Source = configFile
	return m
}

func isNotDir(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.IsDir()
}

// ParseArchitecture parses a config.json. It returns false if it does not describe a transformer.
func ParseArchitecture(text []byte) (Architecture, bool, error) {
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(text, &outer); err != nil {
		return Architecture{}, false, fmt.Errorf("it is not a model's configuration: %w", err)
	}
	fields := outer
	if inner, ok := outer["text_config"]; ok { // the language model of a multimodal model
		fields = map[string]json.RawMessage{}
		if err := json.Unmarshal(inner, &fields); err != nil {
			return Architecture{}, false, fmt.Errorf("its text_config is not an object: %w", err)
		}
		for name, value := range outer {
			if _, ok := fields[name]; !ok {
				fields[name] = value
			}
		}
	}
	a := architectureOf(configFields(fields))
	if !a.Plausible() {
		return Architecture{}, false, nil
	}
	return a, true, nil
}

// configFields holds the values of a configuration, which can have any type. A value that is not a
// number counts as absent where a number is required.
type configFields map[string]json.RawMessage

// int returns the first of the named fields that holds a number.
func (f configFields) int(names ...string) int {
	for _, name := range names {
		var v *float64
		if json.Unmarshal(f[name], &v) == nil && v != nil && *v >= 0 && *v < 1e9 {
			return int(*v)
		}
	}
	return 0
}

func (f configFields) text(name string) string {
	var v string
	_ = json.Unmarshal(f[name], &v) // ignore other types
	return v
}

func (f configFields) bool(name string, fallback bool) bool {
	var v *bool
	if json.Unmarshal(f[name], &v) == nil && v != nil {
		return *v
	}
	return fallback
}

// plainFamilies have feed-forward layers without a gate, and tie their embeddings unless their
// configuration sets otherwise.
var plainFamilies = []string{"opt", "gpt2", "gpt_neo", "gpt_neox", "gptj", "gpt_bigcode", "phi", "falcon", "bloom", "mpt", "starcoder2"}

func architectureOf(f configFields) Architecture {
	kind := f.text("model_type")
	a := Architecture{
		Layers: f.int("num_hidden_layers", "n_layer", "num_layers"), Hidden: f.int("hidden_size", "n_embd", "d_model"),
		Heads: f.int("num_attention_heads", "n_head", "n_heads"), KVHeads: f.int("num_key_value_heads"), HeadDim: f.int("head_dim"),
		Vocabulary: f.int("vocab_size"), Context: f.int("max_position_embeddings", "n_positions", "max_seq_len"),
		Intermediate: f.int("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"),
		Plain:        slices.Contains(plainFamilies, kind),
		KVRank:       f.int("kv_lora_rank"), QRank: f.int("q_lora_rank"), RopeDim: f.int("qk_rope_head_dim"),
		NopeDim: f.int("qk_nope_head_dim"), ValueDim: f.int("v_head_dim"),
	}
	a.Tied = f.bool("tie_word_embeddings", a.Plain && kind != "phi" || strings.HasPrefix(kind, "gemma"))
	if a.Plain && a.Intermediate == 0 {
		a.Intermediate = 4 * a.Hidden
	}
	f.experts(&a)
	f.windows(&a, kind)
	a.Format = f.format()
	return a
}

// experts reads the experts of a mixture. The layers' width is the default of the experts' width.
func (f configFields) experts(a *Architecture) {
	if a.Experts = f.int("num_experts", "n_routed_experts", "num_local_experts"); a.Experts < 2 {
		a.Experts = 0
		return
	}
	a.ExpertsPerToken = max(f.int("num_experts_per_tok", "num_experts_per_token", "experts_per_token"), 1)
	if a.ExpertIntermediate = f.int("moe_intermediate_size"); a.ExpertIntermediate == 0 {
		a.ExpertIntermediate = a.Intermediate
	}
	a.SharedIntermediate = max(f.int("shared_expert_intermediate_size"), f.int("n_shared_experts")*a.ExpertIntermediate)
	a.DenseLayers = min(f.int("first_k_dense_replace"), a.Layers)
	if a.Intermediate == 0 {
		a.DenseLayers = 0
	}
}

// windows counts the layers with a limited attention window.
func (f configFields) windows(a *Architecture, kind string) {
	window := f.int("sliding_window")
	if window == 0 || !f.bool("use_sliding_window", true) {
		return
	}
	var types []string
	_ = json.Unmarshal(f["layer_types"], &types) // other types name no layers
	pattern := f.int("sliding_window_pattern")
	switch {
	case len(types) > 0:
		for _, t := range types {
			if t == "sliding_attention" {
				a.WindowLayers++
			}
		}
	case pattern > 1:
		a.WindowLayers = a.Layers - a.Layers/pattern
	case strings.HasPrefix(kind, "gemma3"):
		a.WindowLayers = a.Layers - a.Layers/6
	case kind == "gemma2" || kind == "gpt_oss":
		a.WindowLayers = a.Layers / 2
	case kind == "mistral":
		a.WindowLayers = a.Layers
	}
	if a.WindowLayers = min(a.WindowLayers, a.Layers); a.WindowLayers > 0 {
		a.Window = window
	}
}

// format returns the format of the checkpoint's weights.
func (f configFields) format() WeightFormat {
	var q struct {
		Method string   `json:"quant_method"`
		Algo   string   `json:"quant_algo"`
		Bits   *float64 `json:"bits"`
		In4    bool     `json:"load_in_4bit"`
		Groups map[string]struct {
			Weights struct {
				Bits *float64 `json:"num_bits"`
			} `json:"weights"`
			Inputs *struct {
				Bits *float64 `json:"num_bits"`
			} `json:"input_activations"`
		} `json:"config_groups"`
	}
	if json.Unmarshal(f["quantization_config"], &q) != nil {
		return WeightFormat{}
	}
	for _, g := range q.Groups { // compressed-tensors: all groups of a checkpoint are equal
		if g.Weights.Bits == nil {
			continue
		}
		out := WeightFormat{Bits: *g.Weights.Bits, Products: 16}
		if g.Inputs != nil && g.Inputs.Bits != nil {
			out.Products = int(*g.Inputs.Bits)
		}
		if out.Bits <= 4 {
			out.Bits += 0.25
		}
		return out
	}
	if q.Method == "mxfp4" { // the engines apply it only to the experts
		return fourBitExperts
	}
	if q.Bits != nil && *q.Bits >= 2 && *q.Bits <= 8 {
		if *q.Bits == 8 {
			return WeightFormat{Bits: 8}
		}
		return WeightFormat{Bits: *q.Bits + 0.25}
	}
	if q.In4 {
		return WeightFormat{Bits: 4.25}
	}
	format, _ := FormatNamed(q.Method + " " + q.Algo)
	return format
}

// Plausible reports whether the figures are complete and small enough for a real model.
func (a Architecture) Plausible() bool {
	if !a.complete() || a.KVHeads > a.Heads || a.ExpertsPerToken > max(a.Experts, 1) {
		return false
	}
	for _, n := range []struct{ value, limit int }{
		{a.Layers, 1000}, {a.Hidden, 1 << 20}, {a.Heads, 1 << 12}, {a.HeadDim, 1 << 14}, {a.Vocabulary, 1 << 24}, {a.Context, 1 << 30},
		{a.Intermediate, 1 << 24}, {a.Experts, 1 << 16}, {a.ExpertIntermediate, 1 << 24}, {a.SharedIntermediate, 1 << 24},
		{a.KVRank, 1 << 16}, {a.QRank, 1 << 16}, {a.RopeDim, 1 << 14}, {a.NopeDim, 1 << 14}, {a.ValueDim, 1 << 14},
	} {
		if n.value < 0 || n.value > n.limit {
			return false
		}
	}
	return a.HeadDim > 0 || a.Hidden >= a.Heads
}
