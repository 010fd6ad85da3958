package model

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestKnownModelsHaveTheirPublishedSize computes the parameters of every model in the table
// from its layers, heads and experts, and sets them beside the published numbers.
func TestKnownModelsHaveTheirPublishedSize(t *testing.T) {
	keys := map[string]bool{}
	for _, m := range knownModels {
		if keys[m.key] {
			t.Errorf("%s is there twice", m.key)
		}
		keys[m.key] = true
		if m.key != strings.ToLower(m.key) || !m.architecture.Plausible() {
			t.Errorf("%s: %+v", m.key, m.architecture)
		}
		a := m.architecture
		w := a.withDefaults().weights()
		embeddings := w.embedding * a.tables()
		total, active := (w.linear+w.experts+embeddings)/1e9, (w.linear+w.experts*a.share()+embeddings)/1e9
		if math.Abs(total/m.total-1) > 0.03 {
			t.Errorf("%s has %.3f billion parameters, published %.3f", m.key, total, m.total)
		}
		// Some publishers count both tables of embeddings as active, some one, some none.
		table := float64(m.architecture.Vocabulary) * float64(m.architecture.Hidden) / 1e9
		if active < m.active*0.92 || active-2*table > m.active*1.03 {
			t.Errorf("%s has %.3f billion active parameters, published %.3f", m.key, active, m.active)
		}
	}
}

func TestModelNames(t *testing.T) {
	for name, want := range map[string]string{
		"Qwen/Qwen3-0.6B":                            "qwen3-0.6b",
		"Qwen/Qwen3-30B-A3B-FP8":                     "qwen3-30b-a3b",
		"Qwen/Qwen3-235B-A22B-Instruct-2507":         "qwen3-235b-a22b-instruct-2507",
		"/models/qwen2.5-7b-instruct":                "qwen2.5-7b",
		"meta-llama/Meta-Llama-3.1-8B-Instruct":      "llama-3.1-8b",
		"meta-llama/Llama-3.2-1B":                    "llama-3.2-1b",
		"deepseek-ai/DeepSeek-R1-Distill-Llama-70B":  "deepseek-r1-distill-llama-70b",
		"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B":      "deepseek-r1-0528-qwen3-8b",
		"deepseek-ai/DeepSeek-R1-0528":               "deepseek-r1",
		"neuralmagic/Mixtral-8x7B-Instruct-v0.1-FP8": "mixtral-8x7b",
		"microsoft/Phi-4-mini-instruct":              "phi-4-mini",
		"google/gemma-3-12b-it":                      "gemma-3-12b",
		"openai/gpt-oss-120b":                        "gpt-oss-120b",
		"facebook/opt-125m":                          "opt-125m",
		"Qwen/Qwen2.5-VL-7B-Instruct":                "",
		"deepseek-ai/DeepSeek-V3.9":                  "",
		"my/own":                                     "",
		"xqwen3-8b":                                  "",
		"qwen3-8bit":                                 "",
	} {
		if m, _ := lookUpModel(name); m.key != want {
			t.Errorf("%s is taken for %q, want %q", name, m.key, want)
		}
	}
}

// qwen3Config is the config.json of Qwen3-8B, without what does not concern its size.
const qwen3Config = `{"architectures": ["Qwen3ForCausalLM"], "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960,
 "model_type": "qwen3", "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8, "rope_scaling": null, "sliding_window": null,
 "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_sliding_window": false, "vocab_size": 151936}`

func TestConfigurationOfAModel(t *testing.T) {
	for name, tt := range map[string]struct {
		config    string
		gigabytes float64 // of weights
		active    float64 // billions
		kv        float64 // bytes of a token
	}{
		"dense": {qwen3Config, 16.4, 7.57, 147456},
		"quantized": {strings.Replace(qwen3Config, `"rope_scaling": null`, `"quantization_config": {"quant_method": "gptq", "bits": 4}`, 1),
			6.2, 7.57, 147456},
		"compressed tensors": {strings.Replace(qwen3Config, `"rope_scaling": null`,
			`"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8}, "input_activations": {"num_bits": 8}}}}`, 1), 9.4, 7.57, 147456},
		"of several modalities": {`{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 3840, "intermediate_size": 15360, "num_hidden_layers": 48,
 "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "sliding_window": 1024, "sliding_window_pattern": 6, "vocab_size": 262208}, "tie_word_embeddings": true}`, 23.5, 11.8, 65536},
		"mixture": {`{"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
 "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000, "max_position_embeddings": 32768, "sliding_window": null}`, 93.4, 12.7, 131072},
		"latent attention": {`{"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
 "num_key_value_heads": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536,
 "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "vocab_size": 129280, "quantization_config": {"quant_method": "fp8"}}`, 673, 36.7, 70272},
		"OPT": {`{"model_type": "opt", "hidden_size": 768, "ffn_dim": 3072, "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size": 50272, "max_position_embeddings": 2048}`, 0.247, 0.1235, 36864},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(tt.config), 0o600); err != nil {
				t.Fatal(err)
			}
			a, ok, err := ReadArchitecture(dir)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			m := a.ConfiguredShape(dir, published)
			if m.Source != "config.json" {
				t.Fatalf("the size is taken from %q", m.Source)
			}
			if math.Abs(m.WeightBytes/1e9/tt.gigabytes-1) > 0.03 || math.Abs(m.Params/1e9/tt.active-1) > 0.03 || m.KVBytesPerToken != tt.kv {
				t.Errorf("%.2f GB, %.2f billion active, %g bytes of KV; want %g, %g, %g", m.WeightBytes/1e9, m.Params/1e9, m.KVBytesPerToken,
					tt.gigabytes, tt.active, tt.kv)
			}
		})
	}
}

