package lang_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/zclconf/go-cty/cty"
)

// write puts one pipeline file into a folder of its own and returns its path.
func write(tb testing.TB, src string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "main.pipeline.hcl")
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

// load loads a file that must be valid.
func load(tb testing.TB, src string) *lang.Config {
	tb.Helper()
	cfg, diags := lang.Load(lang.Options{Paths: []string{write(tb, src)}, Registry: testRegistry(tb)})
	if len(diags) > 0 {
		tb.Fatal(diags)
	}
	return cfg
}

func TestTheLastValueOfAVariableWins(t *testing.T) {
	path := write(t, `
variable "a" { default = "default" }
variable "b" { default = "default" }
variable "c" { default = "default" }
variable "d" { default = "default" }
`)
	dir := filepath.Dir(path)
	first := filepath.Join(dir, "first.vars")
	second := filepath.Join(dir, "second.json")
	if err := os.WriteFile(first, []byte("b = \"first\"\nc = \"first\"\nd = \"first\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(second, []byte(`{"c": "second", "d": "second"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{
		Paths: []string{path}, Registry: testRegistry(t),
		Env: func() []string {
			return []string{"PIPELINE_VAR_a=env", "PIPELINE_VAR_b=env", "PIPELINE_VAR_d=env", "PIPELINE_VAR_unknown=x", "HOME=/"}
		},
		VarFiles: []string{first, second},
		Vars:     []lang.VarArg{{Name: "d", Text: "one", Origin: "--var"}, {Name: "d", Text: "two", Origin: "--var"}},
	})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	want := map[string][2]string{
		"a": {"env", "PIPELINE_VAR_a"}, "b": {"first", "--var-file " + first},
		"c": {"second", "--var-file " + second}, "d": {"two", "--var"},
	}
	for _, v := range cfg.Variables {
		if got := [2]string{v.Value.AsString(), v.Origin}; got != want[v.Name] {
			t.Errorf("var.%s = %q, want %q", v.Name, got, want[v.Name])
		}
	}
}

func TestTextsAreParsedByTheDeclaredType(t *testing.T) {
	tests := []struct {
		typ, text string
		want      cty.Value // NilVal: refused
	}{
		{"string", `["a"]`, cty.StringVal(`["a"]`)},
		{"any", "5", cty.StringVal("5")},
		{"number", "5", cty.NumberIntVal(5)},
		{"number", "-0.5", cty.NumberFloatVal(-0.5)},
		{"number", "five", cty.NilVal},
		{"bool", "true", cty.True},
		{"bool", "yes", cty.NilVal},
		{"list(string)", `["a", "b"]`, cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})},
		{"list(number)", "[1]\nother = 2", cty.NilVal},
		{"map(number)", `{"a": 1}`, cty.MapVal(map[string]cty.Value{"a": cty.NumberIntVal(1)})},
		{"map(number)", `{a = 1}`, cty.MapVal(map[string]cty.Value{"a": cty.NumberIntVal(1)})},
		{"list(string)", `[upper("a")]`, cty.NilVal},
		{"list(string)", strings.Repeat("[", 5000), cty.NilVal},
		{"object({ a = optional(number, 3) })", "{}", cty.ObjectVal(map[string]cty.Value{"a": cty.NumberIntVal(3)})},
	}
	for _, tt := range tests {
		t.Run(tt.typ+" "+tt.text[:min(10, len(tt.text))], func(t *testing.T) {
			path := write(t, "variable \"v\" {\n  type = "+tt.typ+"\n}\n")
			cfg, diags := lang.Load(lang.Options{
				Paths: []string{path}, Registry: testRegistry(t), Vars: []lang.VarArg{{Name: "v", Text: tt.text, Origin: "--var"}},
			})
			switch {
			case tt.want == cty.NilVal && !diags.HasErrors():
				t.Fatalf("taken as %#v", cfg.Variables[0].Value)
			case tt.want == cty.NilVal:
			case diags.HasErrors():
				t.Fatal(diags)
			case !cfg.Variables[0].Value.RawEquals(tt.want):
				t.Errorf("got %#v, want %#v", cfg.Variables[0].Value, tt.want)
			}
		})
	}
}

// A variable without a type takes a text as its default is: what is written in the file as
// a number is a number when it is given.
func TestTextsAreLikeAnUntypedDefault(t *testing.T) {
	tests := []struct {
		def, text string
		want      cty.Value
	}{
		{"0.05", "0.1", cty.NumberFloatVal(0.1)},
		{"4", "many", cty.StringVal("many")},
		{"false", "true", cty.True},
		{`"4"`, "5", cty.StringVal("5")},
		{"[1]", "[2, 3]", cty.TupleVal([]cty.Value{cty.NumberIntVal(2), cty.NumberIntVal(3)})},
		{"[1]", "2", cty.StringVal("2")},
		{"{ a = 1 }", "{ b = 2 }", cty.ObjectVal(map[string]cty.Value{"b": cty.NumberIntVal(2)})},
		{"{ a = 1 }", "4", cty.StringVal("4")},
		{"[1]", "[", cty.StringVal("[")},
		{"null", "5", cty.StringVal("5")},
	}
	for _, tt := range tests {
		t.Run(tt.def+" "+tt.text, func(t *testing.T) {
			path := write(t, "variable \"v\" {\n  default = "+tt.def+"\n}\n")
			cfg, diags := lang.Load(lang.Options{
				Paths: []string{path}, Registry: testRegistry(t), Vars: []lang.VarArg{{Name: "v", Text: tt.text, Origin: "--var"}},
			})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if got := cfg.Variables[0].Value; !got.RawEquals(tt.want) {
				t.Errorf("got %#v, want %#v", got, tt.want)
			}
		})
	}
}

