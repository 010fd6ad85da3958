package simulate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/prom"
)

// speculation reads vLLM's settings for drafts: --speculative-config, or the separate flags before
// 0.8. Methods that draft from the previous text cost nothing. For all others one layer drafts, as
// in EAGLE and the heads of models.
func (vllm) speculation(l *launch) (model.Speculation, error) {
	const flag = "--speculative-config"
	var config struct {
		Method string  `json:"method"`
		Model  string  `json:"model"`
		Tokens float64 `json:"num_speculative_tokens"`
	}
	config.Method, config.Tokens = l.args.str("--spec-method", ""), float64(l.args.int("--spec-tokens", 0))
	config.Model = l.args.str("--spec-model", "")
	if text := l.args.str(flag, ""); text != "" {
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			return model.Speculation{}, usageError{fmt.Sprintf("argument %s: %v", flag, err)}
		}
	}
	if keys := l.args.keys[flag]; len(keys) > 0 {
		if v := keys["method"]; v != "" {
			config.Method = v
		}
		if v := keys["model"]; v != "" {
			config.Model = v
		}
		if n, err := strconv.Atoi(keys["num_speculative_tokens"]); err == nil {
			config.Tokens = float64(n)
		}
	}
	if beforeV1(l.version) {
		config.Model, config.Tokens = l.args.str("--speculative-model", ""), float64(l.args.int("--num-speculative-tokens", 0))
	}
	drafts := config.Method != "" || config.Model != ""
	switch {
	case !drafts && config.Tokens == 0:
		return model.Speculation{}, nil
	case config.Tokens < 1 || config.Tokens != float64(int(config.Tokens)) || config.Tokens > maxDraft:
		return model.Speculation{}, usageError{"num_speculative_tokens must be provided with speculative_config and be a whole number above 0"}
	}
	s := model.Speculation{Tokens: int(config.Tokens), Accept: l.settings.acceptance(), Layers: 1}
	if strings.Contains(strings.Trim(config.Method+config.Model, "[]"), "ngram") || config.Method == "suffix" {
		s.Layers = 0
	}
	return s, nil
}

// maxDraft limits the tokens of a draft.
const maxDraft = 64

// speculation reads SGLang's settings for drafts. The first of its draft tokens is the model's own
// from the previous step.
func (sglang) speculation(l *launch) model.Speculation {
	algorithm := l.args.str("--speculative-algorithm", "")
	if algorithm == "" {
		return model.Speculation{}
	}
	s := model.Speculation{Accept: l.settings.acceptance(), Layers: 1}
	s.Tokens = min(max(l.args.int("--speculative-num-steps", l.args.int("--speculative-num-draft-tokens", 4)-1), 1), maxDraft)
	if algorithm == "NGRAM" {
		s.Layers = 0
	}
	return s
}

// writeDraftsVLLM writes the counters of speculative decoding, which vLLM has while it is on.
func writeDraftsVLLM(x *prom.Writer, l *launch, d model.Drafts) {
	n := l.config.Speculation.Tokens
	if n == 0 {
		return
	}
	x.Value("vllm:spec_decode_num_drafts_total", "Number of spec decoding drafts.", "counter", float64(d.Steps))
	x.Value("vllm:spec_decode_num_draft_tokens_total", "Number of draft tokens.", "counter", float64(d.Tokens))
	x.Value("vllm:spec_decode_num_accepted_tokens_total", "Number of accepted tokens.", "counter", float64(d.Accepted))
	const positions = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
	x.Head(positions, "Accepted tokens per draft position.", "counter")
	for i := range n {
		accepted := 0
		if i < len(d.Positions) {
			accepted = d.Positions[i]
		}
		x.Printf("%s{%s,position=\"%d\"} %s\n", positions, x.Labels, i, prom.FormatFloat(float64(accepted)))
	}
}
