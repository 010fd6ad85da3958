package comparability

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/result"
	"pgregory.net/rapid"
)

func TestCompare(t *testing.T) {
	vllm := Facts{Tool: "vllm", Model: "m", "request_rate": "4"}
	with := func(f Facts, name, value string) Facts {
		out := Join(f)
		out.Set(name, value)
		return out
	}
	for _, tt := range []struct {
		name       string
		base, head Facts
		declared   Declared
		want       string // of the invalid differences
	}{
		{"equal", vllm, vllm, nil, ""},
		{"numbers are numbers", vllm, with(vllm, "request_rate", "4.0"), nil, ""},
		{"a rate", vllm, with(vllm, "request_rate", "8"), nil, "request rate: base 4, head 8"},
		{"a declared rate", vllm, with(vllm, "request_rate", "8"), Declare("qps"), ""},
		{"a load generator", vllm, with(vllm, Tool, "sglang"), nil, "load generator: base vllm, head sglang"},
		{"a bound against none", vllm, with(vllm, MaxConcurrency, "8"), nil, "max concurrency: base unlimited (not given), head 8"},
		{"a bound that another tool does not say", with(vllm, Tool, "aiperf"), with(Facts{Tool: "aiperf2"}, MaxConcurrency, "8"),
			Declare(Tool), ""},
		{"the default burstiness", vllm, with(vllm, "burstiness", "1.0"), nil, ""},
		{"another burstiness", vllm, with(vllm, "burstiness", "0.5"), nil, "burstiness: base 1 (not given), head 0.5"},
		{"names of one endpoint", with(vllm, "endpoint", "openai"), with(vllm, "endpoint", "/v1/completions"), nil, ""},
		{"two endpoints", with(vllm, "endpoint", "openai-chat"), with(vllm, "endpoint", "/v1/completions"), nil,
			"endpoint: base chat, head completions"},
		{"a file elsewhere", with(vllm, "dataset_path", "/a/s.json"), with(vllm, "dataset_path", "/b/s.json"), nil, ""},
		{"a rate of one side alone", vllm, Facts{Tool: "vllm", Model: "m"}, nil, "request rate: base 4, head not reported"},
		{"a declared rate of one side alone", vllm, Facts{Tool: "vllm", Model: "m"}, Declare("rps"), ""},
		{"a length of one side alone", with(vllm, "input_len", "128"), vllm, nil, "input length: base 128, head not reported"},
		{"a length that the tokens show", with(with(vllm, "input_len", "128"), "input_tokens", "128"), with(vllm, "input_tokens", "128"),
			nil, ""},
		{"a rate of another tool", with(vllm, Tool, "aiperf"), Facts{Tool: "vllm", Model: "m"}, Declare(Tool), ""},
		{"unknown on one side", with(vllm, Tokenizer, "t"), vllm, nil, ""},
		{"a version of the tool", with(vllm, "tool_version", "1"), with(vllm, "tool_version", "2"), nil, ""},
		{"more tokens by declared lengths", with(with(vllm, "input_len", "8"), "input_tokens", "8"), with(with(vllm, "input_len", "16"),
			"input_tokens", "16"), Declare("isl"), ""},
		{"more tokens by nothing", with(vllm, "input_tokens", "8"), with(vllm, "input_tokens", "16"), nil,
			"input tokens per request: base 8, head 16"},
		{"more tokens by a bound", with(with(vllm, MaxConcurrency, "8"), "input_tokens", "8"), with(with(vllm, MaxConcurrency, "16"),
			"input_tokens", "16"), Declare(MaxConcurrency), "input tokens per request: base 8, head 16"},
		{"real and simulated", Facts{}, Facts{Simulated: "process"}, nil, "simulation: base none, head process"},
		{"another GPU", OfMachine(map[string]string{"gpu_count": "1", "gpu_name": "A"}),
			OfMachine(map[string]string{"gpu_count": "1", "gpu_name": "B"}), nil, "machine's gpu_name: base A, head B"},
		{"another driver", OfMachine(map[string]string{"gpu_count": "1", "driver": "1"}),
			OfMachine(map[string]string{"gpu_count": "1", "driver": "2"}), nil, ""},
		{"a machine that is not known", OfMachine(map[string]string{"gpu_count": "1"}), Facts{}, nil, ""},
	} {
		if got := Compare(tt.base, tt.head, tt.declared).Invalid().Text("base", "head"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Which side is called the base changes no verdict, and a measurement is like itself.
func TestCompareIsSymmetric(t *testing.T) {
	facts := rapid.Custom(func(t *rapid.T) Facts {
		out := Facts{}
		for _, f := range Fields {
			out.Set(f.Name, rapid.SampledFrom([]string{"", "1", "1.0", "1.005", "2", "inf", "unlimited", "x"}).Draw(t, f.Name))
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := facts.Draw(t, "a"), facts.Draw(t, "b")
		if found := Compare(a, a, nil); len(found) > 0 {
			t.Fatalf("it differs from itself: %v", found)
		}
		x, y := Compare(a, b, nil), Compare(b, a, nil)
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
	for _, f := range Fields {
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
	cell := &result.Cell{Work: Facts{Model: "m"}}
	r := result.Run{Sent: 30, Work: Facts{Seed: "1"}, Audit: map[string]any{"passes": 3.0, "input_tokens": 3000.0}}
	got := OfRun(cell, r)
	for name, want := range map[string]string{Model: "m", Seed: "1", "requests": "10", "input_tokens": "100"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}
