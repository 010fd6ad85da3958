package lang_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
)

// Every file of testdata/valid means the same in the JSON syntax.
func TestJSONMeansWhatHCLMeans(t *testing.T) {
	files, err := filepath.Glob("testdata/valid/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			opt := lang.Options{Paths: []string{file}, Registry: testRegistry(t), Formats: formats, Version: "0.3.0", Vars: vars(t, file)}
			native, diags := lang.Load(opt)
			if len(diags) > 0 {
				t.Fatal(render(t, native, diags))
			}
			opt.Paths = []string{writeJSON(t, beside(t, filepath.Dir(file)), file)}
			fromJSON, diags := lang.Load(opt)
			if len(diags) > 0 {
				t.Fatal(render(t, fromJSON, diags))
			}
			if d := cmp.Diff(asText(t, describe(native)), asText(t, describe(fromJSON))); d != "" {
				t.Error(d)
			}
		})
	}
}

// The same is wrong with every folder of testdata/invalid in the JSON syntax.
func TestJSONHasTheProblemsOfHCL(t *testing.T) {
	for _, dir := range folders(t, "testdata/invalid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			switch filepath.Base(dir) {
			case "bad_labels", "misplaced_block":
				t.Skip("a block and an argument that holds an object are written alike")
			}
			opt := lang.Options{Paths: []string{dir}, Registry: testRegistry(t), Formats: formats, Version: "0.3.0", Vars: vars(t, dir),
				VarFiles: optional(filepath.Join(dir, "given.vars"))}
			native, diags := lang.Load(opt)
			want := summaries(diags)
			if strings.HasPrefix(want[0], "P100") {
				t.Skip("not parsed")
			}
			opt.Paths = nil
			to := beside(t, dir)
			for _, f := range native.Sources.Files {
				opt.Paths = append(opt.Paths, writeJSON(t, to, f.Name))
			}
			fromJSON, diags := lang.Load(opt)
			if d := cmp.Diff(want, summaries(diags)); d != "" {
				t.Errorf("%s\n%s", d, render(t, fromJSON, diags))
			}
		})
	}
}

// A problem of a file in the JSON syntax has its place there.
func TestJSONProblemsHavePlaces(t *testing.T) {
	const deep = 200
	for name, tt := range map[string]struct{ src, want string }{
		"not JSON": {`{"locals": {`, "P1006 Missing value at 1:13"},
		"too deep": {`{"locals": {"a": ` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}}`,
			"P1005 nested too deeply at 1:116"},
		"deep template": {`{"locals": {"a": "${` + strings.Repeat("(", deep) + "1" + strings.Repeat(")", deep) + `}"}}`,
			"P1005 nested too deeply at 1:120"},
		"huge number":       {`{"locals": {"a": 1e9999}}`, "P1005 number is too large at 1:18"},
		"argument twice":    {"{\"locals\": {\"a\": 1,\n\"a\": 2}}", "P2004 a is there twice at 2:1"},
		"key twice":         {`{"locals": {"a": {"b": 1, "b": 2}}}`, "P2004 b is there twice at 1:27"},
		"behind an escape":  {`{"locals": {"a": "\"\n\u00e9\ud83d\ude00 ${var.none}"}}`, "P2101 unknown reference var.none at 1:44"},
		"no name":           {`{"dataset": {"random": 1}}`, "P2001 dataset must be an object at 1:24"},
		"unknown kind":      {`{"dataset": {"randm": {"a": {}}}}`, `P2005 unknown dataset kind "randm" at 1:14`},
		"broken expression": {`{"locals": {"a": "${1 +}"}}`, "P1006 Invalid expression at 1:24"},
		"comment":           {`{"//": "why", "$schema": "x", "locals": {"//": "why", "a": 1}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := lang.Load(lang.Options{Paths: []string{"-"}, Stdin: strings.NewReader(tt.src), Registry: testRegistry(t)})
			got := ""
			if len(diags) > 0 {
				got = fmt.Sprintf("%s at %d:%d", summaries(diags[:1])[0], diags[0].Subject.Start.Line, diags[0].Subject.Start.Column)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Whatever the bytes, a file in the JSON syntax is read or refused.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"server": {"vllm": {"a": {"for_each": {"x": 1}, "args": {"b": "${each.value}"}}}}}`))
	f.Add([]byte(`{"locals": {"a": "\u00e9\ud83d\\\"${var.x}", "b": [1, null, {"c": "%{ if true }x%{ endif }"}]}}`))
	f.Add([]byte(strings.Repeat("\x8e", 500)))
	f.Add([]byte(`{"deployment": {"d": {"router": {"round_robin": {"x": {}}}}}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		src = append([]byte("{"), src...)
		cfg, diags := lang.Load(lang.Options{Paths: []string{"-"}, Stdin: strings.NewReader(string(src)), Registry: testRegistry(t)})
		render(t, cfg, diags)
	})
}

