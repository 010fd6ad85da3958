package flags

import (
	"slices"
	"strings"
	"testing"
)

func TestLists(t *testing.T) {
	for engine, want := range map[string][]string{
		"vllm":   {"0.6.4", "0.8.5", "0.10.2", "0.11.0", "0.13.0", "0.33.0"},
		"sglang": {"0.5.5", "0.5.23"},
	} {
		if got := versions(engine); !slices.Equal(got, want) {
			t.Errorf("%s: versions %v, want %v", engine, got, want)
		}
		for _, v := range want {
			table, _ := Nearest(engine, v)
			if len(table.Names()) < 100 || table.Version != v {
				t.Errorf("%s %s: %d flags of %s", engine, v, len(table.Names()), table.Version)
			}
			for _, common := range map[string][]string{"vllm": {"--max-model-len", "--seed"}, "sglang": {"--context-length", "--tp-size"}}[engine] {
				if _, ok := table.Lookup(common); !ok {
					t.Errorf("%s %s has no %s", engine, v, common)
				}
			}
		}
	}
}

func versions(engine string) []string {
	var out []string
	for _, t := range index()[engine] {
		out = append(out, t.Version)
	}
	return out
}

func TestNearest(t *testing.T) {
	for asked, want := range map[string]string{"": "0.33.0", "0.6.4.post1": "0.6.4", "v0.11.2": "0.11.0", "0.22.1": "0.13.0", "0.5.0": "0.6.4", "1.0": "0.33.0"} {
		if table, ok := Nearest("vllm", asked); !ok || table.Version != want {
			t.Errorf("%q gave %v, want %s", asked, table, want)
		}
	}
	if _, ok := Nearest("openai", ""); ok {
		t.Error("openai has lists")
	}
}

func TestFor(t *testing.T) {
	for asked, want := range map[string]string{
		"": "0.33.0 ?", "latest": "0.33.0 ?", "nightly.1": "0.33.0 ?",
		"0.6.3": "0.6.4 ?", "0.6.4.post1": "0.6.4 sure", "v0.11.0": "0.11.0 sure", "0.11": "0.11.0 sure",
		"0.6.5": "0.6.4 0.8.5 sure", "0.9.2": "0.8.5 0.10.2 sure", "0.11.1": "0.11.0 0.13.0 sure", "0.14.0": "0.13.0 0.33.0 sure", "0.34.0": "0.33.0 ?", "1.0": "0.33.0 ?",
	} {
		known := For("vllm", asked)
		var got []string
		for _, table := range known.Tables {
			got = append(got, table.Version)
		}
		got = append(got, map[bool]string{true: "sure", false: "?"}[known.Sure])
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", asked, got, want)
		}
	}
	if known := For("openai", "1.0"); len(known.Tables) > 0 || known.Sure {
		t.Errorf("openai: %+v", known)
	}
}

func TestHaving(t *testing.T) {
	if got := Having("vllm", "--num-scheduler-steps"); !slices.Equal(got, []string{"0.6.4", "0.8.5"}) {
		t.Errorf("--num-scheduler-steps is in %v", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{"--a", "--a word", "--a choice", "--a int x|y", "a int", "--a,b int"} {
		if table, err := parse("e", "1.0.0", line); err == nil {
			t.Errorf("%q was read as %+v", line, table)
		}
	}
}
