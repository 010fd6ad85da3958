package steps_test

import (
	"encoding/json"
	"testing"

	"github.com/servegate/pipeline/steps"
)

// TestNumberOfOption: an option is the same number in a load of a file, and in one that a worker elsewhere has read.
func TestNumberOfOption(t *testing.T) {
	before := steps.Load{Options: map[string]any{"whole": int64(8), "half": 0.5, "word": "8"}}
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var after steps.Load
	if err := json.Unmarshal(text, &after); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]steps.Load{"of a file": before, "read": after} {
		for option, want := range map[string]float64{"whole": 8, "half": 0.5, "word": 0, "absent": 0} {
			if got := l.Number(option); got != want {
				t.Errorf("%s, %s: %g, want %g", name, option, got, want)
			}
		}
	}
}
