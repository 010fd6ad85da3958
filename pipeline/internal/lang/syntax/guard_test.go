package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
)

// bombs are sources that overflow the parser's stack or keep it busy for minutes once
// they are long enough; each function makes one of about n bytes.
var bombs = map[string]func(n int) string{
	"lists":           func(n int) string { return "a = " + strings.Repeat("[", n) },
	"closed lists":    func(n int) string { return "a = " + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"objects":         func(n int) string { return "a = " + strings.Repeat("{b=", n/3) },
	"parentheses":     func(n int) string { return "a = " + strings.Repeat("(\n", n/2) },
	"calls":           func(n int) string { return "a = " + strings.Repeat("f(", n/2) },
	"blocks":          func(n int) string { return strings.Repeat("a {\n", n/4) },
	"interpolations":  func(n int) string { return "a = " + strings.Repeat(`"${`, n/3) },
	"heredocs":        func(n int) string { return "a = " + strings.Repeat("<<A\n${", n/6) },
	"if directives":   func(n int) string { return `a = "` + strings.Repeat("%{if x}", n/7) + `"` },
	"for directives":  func(n int) string { return `a = "` + strings.Repeat("%{for x in y}", n/13) + `"` },
	"mixed brackets":  func(n int) string { return "a = " + strings.Repeat(`[{a=("${`, n/8) },
	"not":             func(n int) string { return "a = " + strings.Repeat("!", n) + "x" },
	"negate":          func(n int) string { return "a = " + strings.Repeat("- ", n/2) + "1" },
	"negate, comment": func(n int) string { return "a = " + strings.Repeat("-/**/", n/5) + "1" },
	"not, newlines":   func(n int) string { return "a = (" + strings.Repeat("!\n", n/2) + "x)" },
	"not, for object": func(n int) string { return "a = {for k, v in x : k => " + strings.Repeat("!\n", n/2) + "v}" },
	"conditional":     func(n int) string { return "a = " + strings.Repeat("x?y:", n/4) + "z" },
	"conditional, in": func(n int) string { return "a = " + strings.Repeat("x?", n/2) + "z" },
	"sum":             func(n int) string { return "a = 1" + strings.Repeat("+1", n/2) },
	"and":             func(n int) string { return "a = x" + strings.Repeat("&&x", n/3) },
	"index":           func(n int) string { return "a = x" + strings.Repeat("[y]", n/3) },
	"splat":           func(n int) string { return "a = x" + strings.Repeat("[*]", n/3) },
	"legacy splat":    func(n int) string { return "a = x" + strings.Repeat(".*", n/2) },
	"late sums": func(n int) string {
		return "a = " + strings.Repeat("(", 90) + "1" + strings.Repeat(strings.Repeat("+1", n/180)+")", 90)
	},
	"heredoc lines":       func(n int) string { return "a = <<A\n" + strings.Repeat("x\n", n/2) + "A\n" },
	"flush heredoc lines": func(n int) string { return "a = <<-A\n" + strings.Repeat(" x\n", n/3) + "A\n" },
	"string parts":        func(n int) string { return `a = "` + strings.Repeat("${x}y", n/5) + `"` },
	"dollars":             func(n int) string { return `a = "` + strings.Repeat("$", n) + `"` },
}

func TestBombsAreRefused(t *testing.T) {
	for name, bomb := range bombs {
		if name == "dollars" {
			continue // harmless or refused: only the time counts, below
		}
		t.Run(name, func(t *testing.T) {
			diags := check("x.hcl", []byte(bomb(60_000)))
			if len(diags) != 1 || diag.Of(diags[0]) != CodeNesting || diags[0].Subject == nil {
				t.Fatalf("want one %s with a place, got %v", CodeNesting, diags)
			}
		})
	}
}

// Just below the limits the parser is called, and must come back.
func TestBombsBelowTheLimitsParse(t *testing.T) {
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			// The largest size that passes, by doubling and bisection.
			lo, hi := 1, 2
			for hi < 60_000 && !check("x.hcl", []byte(bomb(hi))).HasErrors() {
				lo, hi = hi, 2*hi
			}
			for lo+1 < hi {
				if mid := (lo + hi) / 2; check("x.hcl", []byte(bomb(mid))).HasErrors() {
					hi = mid
				} else {
					lo = mid
				}
			}
			file, _ := hclparse.NewParser().ParseHCL([]byte(bomb(lo)), "x.hcl")
			if file == nil {
				t.Fatal("no file")
			}
			attrs, _ := file.Body.JustAttributes()
			for _, attr := range attrs {
				attr.Expr.Variables()
				attr.Expr.Value(&hcl.EvalContext{})
			}
		})
	}
}

