package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports/term"
	"github.com/zclconf/go-cty/cty"
)

// source is a parsed file with places to point at.
type source struct {
	t    *testing.T
	name string
	file *hcl.File
}

func parse(t *testing.T, name, src string) source {
	t.Helper()
	file, diags := hclparse.NewParser().ParseHCL([]byte(src), name)
	if file == nil {
		t.Fatal(diags)
	}
	return source{t, name, file}
}

func (s source) files() map[string]*hcl.File { return map[string]*hcl.File{s.name: s.file} }

// at is the range of the first occurrence of text.
func (s source) at(text string) hcl.Range {
	s.t.Helper()
	from := bytes.Index(s.file.Bytes, []byte(text))
	if from < 0 {
		s.t.Fatalf("no %q in the source", text)
	}
	return hcl.Range{Filename: s.name, Start: s.pos(from), End: s.pos(from + len(text))}
}

func (s source) pos(offset int) hcl.Pos {
	line := bytes.Count(s.file.Bytes[:offset], []byte("\n")) + 1
	start := bytes.LastIndexByte(s.file.Bytes[:offset], '\n') + 1
	return hcl.Pos{Line: line, Column: len([]rune(string(s.file.Bytes[start:offset]))) + 1, Byte: offset}
}

// expr is the expression of an attribute of the file's body.
func (s source) expr(attr string) hcl.Expression {
	s.t.Helper()
	attrs := s.file.Body.(*hclsyntax.Body).Attributes
	if attrs[attr] == nil {
		s.t.Fatalf("no attribute %q", attr)
	}
	return attrs[attr].Expr
}

func problem(code Code, at hcl.Range, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at, Extra: code}
}

const mooncake = `benchmark "serving" {
  matrix {
    target = [server.vllm.base.url]
    rate   = [1, 2, 4]
  }

  dataset = {
    kind  = "random"
    input = 1024
    output = 128
  }
}
`