func summaries(diags hcl.Diagnostics) []string {
	var out []string
	for _, d := range diags {
		out = append(out, string(diag.Of(d))+" "+d.Summary)
	}
	slices.Sort(out)
	return out
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// beside is a copy of a folder, for files that are read by relative paths.
func beside(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// writeJSON writes a file of the native syntax in the JSON syntax, in a folder.
func writeJSON(t *testing.T, dir, from string) string {
	t.Helper()
	src, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	file, diags := hclsyntax.ParseConfig(src, from, hcl.InitialPos)
	if diags.HasErrors() {
		t.Skip(diags)
	}
	text := asText(t, translator(src).body(file.Body.(*hclsyntax.Body), ""))
	to := filepath.Join(dir, filepath.Base(from)+".json")
	if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// translator writes the native syntax as JSON, from its source.
type translator []byte

// body is a body as an object, whose members keep their order.
func (s translator) body(b *hclsyntax.Body, typ string) ordered {
	var out ordered
	for _, a := range b.Attributes {
		value := s.value(a.Expr)
		if a.Name == "extends" || a.Name == "type" && typ == "variable" {
			value = s.source(a.Expr)
		}
		out = append(out, member{a.Name, value, a.SrcRange.Start.Byte})
	}
	for _, block := range b.Blocks {
		var value any = s.body(block.Body, block.Type)
		for _, label := range slices.Backward(block.Labels) {
			value = ordered{{label, value, 0}}
		}
		at := slices.IndexFunc(out, func(m member) bool { return m.name == block.Type && m.isBlock() })
		if at < 0 {
			out = append(out, member{block.Type, []any{}, block.TypeRange.Start.Byte})
			at = len(out) - 1
		}
		out[at].value = append(out[at].value.([]any), value)
	}
	slices.SortStableFunc(out, func(x, y member) int { return x.at - y.at })
	return out
}

func (s translator) source(e hclsyntax.Expression) string { return string(e.Range().SliceBytes(s)) }

func (s translator) value(e hclsyntax.Expression) any {
	switch x := e.(type) {
	case *hclsyntax.TemplateExpr:
		if x.IsStringLiteral() {
			v, _ := x.Value(nil)
			return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v.AsString())
		}
	case *hclsyntax.LiteralValueExpr:
		return json.RawMessage(s.source(x))
	case *hclsyntax.TupleConsExpr:
		out := []any{}
		for _, elem := range x.Exprs {
			out = append(out, s.value(elem))
		}
		return out
	case *hclsyntax.ObjectConsExpr:
		out := ordered{}
		for _, item := range x.Items {
			key, diags := item.KeyExpr.Value(nil)
			if diags.HasErrors() {
				return "${" + s.source(x) + "}"
			}
			out = append(out, member{key.AsString(), s.value(item.ValueExpr), 0})
		}
		return out
	}
	return "${" + s.source(e) + "}"
}

// ordered is an object whose members keep their order.
type ordered []member

type member struct {
	name  string
	value any
	at    int
}

func (m member) isBlock() bool { _, ok := m.value.([]any); return ok }

func (o ordered) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, m := range o {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	return []byte("{" + b.String() + "}"), nil
}