func TestHugeNumbersAreRefused(t *testing.T) {
	for src, refused := range map[string]bool{
		"a = 1e999999999\n":                        true,
		"a = 1E+1000\n":                            true,
		"a = 1e-0001000\n":                         true,
		"a = " + strings.Repeat("9", 401) + "\n":   true,
		"a = 1e999\n":                              false,
		"a = 18446744073709551615.0000000000001\n": false,
		"# 1e9999\n":                               false,
	} {
		if got := check("x.hcl", []byte(src)).HasErrors(); got != refused {
			t.Errorf("%.40q: refused %v", src, got)
		}
	}
}

func TestHarmlessFilesPass(t *testing.T) {
	tests := map[string]string{
		"many attributes":          repeatf(3000, "a%d = 1 + 2 * (3 - 4) # note\n"),
		"many blocks":              repeatf(3000, "b \"n%d\" {\n  c = !x && y ? [1, 2] : {}\n}\n"),
		"a long list":              "a = [\n" + strings.Repeat("  -1 + 2,\n", 5000) + "]\n",
		"a long list of lists":     "a = [" + strings.Repeat("[[1], [2]],", 5000) + "]\n",
		"a long object":            "a = {\n" + repeatf(5000, "  k%d = x ? y : -z\n") + "}\n",
		"an object with comments":  "a = {\n" + repeatf(5000, "  k%d = -x // why\n") + "}\n",
		"a long traversal":         "a = b" + strings.Repeat(".c", 5000) + "\n",
		"a long heredoc":           "a = <<A\n" + strings.Repeat("line ${x}\n", 3000) + "A\n",
		"many directives":          `a = "` + strings.Repeat("%{if x}y%{else}z%{endif}", 1000) + "\"\n",
		"directive with operators": "a = \"%{ for x in y ~}${x + 1}%{ endfor ~}\"\n",
		"a key named for_each":     "a {\n  for_each = x\n" + repeatf(2000, "  k%d = -1\n") + "}\n",
		"brackets in comments":     strings.Repeat("# [[[[[[[[[[[[((((\n", 1000),
		"brackets in strings":      `a = "` + strings.Repeat("[({", 1000) + "\"\n",
		"empty":                    "",
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			if diags := check("x.hcl", []byte(src)); diags.HasErrors() {
				t.Fatal(diags)
			}
			if _, diags := hclparse.NewParser().ParseHCL([]byte(src), "x.hcl"); diags.HasErrors() {
				t.Fatalf("the test's own source is wrong: %v", diags[0])
			}
		})
	}
}

func repeatf(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestTextIsChecked(t *testing.T) {
	tests := []struct {
		name, src  string
		line, col  int
		wantDetail string
	}{
		{"NUL", "a = 1\nb = \x00", 2, 5, "binary"},
		{"bad byte", "a = 1\n\nb = \"é\xff\"", 3, 7, "0xff"},
		{"UTF-16", "\xff\xfea\x00", 1, 4, "UTF-16"},
		{"cut rune", "x = \"\xe2\x82", 1, 6, "0xe2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			diags := check("x.hcl", []byte(tt.src))
			if len(diags) != 1 || diag.Of(diags[0]) != CodeText {
				t.Fatalf("want one %s, got %v", CodeText, diags)
			}
			d := diags[0]
			if d.Subject.Start.Line != tt.line || d.Subject.Start.Column != tt.col {
				t.Errorf("place %v, want %d:%d", d.Subject, tt.line, tt.col)
			}
			if !strings.Contains(d.Detail, tt.wantDetail) {
				t.Errorf("detail %q does not hold %q", d.Detail, tt.wantDetail)
			}
		})
	}
}
