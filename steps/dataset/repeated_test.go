package dataset_test

import (
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

func TestRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		of    steps.Dataset
		share float64
		known bool
	}{
		"random":        {steps.Dataset{Kind: "random", InputMin: 80, InputMax: 120, PrefixLen: 50}, 0.5, true},
		"no prefix":     {steps.Dataset{Kind: "random", InputMin: 80, InputMax: 120}, 0, true},
		"prefixes":      {steps.Dataset{Kind: "prefix_repetition", PrefixLen: 300, Options: map[string]any{"suffix_len": 100}}, 0.75, true},
		"without sizes": {steps.Dataset{Kind: "random"}, 0, false},
		"sharegpt":      {steps.Dataset{Kind: "sharegpt"}, 0, false},
		"another":       {steps.Dataset{Kind: "toy"}, 0, false},
	} {
		if share, known := dataset.Repeated(tt.of); known != tt.known || known && share != tt.share {
			t.Errorf("%s: %g, %v", name, share, known)
		}
	}
}
