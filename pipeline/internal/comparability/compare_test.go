package comparability_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"pgregory.net/rapid"
)

func TestCompare(t *testing.T) {
	vllm := comparability.Facts{comparability.Tool: "vllm", comparability.Model: "m", "request_rate": "4"}
	with := func(f comparability.Facts, name, value string) comparability.Facts {
		out := comparability.Join(f)
		out.Set(name, value)
		return out
	}
	for _, tt := range []struct {
		name       string
		base, head comparability.Facts
		declared   comparability.Declared
		want       string // of the invalid differences
	}{
		{"equal", vllm, vllm, nil, ""},
		{"numbers are numbers", vllm, with(vllm, "request_rate", "4.0"), nil, ""},
		{"a rate", vllm, with(vllm, "request_rate", "8"), nil, "request rate: base 4, head 8"},
		{"a declared rate", vllm, with(vllm, "request_rate", "8"), comparability.Declare("qps"), ""},
		{"a load generator", vllm, with(vllm, comparability.Tool, "sglang"), nil, "load generator: base vllm, head sglang"},
		{"a bound against none", vllm, with(vllm, comparability.MaxConcurrency, "8"), nil,
			"max concurrency: base unlimited (not given), head 8"},
		{"a bound that another tool does not say", with(vllm, comparability.Tool, "aiperf"),
			with(comparability.Facts{comparability.Tool: "aiperf2"}, comparability.MaxConcurrency, "8"),
			comparability.Declare(comparability.Tool), ""},
		{"the default burstiness", vllm, with(vllm, "burstiness", "1.0"), nil, ""},
		{"another burstiness", vllm, with(vllm, "burstiness", "0.5"), nil, "burstiness: base 1 (not given), head 0.5"},
		{"names of one endpoint", with(vllm, "endpoint", "openai"), with(vllm, "endpoint", "/v1/completions"), nil, ""},
		{"two endpoints", with(vllm, "endpoint", "openai-chat"), with(vllm, "endpoint", "/v1/completions"), nil,
			"endpoint: base chat, head completions"},
		{"a file elsewhere", with(vllm, "dataset_path", "/a/s.json"), with(vllm, "dataset_path", "/b/s.json"), nil, ""},
		{"a rate of one side alone", vllm, comparability.Facts{comparability.Tool: "vllm", comparability.Model: "m"}, nil,
			"request rate: base 4, head not reported"},
		{"a declared rate of one side alone", vllm, comparability.Facts{comparability.Tool: "vllm", comparability.Model: "m"},
			comparability.Declare("rps"), ""},
		{"a length of one side alone", with(vllm, "input_len", "128"), vllm, nil, "input length: base 128, head not reported"},
		{"a length that the tokens show", with(with(vllm, "input_len", "128"), "input_tokens", "128"), with(vllm, "input_tokens", "128"),
			nil, ""},
		{"a rate of another tool", with(vllm, comparability.Tool, "aiperf"),
			comparability.Facts{comparability.Tool: "vllm", comparability.Model: "m"}, comparability.Declare(comparability.Tool), ""},
		{"unknown on one side", with(vllm, comparability.Tokenizer, "t"), vllm, nil, ""},
		{"a version of the tool", with(vllm, "tool_version", "1"), with(vllm, "tool_version", "2"), nil, ""},
		{"more tokens by declared lengths", with(with(vllm, "input_len", "8"), "input_tokens", "8"), with(with(vllm, "input_len", "16"),
			"input_tokens", "16"), comparability.Declare("isl"), ""},
		{"more tokens by nothing", with(vllm, "input_tokens", "8"), with(vllm, "input_tokens", "16"), nil,
			"input tokens per request: base 8, head 16"},
		{"more tokens by a bound", with(with(vllm, comparability.MaxConcurrency, "8"), "input_tokens", "8"),
			with(with(vllm, comparability.MaxConcurrency, "16"), "input_tokens", "16"),
			comparability.Declare(comparability.MaxConcurrency), "input tokens per request: base 8, head 16"},
		{"real and simulated", comparability.Facts{}, comparability.Facts{comparability.Simulated: "process"}, nil,
			"simulation: base none, head process"},
		{"another GPU", comparability.OfMachine(map[string]string{"gpu_count": "1", "gpu_name": "A"}),
			comparability.OfMachine(map[string]string{"gpu_count": "1", "gpu_name": "B"}), nil, "machine's gpu_name: base A, head B"},
		{"another driver", comparability.OfMachine(map[string]string{"gpu_count": "1", "driver": "1"}),
			comparability.OfMachine(map[string]string{"gpu_count": "1", "driver": "2"}), nil, ""},
		{"a machine that is not known", comparability.OfMachine(map[string]string{"gpu_count": "1"}), comparability.Facts{}, nil, ""},
	} {
		if got := comparability.Compare(tt.base, tt.head, tt.declared).Invalid().Text("base", "head"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Which side is called the base changes no verdict, and a measurement is like itself.
func TestCompareIsSymmetric(t *testing.T) {
	facts := rapid.Custom(func(t *rapid.T) comparability.Facts {
		out := comparability.Facts{}
		for _, f := range comparability.Fields {
			out.Set(f.Name, rapid.SampledFrom([]string{"", "1", "1.0", "1.005", "2", "inf", "unlimited", "x"}).Draw(t, f.Name))
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := facts.Draw(t, "a"), facts.Draw(t, "b")
		if found := comparability.Compare(a, a, nil); len(found) > 0 {
			t.Fatalf("it differs from itself: %v", found)
		}
		x, y := comparability.Compare(a, b, nil), comparability.Compare(b, a, nil)
		if len(x) != len(y) || len(x.Invalid()) != len(y.Invalid()) {
			t.Fatalf("%v one way, %v the other", x, y)
		}
		for i := range x {
			if x[i].Base != y[i].Head || x[i].Head != y[i].Base {
				t.Fatalf("%v one way, %v the other", x[i], y[i])
			}
		}
	})
}

// No two rows of the table claim a name, and every row has one for people.
func TestFields(t *testing.T) {
	seen := map[string]string{}
	for _, f := range comparability.Fields {
		if f.Label == "" {
			t.Errorf("%s has no label", f.Name)
		}
		for _, name := range append(append([]string{f.Name}, f.Also...), f.From...) {
			if other, taken := seen[name]; taken {
				t.Errorf("%s is a name of %s and of %s", name, other, f.Name)
			}
			seen[name] = f.Name
			if strings.ToLower(name) != name {
				t.Errorf("%s is not in snake case", name)
			}
		}
	}
}

// Several passes of one launch stand for one measurement.
func TestOfRun(t *testing.T) {
	cell := &result.Cell{Work: comparability.Facts{comparability.Model: "m"}}
	r := result.Run{Sent: 30, Work: comparability.Facts{comparability.Seed: "1"}, Audit: map[string]any{"passes": 3.0,
		"input_tokens": 3000.0}}
	got := comparability.OfRun(cell, r)
	for name, want := range map[string]string{comparability.Model: "m", comparability.Seed: "1", "requests": "10", "input_tokens": "100"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}
