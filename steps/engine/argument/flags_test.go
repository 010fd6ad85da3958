package argument_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"pgregory.net/rapid"
)

func TestFlags(t *testing.T) {
	style := argument.FlagStyle{
		Repeat:   map[string]bool{"middleware": true},
		JSON:     func(name string) bool { return name == "allowed_origins" },
		Reserved: map[string]string{"port": "set port"},
	}
	negate := style
	negate.False = func(name string) argument.FalseForm {
		if name == "written_out" {
			return argument.WriteFalse
		}
		return argument.NegateFalse
	}
	tests := []struct {
		name  string
		args  []steps.Arg
		style argument.FlagStyle
		want  string
		err   string
	}{
		{name: "scalars in order", args: []steps.Arg{{Name: "max_model_len", Value: int64(8192)}, {Name: "dtype", Value: "bfloat16"},
			{Name: "gpu_memory_utilization", Value: 0.85}}, want: "--max-model-len 8192 --dtype bfloat16 --gpu-memory-utilization 0.85"},
		{name: "large number", args: []steps.Arg{{Name: "n", Value: 1e9}}, want: "--n 1000000000"},
		{name: "true", args: []steps.Arg{{Name: "enforce_eager", Value: true}}, want: "--enforce-eager"},
		{name: "false left out", args: []steps.Arg{{Name: "enforce_eager", Value: false}}, want: ""},
		{name: "false negated", args: []steps.Arg{{Name: "enforce_eager", Value: false}}, style: negate, want: "--no-enforce-eager"},
		{name: "false written", args: []steps.Arg{{Name: "written-out", Value: false}}, style: negate, want: "--written-out=False"},
		{name: "no no", args: []steps.Arg{{Name: "no_enable_x", Value: false}}, style: negate,
			err: "args.no_enable_x: false would negate twice; write enable_x = true"},
		{name: "null", args: []steps.Arg{{Name: "x", Value: nil}}, want: ""},
		{name: "list", args: []steps.Arg{{Name: "cuda_graph_bs", Value: []any{int64(1), int64(2), int64(4)}}}, want: "--cuda-graph-bs 1 2 4"},
		{name: "repeated list", args: []steps.Arg{{Name: "middleware", Value: []any{"a", "b"}}}, want: "--middleware a --middleware b"},
		{name: "json list", args: []steps.Arg{{Name: "allowed_origins", Value: []any{"*"}}}, want: `--allowed-origins ["*"]`},
		{name: "empty list", args: []steps.Arg{{Name: "x", Value: []any{}}},
			err: "args.x: is an empty list, which no flag can say; use null to leave the flag out"},
		{name: "map", args: []steps.Arg{{Name: "kv_transfer_config", Value: map[string]any{"kv_role": "kv_both",
			"a": []any{int64(1), true, nil}, "q": "<&>"}}}, want: `--kv-transfer-config {"a":[1,true,null],"kv_role":"kv_both","q":"<&>"}`},
		{name: "dotted", args: []steps.Arg{{Name: "kv_transfer_config.kv_role", Value: "kv_producer"}},
			want: "--kv-transfer-config.kv_role kv_producer"},
		{name: "negative value", args: []steps.Arg{{Name: "x", Value: int64(-1)}}, want: "--x=-1"},
		{name: "value like a flag", args: []steps.Arg{{Name: "x", Value: "--help"}}, want: "--x=--help"},
		{name: "element like a flag", args: []steps.Arg{{Name: "x", Value: []any{"--help"}}},
			err: `args.x: [0]: "--help" begins with a dash and would be read as a flag`},
		{name: "dashes", args: []steps.Arg{{Name: "--max-len", Value: "1"}}, err: "args: write max_len instead of --max-len"},
		{name: "strange name", args: []steps.Arg{{Name: "a b", Value: "1"}},
			err: `args: "a b" is not the name of a flag; names have letters, digits, underscores, dashes and dots`},
		{name: "reserved", args: []steps.Arg{{Name: "port", Value: int64(1)}}, err: "args: port cannot be set here; set port"},
		{name: "twice", args: []steps.Arg{{Name: "a_b", Value: "1"}, {Name: "a-b", Value: "2"}},
			err: "args: a_b and a-b are the same flag --a-b"},
		{name: "zero byte", args: []steps.Arg{{Name: "x", Value: "a\x00"}}, err: "args.x: contains a zero byte"},
		{name: "other type", args: []steps.Arg{{Name: "x", Value: struct{}{}}},
			err: "args.x: is a struct {}; it must be a string, a number, a bool, a list or an object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.style
			if s.Reserved == nil {
				s = style
			}
			got, err := argument.Flags(tt.args, s)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("got error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever a file says, a value never becomes a flag of its own.
func TestFlagsNeverInventFlags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Float64(), func(f float64) any { return f }),
			rapid.Map(rapid.Int64(), func(i int64) any { return i }),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any {
				list := make([]any, len(s))
				for i := range s {
					list[i] = s[i]
				}
				return list
			}),
		).Draw(t, "value")
		style := argument.FlagStyle{False: func(string) argument.FalseForm { return argument.NegateFalse }}
		argv, err := argument.Flags([]steps.Arg{{Name: "some_flag", Value: value}}, style)
		if err != nil {
			return
		}
		for i, word := range argv {
			own := word == "--some-flag" || word == "--no-some-flag" || strings.HasPrefix(word, "--some-flag=")
			if strings.HasPrefix(word, "-") && (!own || i > 0) {
				t.Fatalf("word %d of %q is read as a flag", i, argv)
			}
		}
	})
}