// cases have one golden file of text and one of JSON each.
func cases(t *testing.T) map[string]struct {
	files map[string]*hcl.File
	diags hcl.Diagnostics
} {
	t.Helper()
	type one = struct {
		files map[string]*hcl.File
		diags hcl.Diagnostics
	}
	moon := parse(t, "mooncake.pipeline.hcl", mooncake)
	matrix := problem("P2104", moon.at("server.vllm.base.url"), "matrix axis is not known before the run",
		"server.vllm.base.url exists only after the server has started, so the number of cells cannot be planned. Use the server itself: "+
			"server.vllm.base.")
	warning := problem("P2201", moon.at("dataset"), "argument is on its way out",
		"Write a dataset block.\n\n  dataset \"random\" \"short\" {\n    input = 1024\n  }")
	warning.Severity = hcl.DiagWarning
	multi := problem("P2300", moon.at("{\n    kind  = \"random\"\n    input = 1024\n    output = 128\n  }"), "a dataset is a block", "")
	context := problem("P2301", moon.at("1, 2, 4"), "three rates are two too many", "")
	wider := moon.at("matrix {\n    target = [server.vllm.base.url]\n    rate   = [1, 2, 4]\n  }")
	context.Context = &wider

	values := parse(t, "values.hcl", "a = var.rate * var.token + var.list[0] + local.late + each.key + nosuch.x\n")
	atValues := problem("P2400", values.at("var.rate * var.token"), "the operands do not suit each other", "")
	atValues.Expression = values.expr("a")
	atValues.EvalContext = (&hcl.EvalContext{Variables: map[string]cty.Value{
		"var": cty.ObjectVal(map[string]cty.Value{
			"rate":  cty.NumberFloatVal(4.5),
			"token": cty.StringVal("hunter2").Mark("sensitive"),
			"list":  cty.ListVal([]cty.Value{cty.StringVal("hunter2").Mark("sensitive")}),
		}),
		"local": cty.ObjectVal(map[string]cty.Value{"late": cty.UnknownVal(cty.String)}),
	}}).NewChild()
	atValues.EvalContext.Variables = map[string]cty.Value{
		"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("line 1\n\x1b[31m" + strings.Repeat("x", 80))}),
	}

	wide := parse(t, "wide.hcl", "\tname\t= \"日本語のモデル\" + bad # 日本\nemoji = \"👍🏽 e\u0301\" + worse\n")
	long := parse(t, "long.hcl", "a = ["+strings.Repeat("\"left\", ", 60)+"bad_one, "+strings.Repeat("\"right\", ", 60)+"]\nb = "+
		strings.Repeat("x", 300)+"\n")
	evil := parse(t, "ev\x1b[2Jil.hcl", "a = \"x\x1b]0;title\x07\u202e\u009b31m\r\" + bad\r\n")

	return map[string]one{
		"simple":     {moon.files(), hcl.Diagnostics{matrix}},
		"sorted":     {moon.files(), hcl.Diagnostics{warning, matrix}},
		"multi-line": {moon.files(), hcl.Diagnostics{multi}},
		"context":    {moon.files(), hcl.Diagnostics{context}},
		"values":     {values.files(), hcl.Diagnostics{atValues}},
		"wide": {wide.files(), hcl.Diagnostics{
			problem("P1", wide.at("bad"), "after tabs and wide characters", ""),
			problem("P1", wide.at("worse"), "after an emoji and a combining mark", ""),
			problem("P1", wide.at("本語"), "at wide characters", ""),
		}},
		"long": {long.files(), hcl.Diagnostics{
			problem("P1", long.at("bad_one"), "in the middle of a long line", ""),
			problem("P1", long.at("\"left\""), "at the start of a long line", ""),
			problem("P1", long.at("\"right\", ]"), "at the end of a long line", ""),
			problem("P1", long.at(strings.Repeat("x", 300)), "longer than a line", ""),
		}},
		"control": {evil.files(), hcl.Diagnostics{
			problem("P1\x1b", evil.at("bad"), "summary with \x1b[31mcolour\x1b[0m", "detail with\x07 a bell\r\nand a C1 \u009b31m"),
		}},
		"no-place": {nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "no pipeline file is named", Detail: "Name a file.",
			Extra: Code("P1002")}}},
		"no-source": {nil, hcl.Diagnostics{problem("P1", hcl.Range{Filename: "gone.hcl", Start: hcl.Pos{Line: 7, Column: 3},
			End: hcl.Pos{Line: 7, Column: 9}}, "the file is gone", "It was there before.")}},
		"no-detail": {moon.files(), hcl.Diagnostics{{Severity: hcl.DiagWarning, Summary: "only a summary"}}},
		"end-of-file": {moon.files(), hcl.Diagnostics{
			problem("P1", hcl.Range{Filename: moon.name, Start: moon.pos(len(mooncake)), End: moon.pos(len(mooncake))},
				"something is missing here", ""),
		}},
		"none": {nil, nil},
	}
}

func TestGolden(t *testing.T) {
	for name, tt := range cases(t) {
		t.Run(name, func(t *testing.T) {
			var text, structured strings.Builder
			if err := Text(&text, tt.files, tt.diags, Options{}); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, "testdata/"+name+".txt", text.String())
			if err := JSON(&structured, tt.files, tt.diags); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, "testdata/"+name+".json", structured.String())
		})
	}
}