func TestNullMeansTheDefaultWhereItIsNoValue(t *testing.T) {
	src := `
variable "yes" {
  type    = string
  default = "x"
}

variable "no" {
  type     = string
  default  = "x"
  nullable = false
}

variable "must" {
  type     = string
  nullable = false
}
`
	path := write(t, src)
	vars := filepath.Join(filepath.Dir(path), "null.vars")
	if err := os.WriteFile(vars, []byte("yes = null\nno = null\nmust = null\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{Paths: []string{path}, Registry: testRegistry(t), VarFiles: []string{vars}})
	if len(diags) != 1 || !strings.Contains(diags[0].Summary, "var.must") {
		t.Errorf("want one problem, of var.must, got %v", diags)
	}
	if v := cfg.Variables[0].Value; !v.IsNull() {
		t.Errorf("var.yes = %#v, want null", v)
	}
	if v := cfg.Variables[1].Value; !v.RawEquals(cty.StringVal("x")) {
		t.Errorf("var.no = %#v, want the default", v)
	}
}

func TestSecretsAreCollected(t *testing.T) {
	path := write(t, `
variable "token" {
  type      = string
  sensitive = true
}

variable "keys" {
  type      = list(string)
  sensitive = true
  default   = ["first-key-of-two", "short"]
}

variable "open" {
  default = "no secret at all"
}

server "vllm" "sut" {
  executable = "vllm"
  model      = "m"
  env        = { AUTH = "Basic ${base64encode(var.token)}", OPEN = var.open }
}
`)
	cfg, diags := lang.Load(lang.Options{
		Paths: []string{path}, Registry: testRegistry(t), Vars: []lang.VarArg{{Name: "token", Text: "hunter2-hunter2", Origin: "--var"}},
	})
	// Of what is too short to be masked without blanking out words there is a warning.
	if len(diags) != 1 || diags.HasErrors() || !strings.Contains(diags[0].Summary, "var.keys is too short to be hidden") {
		t.Fatal(diags)
	}
	want := "Basic aHVudGVyMi1odW50ZXIy|aHVudGVyMi1odW50ZXIy|first-key-of-two|hunter2-hunter2"
	if got := strings.Join(cfg.Secrets, "|"); got != want {
		t.Errorf("secrets %q, want %q", got, want)
	}
	for _, e := range cfg.Servers[0].Spec.Env {
		if e.Secret != (e.Name == "AUTH") {
			t.Errorf("%s: secret %v", e.Name, e.Secret)
		}
	}
}

// Arguments that are shown can hold secrets, too: keys of commands, passwords of addresses, nested fields.
func TestSecretsOfArguments(t *testing.T) {
	path := write(t, `
variable "plain" {
  default = "hunter2-hunter2"
}

server "vllm" "sut" {
  executable = ["vllm", "--api-key", "first-key-1", "--hf-token=${var.plain}", "sh -c 'API_KEY=third-key-3 run'"]
  model      = "m"
  args = {
    default_headers = ["X-Auth-Token: fourth-key-4"]
    hf_overrides    = { password = "fifth-key-5", layers = 2 }
    upstream        = "https://bob:sixth-key-6@h/?token=seventh-key-7"
    eos_token       = "<|im_end2Xy|>"
  }
}
`)
	cfg, diags := lang.Load(lang.Options{Paths: []string{path}, Registry: testRegistry(t)})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, want := range []string{
		"first-key-1", "hunter2-hunter2", "third-key-3", "fourth-key-4", "fifth-key-5", "sixth-key-6", "seventh-key-7",
	} {
		if !slices.Contains(cfg.Secrets, want) {
			t.Errorf("secrets %q, want %s among them", cfg.Secrets, want)
		}
	}
	for _, no := range []string{"vllm", "<|im_end2Xy|>", "sut"} {
		if slices.Contains(cfg.Secrets, no) {
			t.Errorf("%s is masked", no)
		}
	}
}

// Whatever a file does with a secret, no diagnostic quotes it.
func TestDiagnosticsHideSecrets(t *testing.T) {
	const secret = "correct-horse-battery"
	uses := []string{
		`tonumber(var.s)`, `jsondecode(var.s)`, `{ a = 1 }[var.s]`, `[1][var.s]`, `duration(var.s)`, `bytes(var.s)`,
		`percent(var.s)`, `file(var.s)`, `regex("(", var.s)`, `format("%d", var.s)`, `parseint(var.s, 10)`, `var.s + 1`,
		`var.s.x`, `var.s ? 1 : 2`, `server.vllm.sut[var.s]`, `lookup({}, var.s)`, `formatlist("%d", [var.s])`, `zipmap([var.s], [1, 2])`,
	}
	for _, use := range uses {
		src := "variable \"s\" {\n  sensitive = true\n}\n\nserver \"vllm\" \"sut\" {\n  for_each = { a = 1 }\n  executable = \"x\"\n  model = " + use + "\n}\n"
		if use == "server.vllm.sut[var.s]" {
			src = strings.Replace(src, "model = "+use, "model = \"m\"\n}\n\nlocals {\n  x = "+use, 1)
		}
		cfg, diags := lang.Load(lang.Options{
			Paths: []string{write(t, src)}, Registry: testRegistry(t), Vars: []lang.VarArg{{Name: "s", Text: secret, Origin: "--var"}},
		})
		if !diags.HasErrors() {
			t.Errorf("%s: no problem found", use)
		}
		if text := render(t, cfg, diags); strings.Contains(text, secret) {
			t.Errorf("%s: the secret is shown:\n%s", use, text)
		}
	}
}
