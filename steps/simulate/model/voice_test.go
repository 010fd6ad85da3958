package model_test

import (
	"math"
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// TestVoice: answers follow from prompt and model; a launch changes the share of them that it is
// said to, corruption another share in every launch alike, and log-probabilities tremble.
func TestVoice(t *testing.T) {
	const prompts, tokens = 1500, 8
	plain := model.VoiceOf("m")
	launch := func(seed uint64, corrupt float64) model.Voice {
		v := plain
		v.Launch, v.Diverge, v.Jitter, v.Corrupt = seed, 0.05, 0.01, corrupt
		return v
	}
	voices := []model.Voice{launch(1, 0), launch(2, 0), launch(3, 0.02), launch(4, 0.02)}
	differ, both := make([]int, len(voices)), 0
	trembles := 0.0
	for p := range prompts {
		prompt := model.Encode("tell me about")
		prompt = append(prompt, p%50, p/50)
		want := plain.Say(prompt, tokens)
		if slices.Equal(want, model.VoiceOf("n").Say(prompt, tokens)) || slices.Equal(want, plain.Say(append(prompt, 65), tokens)) {
			t.Fatal("another model, or another prompt, has the same answer")
		}
		var other [4]bool
		for i, v := range voices {
			got := v.Say(prompt, tokens)
			if other[i] = !slices.Equal(got, want); other[i] {
				differ[i]++
			}
		}
		if other[2] && other[3] {
			both++
		}
		d := voices[0].Logprob(prompt) - plain.Logprob(prompt)
		trembles += d * d
	}
	share := func(n int) float64 { return float64(n) / prompts }
	for i, want := range []float64{0.05, 0.05, 0.069, 0.069} {
		if math.Abs(share(differ[i])-want) > 0.02 {
			t.Errorf("voice %d differs in %g of prompts, want %g", i, share(differ[i]), want)
		}
	}
	if math.Abs(share(both)-0.0225) > 0.01 { // what is corrupted, and what diverges twice by chance
		t.Errorf("%g of prompts are corrupted in both launches", share(both))
	}
	if sd := math.Sqrt(trembles / prompts); math.Abs(sd-0.01) > 0.001 {
		t.Errorf("log-probabilities tremble by %g, want 0.01", sd)
	}
}
