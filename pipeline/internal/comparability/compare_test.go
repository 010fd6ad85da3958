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
		{"a declared rate, and another temperature", with(vllm, "temperature", "0"), with(with(vllm, "request_rate", "8"), "temperature", "1"),
			comparability.Declare("rate"), "temperature: base 0, head 1"},
		{"more tokens by declared lengths, and another warm-up", with(with(with(vllm, "input_len", "8"), "warmup", "1"), "input_tokens", "8"),
			with(with(with(vllm, "input_len", "16"), "warmup", "2"), "input_tokens", "16"), comparability.Declare("isl"), ""},
		{"a burstiness that no tool says", comparability.Facts{}, comparability.Facts{"burstiness": "0.5"}, nil, ""},
		{"a length that the tokens of one side show", with(with(vllm, "input_len", "128"), "input_tokens", "128"), vllm, nil,
			"input length: base 128, head not reported"},
		{"tokens within a hundredth", with(vllm, "input_tokens", "100"), with(vllm, "input_tokens", "100.9"), nil, ""},
		{"tokens beyond a hundredth", with(vllm, "input_tokens", "100"), with(vllm, "input_tokens", "101.5"), nil,
			"input tokens per request: base 100, head 101.5"},
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

// TestKindsOfDifferences: what is declared, shown, lacking and unknown.
func TestKindsOfDifferences(t *testing.T) {
	base := comparability.Facts{comparability.Tool: "vllm", comparability.MaxConcurrency: "8", comparability.Tokenizer: "t",
		"tool_version": "1", "request_rate": "4", comparability.Seed: "1", "temperature": "0"}
	head := comparability.Facts{comparability.Tool: "vllm", comparability.MaxConcurrency: "16", comparability.Seed: "2", "top_p": "1"}
	d := comparability.Compare(base, head, comparability.Declare(comparability.MaxConcurrency).And("top_p"))
	for name, tt := range map[string]struct {
		got  comparability.Differences
		want string
	}{
		"invalid":    {d.Invalid(), "request rate, seed"},
		"known":      {d.Known(), "max concurrency, seed"},
		"unreported": {d.Unreported(), "tokenizer, temperature"},
		"within":     {d.Within(), "version of the load generator, tokenizer, request rate, max concurrency, temperature, top_p"},
	} {
		if got := strings.Join(tt.got.Labels(), ", "); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	if d.Meant() != true || comparability.Compare(base, head, comparability.Declare(comparability.MaxConcurrency)).Meant() {
		t.Error("a bound on concurrency is other work, or a declared sampling is not")
	}
	if got := comparability.Declare("parameter.qps"); !got["request_rate"] || len(got) != 1 {
		t.Errorf("a parameter that has got a meaning is declared as %v", got)
	}
}

// TestNamesOfFields: which fields a result has, which can be declared, and which names mean the same.
func TestNamesOfFields(t *testing.T) {
	got := comparability.Read(func(name string) (string, bool) { return "1", name == "requests" || name == "engine" || name == "qps" })
	if len(got) != 1 || got["request_rate"] != "1" {
		t.Errorf("parameters are read as %v", got)
	}
	for _, name := range comparability.Declarable() {
		if comparability.Lookup(name).Outcome {
			t.Errorf("%s follows from others, and can be declared", name)
		}
	}
	for field, values := range map[string][2]string{"endpoint": {"http://h/generate", "sglang"}, "dataset_name": {"random_ids", "random"}} {
		a, b := comparability.Facts{}, comparability.Facts{}
		a.Set(field, values[0])
		b.Set(field, values[1])
		if a[field] != b[field] {
			t.Errorf("%q is %q, and %q is %q", values[0], a[field], values[1], b[field])
		}
	}
	for limits, want := range map[string]bool{"ttft 1s, tpot 0s, e2el 0s": false, "ttft 0s, tpot 0s, e2el 2s": true, "": false} {
		if got := comparability.LimitsE2EL(map[string]string{"goodput_slo": limits}); got != want {
			t.Errorf("%q limits E2EL: %v", limits, got)
		}
	}
	machine := func(gpu string) comparability.Facts {
		return comparability.OfMachine(map[string]string{"gpu_count": "1", "gpu_name": gpu})
	}
	if within := comparability.Compare(machine("A"), machine("B"), nil).Within(); len(within) != 1 {
		t.Errorf("another machine for one side: %v", within)
	}
}

// TestSettings: a parameter of unknown meaning was set if it has one value in all valid repeats of a side.
func TestSettings(t *testing.T) {
	of := func(name string, values ...string) *result.Cell {
		c := &result.Cell{}
		for i, v := range values {
			r := result.Run{Repeat: i + 1, Status: result.RunOK, Work: comparability.Facts{}}
			if v == "void" {
				r.Status = result.RunVoid
			}
			if r.Work[comparability.Parameter+name] = v; v == "" {
				r.Work = nil
			}
			c.Runs = append(c.Runs, r)
		}
		return c
	}
	passes := func(c *result.Cell) *result.Cell {
		for i := range c.Runs {
			c.Runs[i].Repeat, c.Runs[i].Pass = 1+i/2, i%2
		}
		return c
	}
	for name, tt := range map[string]struct {
		base, head *result.Cell
		want       string
	}{
		"other":                {of("depth", "1", "1"), of("depth", "2", "2"), "parameter depth: base 1, head 2"},
		"the same":             {of("depth", "1", "1"), of("depth", "1", "1"), ""},
		"measured by the base": {of("depth", "1", "2"), of("depth", "3", "3"), ""},
		"measured by the head": {of("depth", "1", "1"), of("depth", "2", "3"), ""},
		"one repeat":           {of("depth", "1"), of("depth", "2"), ""},
		"a void run":           {of("depth", "1", "1", "void"), of("depth", "2", "2"), "parameter depth: base 1, head 2"},
		"by pass": {passes(of("depth", "1", "2", "1", "2")), passes(of("depth", "1", "3", "1", "3")),
			"parameter depth: base 2, head 3"},
		"set by one side":      {of("depth", "1", "1"), of("depth", "", ""), "parameter depth: base 1, head not reported"},
		"set by the other":     {of("depth", "", ""), of("depth", "2", "2"), "parameter depth: base not reported, head 2"},
		"two names, one value": {of("layers", "8", "8"), of("layer_count", "8.0", "8.0"), ""},
		"two names, two values": {of("layer_count", "8", "8"), of("layers", "9", "9"),
			"parameter layer_count and parameter layers: base 8, head 9"},
	} {
		got := comparability.Settings(tt.base, tt.head, nil)
		if text := got.Text("base", "head"); text != tt.want {
			t.Errorf("%s: %q, want %q", name, text, tt.want)
		}
		for _, declared := range []string{"depth", "layers"} {
			found := comparability.Settings(tt.base, tt.head, comparability.Declare(declared)).Invalid()
			if strings.Contains(tt.want, declared) && len(found) > 0 {
				t.Errorf("%s, %s declared: %v", name, declared, found)
			}
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
	r.Failed = 20 // of which no tool counts tokens
	if got := comparability.OfRun(cell, r)["input_tokens"]; got != "300" {
		t.Errorf("%s tokens of a request that was answered", got)
	}
	cell.Work["time_limit"] = "60"
	if got, ok := comparability.OfRun(cell, r)["requests"]; ok {
		t.Errorf("a run of a minute is meant to have %s requests", got)
	}
	for name, change := range map[string]func(){
		"a search": func() { r.Search = &result.Search{} }, "a hash": func() { r.Search, r.Audit["work_hash"] = nil, "h" },
	} {
		if change(); comparability.OfRun(cell, r)["input_tokens"] != "" {
			t.Errorf("amounts beside %s", name)
		}
	}
}

// TestFactsOfASession: a cell has the facts of its valid runs, its engine and model, and how it was simulated.
func TestFactsOfASession(t *testing.T) {
	doc := &result.Document{Simulated: "process", TimeScale: 10, Targets: []result.Target{{Addr: "server.a", Engine: "vllm", Model: "m"}}}
	cell := &result.Cell{Target: "server.a", Work: comparability.Facts{comparability.Tool: comparability.OwnTool}}
	run := func(status result.RunStatus, seed string) {
		cell.Runs = append(cell.Runs, result.Run{Repeat: len(cell.Runs) + 1, Status: status, Work: comparability.Facts{comparability.Seed: seed},
			Audit: map[string]any{"work_hash": seed}})
	}
	if got := comparability.OfCell(doc, cell)[comparability.Tool]; got != comparability.OwnTool {
		t.Errorf("a cell without a run has the tool %q", got)
	}
	run(result.RunOK, "2")
	run(result.RunVoid, "9")
	run(result.RunOK, "1")
	got := comparability.OfCell(doc, cell)
	for name, want := range map[string]string{comparability.Seed: "1, 2", comparability.Simulated: "process×10", comparability.Engine: "vllm",
		comparability.Model: "m", "work_hash": ""} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	doc.TimeScale, cell.Work[comparability.Model], cell.Work[comparability.Tool] = 1, "own", "aiperf"
	got = comparability.OfCell(doc, cell)
	if got[comparability.Simulated] != "process" || got[comparability.Model] != "own" || got[comparability.Engine] != "" {
		t.Errorf("of another tool: %v", got)
	}
}