func TestColor(t *testing.T) {
	tt := cases(t)["sorted"]
	var b strings.Builder
	if err := Text(&b, tt.files, tt.diags, Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/color.txt", b.String())
}

// At any width from the least one on no line is longer, and no control character is left.
func TestWidths(t *testing.T) {
	for name, tt := range cases(t) {
		for _, width := range []int{1, 40, 57, 80, 200} {
			var b strings.Builder
			if err := Text(&b, tt.files, tt.diags, Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(b.String(), "\n") {
				if n := term.Width(line); n > max(width, leastWidth) {
					t.Errorf("%s at width %d: %d columns: %q", name, width, n, line)
				}
				if term.Escape(line) != line {
					t.Errorf("%s: control characters in %q", name, line)
				}
			}
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	tt := cases(t)["values"]
	var b strings.Builder
	if err := errors.Join(
		Text(&b, tt.files, tt.diags, Options{}),
		JSON(&b, tt.files, tt.diags),
	); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "hunter2") {
		t.Error("the secret is shown")
	}
	if strings.Count(b.String(), "(sensitive value)") != 4 { // two variables, in text and JSON
		t.Error("it is not said that values are sensitive")
	}
}

// The offsets of a highlight mark what was marked in the source.
func TestHighlight(t *testing.T) {
	for name, tt := range cases(t) {
		for _, d := range New(tt.files, tt.diags).Diagnostics {
			if d.Snippet == nil {
				continue
			}
			s := d.Snippet
			if s.HighlightStart < 0 || s.HighlightEnd < s.HighlightStart || s.HighlightEnd > len(s.Code) {
				t.Fatalf("%s: offsets %d to %d of %d", name, s.HighlightStart, s.HighlightEnd, len(s.Code))
			}
			src := string(tt.files[d.Range.Filename].Bytes[d.Range.Start.Byte:d.Range.End.Byte])
			got := s.Code[s.HighlightStart:s.HighlightEnd]
			if len(src) < maxLineBytes/2 && got != src {
				t.Errorf("%s: %q is marked instead of %q", name, got, src)
			}
		}
	}
}

func TestNoWorkflowCommands(t *testing.T) {
	src := parse(t, "x.hcl", "a = bad # ##[error]x\n")
	diags := hcl.Diagnostics{problem("P1", src.at("bad"), "::error::summary", "::error::detail\n ::error::laid out")}
	var b strings.Builder
	if err := Text(&b, src.files(), diags, Options{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Errorf("a workflow command: %q", line)
		}
	}
}

func TestCodes(t *testing.T) {
	type other struct{}
	diags := WithCode(hcl.Diagnostics{
		{Summary: "none"}, {Summary: "its own", Extra: Code("P2")}, {Summary: "another extra", Extra: other{}},
	}, "P1")
	var got []Code
	for _, d := range diags {
		got = append(got, Of(d))
	}
	if d := cmp.Diff([]Code{"P1", "P2", "P1"}, got); d != "" {
		t.Error(d)
	}
	if _, ok := hcl.DiagnosticExtra[other](diags[2]); !ok {
		t.Error("the other extra is lost")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrors(t *testing.T) {
	diags := hcl.Diagnostics{{Summary: "x"}}
	if err := Text(failing{}, nil, diags, Options{}); err == nil {
		t.Error("Text hides the error")
	}
	if err := JSON(failing{}, nil, diags); err == nil {
		t.Error("JSON hides the error")
	}
}

// FuzzText points anywhere into any source.
func FuzzText(f *testing.F) {
	f.Add([]byte(mooncake), 10, 20, 0, 60, 40)
	f.Add([]byte("a\r\n\tb\xff日本\n"), 3, 9, 1, 2, 1)
	f.Add([]byte(strings.Repeat("x", 1000)), 500, 999, 500, 500, 80)
	f.Fuzz(func(t *testing.T, src []byte, from, to, ctxFrom, ctxTo, width int) {
		file := &hcl.File{Bytes: src, Body: hcl.EmptyBody()}
		d := problem("P1", rangeOf(src, from, to), string(src), string(src))
		context := rangeOf(src, ctxFrom, ctxTo)
		d.Context = &context
		var b strings.Builder
		files := map[string]*hcl.File{"f": file}
		if err := Text(&b, files, hcl.Diagnostics{d}, Options{Width: width % 300}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(b.String(), "##\u2060[", "##["), "\n") {
			if term.Escape(line) != line {
				t.Fatalf("control characters in %q", line)
			}
		}
		b.Reset()
		if err := JSON(&b, files, hcl.Diagnostics{d}); err != nil {
			t.Fatal(err)
		}
		var out Output
		if err := json.Unmarshal([]byte(b.String()), &out); err != nil {
			t.Fatal(err)
		}
		if s := out.Diagnostics[0].Snippet; s != nil && (s.HighlightStart < 0 || s.HighlightEnd > len(s.Code) ||
			s.HighlightEnd < s.HighlightStart) {
			t.Fatalf("offsets %d to %d of %d", s.HighlightStart, s.HighlightEnd, len(s.Code))
		}
	})
}

// rangeOf is a range with true lines where the offsets lie in src, and any otherwise.
func rangeOf(src []byte, from, to int) hcl.Range {
	pos := func(at int) hcl.Pos {
		n := max(0, min(at, len(src)))
		return hcl.Pos{Line: bytes.Count(src[:n], []byte("\n")) + 1, Column: 1, Byte: at}
	}
	return hcl.Range{Filename: "f", Start: pos(from), End: pos(to)}
}
