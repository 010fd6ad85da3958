package adopt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/flags"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/vllm"
)

// values are words that a flag of each kind takes.
var values = map[flags.Kind][]string{
	flags.Text: {"x y"}, flags.Int: {"8"}, flags.Float: {"0.5"}, flags.Size: {"8k"}, flags.JSON: {`{"a":[1,true,null],"b":"${c}"}`},
	flags.List: {"a", "b"}, flags.Optional: {"x"}, flags.Switch: nil, flags.OnOff: nil,
}

// own are flags that a server block has in other arguments, or that the kind adds.
var own = strings.Fields(`--model --model-path --model-tag --served-model-name --host --port --uds --api-key --admin-api-key --config
	--enable-metrics`)

// TestEveryFlagIsReadBack reads each flag that the newest lists have and renders it: the words are the same.
func TestEveryFlagIsReadBack(t *testing.T) {
	for _, e := range []struct {
		name     string
		engine   steps.Engine
		program  []string
		appended string
	}{
		{vllm.Name, vllm.New(), []string{"vllm", "serve", "m"}, ""},
		{sglang.Name, sglang.New(), []string{"python3", "-m", "sglang.launch_server", "--model-path", "m"}, "--enable-metrics"},
	} {
		name := e.name
		table, ok := flags.Nearest(name, "")
		if !ok {
			t.Fatal(name)
		}
		read := 0
		for _, flag := range table.Names() {
			def, _ := table.Lookup(flag)
			words := append([]string{flag}, values[def.Kind]...)
			if def.Kind == flags.Choice {
				words = append(words, def.Choices[0])
			}
			if flag == "--middleware" { // once for each
				words = []string{flag, "a", flag, "b"}
			}
			if !strings.HasPrefix(flag, "--") || strings.HasPrefix(flag, "--no-") || slices.Contains(own, flag) {
				continue
			}
			d, s := &Definition{}, &server{}
			if err := d.read(s, slices.Concat(e.program, words)); err != nil {
				t.Fatalf("%s: %v", flag, err)
			}
			if len(s.left) > 0 {
				t.Errorf("%s %s left %v", name, flag, s.left)
			}
			spec := steps.ServerSpec{Executable: s.words, Model: s.model, Args: argsOf(s.args)}
			p, err := e.engine.Render(spec, "h", steps.PortNumber(1))
			if err != nil {
				t.Errorf("%s %s: %v", name, flag, err)
				continue
			}
			got := strings.Join(p.Argv, "|")
			got = strings.TrimSuffix(strings.Replace(got, "|--host|h|--port|1", "", 1), "|"+e.appended)
			if diff := cmp.Diff(strings.Join(slices.Concat(e.program, words), "|"), got); diff != "" {
				t.Errorf("%s %s: %s", name, flag, diff)
			}
			read++
		}
		if read < 150 {
			t.Errorf("%s: only %d flags were tried", name, read)
		}
	}
}

func argsOf(m hclfile.Map) []steps.Arg {
	var out []steps.Arg
	for _, p := range m {
		out = append(out, steps.Arg{Name: p.Name, Value: plainOf(p.Value)})
	}
	return out
}

// plainOf returns a value as the language evaluates it.
func plainOf(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainOf(v[i])
		}
		return out
	case hclfile.Map:
		out := map[string]any{}
		for _, p := range v {
			out[p.Name] = plainOf(p.Value)
		}
		return out
	}
	return v
}

// TestGPUsOfArguments: the sizes of all kinds of parallelism are multiplied, under each of their names.
func TestGPUsOfArguments(t *testing.T) {
	for text, want := range map[string]int{
		"--tp 2 --dp 4":                        8,
		"--tp-size 2 --dp-size 4":              8,
		"--tp 4 --dp 4 --enable-dp-attention":  4,
		"--tensor-parallel-size 2 --pp-size 2": 4,
	} {
		d, s := &Definition{}, &server{}
		if err := d.read(s, append([]string{"python3", "-m", "sglang.launch_server", "--model-path", "m"}, strings.Fields(text)...)); err != nil {
			t.Fatal(err)
		}
		if s.gpus != want {
			t.Errorf("%s: %d GPUs, want %d", text, s.gpus, want)
		}
	}
}