// FuzzParseArchitecture holds that no configuration makes a shape without sense.
func FuzzParseArchitecture(f *testing.F) {
	for _, seed := range []string{qwen3Config, `{}`, `[]`, `{"text_config": 3}`, `{"hidden_size": -1, "num_hidden_layers": 1e300}`,
		`{"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 16, "vocab_size": 5, "intermediate_size": 4}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, ok, err := ParseArchitecture(text)
		if err != nil || !ok {
			return
		}
		m := a.Shape("m", a.Format)
		for _, v := range []float64{m.Params, m.WeightBytes, m.KVBytesPerToken, m.streamed(1), float64(m.Hidden), float64(m.MaxModelLen)} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Fatalf("%s: %+v", text, m)
			}
		}
		if m.streamed(1000) > m.WeightBytes*1.0001 {
			t.Fatalf("%s: a step reads more than there is: %+v", text, m)
		}
	})
}

// TestSizesAreMonotonic holds that more parameters never make a server faster or leave more
// room, that more GPUs that share the layers never stream for longer, and that arguments
// alone give shapes like those of the table.
func TestSizesAreMonotonic(t *testing.T) {
	profile, err := ProfileByName("h100")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := ModelSize{Parameters: rapid.Float64Range(1e8, 5e11).Draw(t, "parameters")}
		if rapid.Bool().Draw(t, "mixture") {
			s.ActiveParameters = s.Parameters * rapid.Float64Range(0.03, 1).Draw(t, "active")
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		larger := s
		factor := rapid.Float64Range(1, 4).Draw(t, "factor")
		larger.Parameters, larger.ActiveParameters = s.Parameters*factor, s.ActiveParameters*factor
		gpus := 1 << rapid.IntRange(0, 3).Draw(t, "GPUs")
		var w work
		for range rapid.IntRange(1, 50).Draw(t, "sequences") {
			w.addDecode(rapid.IntRange(0, 4000).Draw(t, "context"), 1)
		}
		if n := rapid.IntRange(0, 4000).Draw(t, "prompt"); n > 0 {
			w.addPrefill(0, n)
		}
		a := Config{Profile: profile, Shape: s.Shape("a", WeightFormat{}), GPUs: gpus, BlockSize: 16}
		b := Config{Profile: profile, Shape: larger.Shape("b", WeightFormat{}), GPUs: gpus, BlockSize: 16}
		if a.stepTime(w) > b.stepTime(w)+time.Microsecond {
			t.Fatalf("%.3g parameters take %v, %.3g take %v", s.Parameters, a.stepTime(w), larger.Parameters, b.stepTime(w))
		}
		if a.KVBlocksFor(0.9) < b.KVBlocksFor(0.9) {
			t.Fatalf("%.3g parameters leave %d blocks, %.3g leave %d", s.Parameters, a.KVBlocksFor(0.9), larger.Parameters, b.KVBlocksFor(0.9))
		}
		twice := a
		twice.GPUs *= 2
		if twice.stepTime(w)-twice.reduceTime(w.prefillTokens+w.decodeTokens) > a.stepTime(w)-a.reduceTime(w.prefillTokens+w.decodeTokens) {
			t.Fatalf("%d GPUs compute for longer than %d", twice.GPUs, gpus)
		}
		staged := a
		staged.GPUs, staged.Stages = gpus*2, 2
		if staged.stepTime(w) < twice.stepTime(w)-twice.reduceTime(w.prefillTokens+w.decodeTokens) {
			t.Fatalf("two stages of a pipeline are faster than twice as many GPUs for every layer")
		}
	})
}

// TestModelSizeDecides takes models of one family on one device: what a larger one costs is
// more of everything, and in proportion.
func TestModelSizeDecides(t *testing.T) {
	profile, err := ProfileByName("h100")
	if err != nil {
		t.Fatal(err)
	}
	config := func(model string) Config {
		c := Config{Profile: profile, Shape: KnownShape(model, published), GPUs: 2, BlockSize: 16, MaxModelLen: 8192, Noise: DefaultNoise()}
		c.KVBlocks = c.KVBlocksFor(0.9)
		return c
	}
	var decode, prefill work
	decode.addDecode(1000, 1)
	prefill.addPrefill(0, 4096)
	small, large := config("Qwen/Qwen3-0.6B"), config("Qwen/Qwen3-32B")
	if r := large.stepTime(decode).Seconds() / small.stepTime(decode).Seconds(); r < 4 || r > 55 {
		t.Errorf("a token of 32B takes %.1f times as long as one of 0.6B", r)
	}
	if r := large.stepTime(prefill).Seconds() / small.stepTime(prefill).Seconds(); r < 15 || r > 55 {
		t.Errorf("a prompt of 32B takes %.1f times as long as one of 0.6B", r)
	}
	if small.KVTokens() < 4*large.KVTokens() {
		t.Errorf("%d tokens fit beside 0.6B, %d beside 32B", small.KVTokens(), large.KVTokens())
	}
	// A mixture of experts computes what is active, and streams what its tokens are routed to.
	dense, mixture := config("Qwen/Qwen3-32B").Shape, config("Qwen/Qwen3-30B-A3B").Shape
	if r := dense.Params / mixture.Params; r < 8 || r > 12 {
		t.Errorf("32B computes %.1f times as much as 30B with 3B active", r)
	}
	if one, many := mixture.streamed(1), mixture.streamed(4096); one > 8e9 || math.Abs(many/60e9-1) > 0.05 {
		t.Errorf("one token streams %.1f GB, many %.1f GB", one/1e9, many/1e9)
	}
}
