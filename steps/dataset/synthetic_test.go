package dataset_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// TestStandInHasShareGPTsMeans: within 3 % of the published means, and inside the filter.
func TestStandInHasShareGPTsMeans(t *testing.T) {
	src := source(t, steps.Dataset{Kind: "sharegpt", Path: "s.json", Synthetic: true}, dataset.Corpus{IDs: ids(500)})
	const n = 40000
	in, out := 0.0, 0.0
	for i := range n {
		p := src.Prompt(i, dataset.Seeds{uint64(i % 7), 1})
		if p.Input < 4 || p.Output < 4 || p.Input > 1024 || p.Input+p.Output > 2048 || len(p.IDs) != p.Input {
			t.Fatalf("prompt %d: %d → %d", i, p.Input, p.Output)
		}
		in, out = in+float64(p.Input)/n, out+float64(p.Output)/n
	}
	if math.Abs(in/227.5-1) > 0.03 || math.Abs(out/232.8-1) > 0.03 {
		t.Errorf("means %.1f → %.1f, want 227.5 → 232.8", in, out)
	}
}

func TestPrefixRepetition(t *testing.T) {
	d := steps.Dataset{Kind: "prefix_repetition", PrefixLen: 20, Options: map[string]any{"num_prefixes": 4.0, "suffix_len": int64(5)}}
	src := source(t, d, dataset.Corpus{IDs: ids(5000)})
	seen := map[string]int{}
	var order []string
	for i := range 40 {
		p := src.Prompt(i, dataset.Seeds{1, 1})
		if len(p.IDs) != 25 || p.Input != 25 || p.Output != 128 {
			t.Fatalf("prompt %d: %+v", i, p)
		}
		key := hashOf([]dataset.Prompt{{IDs: p.IDs[:20]}})
		seen[key]++
		order = append(order, key)
		if slices.Equal(src.Prompt(i, dataset.Seeds{1, 2}).IDs[:20], p.IDs[:20]) {
			t.Error("prefixes do not rotate")
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d prefixes, want 4", len(seen))
	}
	for _, n := range seen {
		if n != 10 {
			t.Errorf("prefixes are used %v times, want 10 each", seen)
			break
		}
	}
	if slices.Equal(order[:4], order[4:8]) && slices.Equal(order[:4], order[8:12]) {
		t.Error("the order repeats")
	}
}

// TestConversationsShareTheirBeginning: turn k+1 begins with all of turn k.
func TestConversationsShareTheirBeginning(t *testing.T) {
	d := steps.Dataset{Kind: "chat", InputMin: 10, InputMax: 20, OutputMin: 5, OutputMax: 8, Options: map[string]any{"users": 3,
		"turns": 4, "system_len": 7}}
	src := source(t, d, dataset.Corpus{IDs: ids(5000)})
	for i := range 24 {
		p := src.Prompt(i, dataset.Seeds{1, 1})
		if len(p.IDs) != p.Input || !slices.Equal(p.IDs[:7], src.Prompt(0, dataset.Seeds{1, 1}).IDs[:7]) {
			t.Fatalf("prompt %d: %d ids, input %d", i, len(p.IDs), p.Input)
		}
		if turn := i % 12 / 3; turn > 0 {
			before := src.Prompt(i-3, dataset.Seeds{1, 1})
			if !slices.Equal(p.IDs[:len(before.IDs)], before.IDs) || len(p.IDs) < len(before.IDs)+before.Output+10 {
				t.Errorf("request %d is not the next turn of request %d", i, i-3)
			}
		} else if p.Input > 27 {
			t.Errorf("request %d opens a conversation with %d tokens", i, p.Input)
		}
	}
	src = source(t, d, dataset.Corpus{Chat: true})
	var list []struct{ Role string }
	if err := json.Unmarshal(src.Prompt(7, dataset.Seeds{1, 1}).Messages, &list); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range list {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "system user assistant user assistant user" {
		t.Errorf("roles of a third turn: %s", got)
	}
}
