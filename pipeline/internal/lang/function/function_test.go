package function_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/servegate/pipeline/pipeline/internal/lang/function"
)

// eval evaluates an expression of the language with the functions and two variables:
// secret is marked, unknown is not known.
func eval(t *testing.T, expr, dir string) (cty.Value, hcl.Diagnostics) {
	t.Helper()
	parsed, diags := hclsyntax.ParseExpression([]byte(expr), "test.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", expr, diags)
	}
	return parsed.Value(&hcl.EvalContext{
		Functions: function.Table(dir, nil, func(string, string) {}),
		Variables: map[string]cty.Value{
			"secret":  cty.StringVal("hunter2").Mark("sensitive"),
			"unknown": cty.UnknownVal(cty.String),
		},
	})
}

// Each pair of expressions must be equal, type included.
func TestValues(t *testing.T) {
	tests := []struct{ expr, want string }{
		{`startswith("vllm/vllm", "vllm")`, `true`},
		{`startswith("vllm", "sglang")`, `false`},
		{`strcontains("vllm", "ll")`, `true`},
		{`strrev("abc")`, `"cba"`},
		{`chomp("a\n")`, `"a"`},
		{`signum(-3)`, `-1`},
		{`setunion(toset(["a"]), toset(["b"]))`, `toset(["a", "b"])`},
		{`setintersection(toset(["a", "b"]), toset(["b"]))`, `toset(["b"])`},
		{`setsubtract(toset(["a", "b"]), toset(["b"]))`, `toset(["a"])`},
		{`yamldecode("a: [1, x]\nb: {c: true}\n")`, `{ a = [1, "x"], b = { c = true } }`},
		{`yamldecode("a: \"x&b\"")`, `{ a = "x&b" }`},
		{`yamlencode({ a = 1 })`, `"\"a\": 1\n"`},
		{`templatefile("hello.tmpl", { names = ["a", "b"] })`, `"Hello a, b: 2"`},
		{`endswith("image:latest", ":latest")`, `true`},
		{`alltrue([true, true])`, `true`},
		{`alltrue([])`, `true`},
		{`alltrue([true, null])`, `false`},
		{`anytrue([false, true])`, `true`},
		{`anytrue([])`, `false`},
		{`try(nosuch.thing, "fallback")`, `"fallback"`},
		{`can(nosuch.thing)`, `false`},
		{`can("x")`, `true`},
		{`concat(["a"], ["b"])`, `["a", "b"]`},
		{`keys({ b = 1, a = 2 })`, `["a", "b"]`},
		{`values({ b = 1, a = 2 })`, `[2, 1]`},
		{`merge({ a = 1 }, { a = 2, b = 3 })`, `{ a = 2, b = 3 }`},
		{`lookup({ a = 1 }, "a", 9)`, `1`},
		{`lookup({ a = 1 }, "b", 9)`, `9`},
		{`lookup({ a = 1 }, "a")`, `1`},
		{`lookup(tomap({ a = 1 }), "b", 9)`, `9`},
		{`flatten([[1], [2, [3]]])`, `[1, 2, 3]`},
		{`distinct(["a", "b", "a"])`, `tolist(["a", "b"])`},
		{`range(3)`, `tolist([0, 1, 2])`},
		{`setproduct(["a"], [1, 2])`, `tolist([["a", 1], ["a", 2]])`},
		{`zipmap(["a"], [1])`, `{ a = 1 }`},
		{`length(toset(["a", "a"]))`, `1`},
		{`length({ a = 1, b = 2 })`, `2`},
		{`length("né")`, `2`},
		{`length([])`, `0`},
		{`tostring(1.5)`, `"1.5"`},
		{`tonumber("12")`, `12`},
		{`tobool("true")`, `true`},
		{`format("%s=%d", "rate", 4)`, `"rate=4"`},
		{`formatlist("%s!", ["a", "b"])`, `tolist(["a!", "b!"])`},
		{`join(",", ["a", "b"])`, `"a,b"`},
		{`split(",", "a,b")`, `tolist(["a", "b"])`},
		{`replace("a.b.c", ".", "-")`, `"a-b-c"`},
		{`replace("v0.11.0", "/[0-9]+/", "n")`, `"vn.n.n"`},
		{`replace("a/b", "/", "-")`, `"a-b"`},
		{`regex("[0-9]+", "v12")`, `"12"`},
		{`regexall("[0-9]", "1a2")`, `tolist(["1", "2"])`},
		{`upper("a")`, `"A"`},
		{`lower("A")`, `"a"`},
		{`title("a b")`, `"A B"`},
		{`trim("--a--", "-")`, `"a"`},
		{`trimprefix("v1", "v")`, `"1"`},
		{`trimsuffix("a.hcl", ".hcl")`, `"a"`},
		{`trimspace(" a\n")`, `"a"`},
		{`substr("abc", 1, -1)`, `"bc"`},
		{`jsonencode({ a = [1, true, null] })`, `"{\"a\":[1,true,null]}"`},
		{`jsondecode("[1, {\"a\": null}]")`, `[1, { a = null }]`},
		{`min(3, 1, 2)`, `1`},
		{`max([1, 3]...)`, `3`},
		{`sum([1, 2.5])`, `3.5`},
		{`abs(-1)`, `1`},
		{`ceil(1.2)`, `2`},
		{`floor(-1.2)`, `-2`},
		{`log(8, 2)`, `3`},
		{`pow(2, 10)`, `1024`},
		{`parseint("ff", 16)`, `255`},
		{`contains(["a"], "a")`, `true`},
		{`coalesce(null, "", "x")`, `"x"`},
		{`coalesce(null, 0)`, `0`},
		{`coalescelist([], ["a"])`, `["a"]`},
		{`compact(["a", "", null])`, `tolist(["a"])`},
		{`element(["a", "b"], 3)`, `"b"`},
		{`index(["a", "b"], "b")`, `1`},
		{`index(["1", 1], 1)`, `1`},
		{`reverse([1, 2])`, `[2, 1]`},
		{`slice(["a", "b", "c"], 1, 3)`, `["b", "c"]`},
		{`sort(["b", "a"])`, `tolist(["a", "b"])`},
		{`chunklist(["a", "b", "c"], 2)`, `tolist([tolist(["a", "b"]), tolist(["c"])])`},
		{`one(["a"])`, `"a"`},
		{`one([])`, `null`},
		{`one(toset(["a"]))`, `"a"`},
		{`basename("a/b.hcl")`, `"b.hcl"`},
		{`dirname("a/b.hcl")`, `"a"`},
		{`sha256("abc")`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`}, // FIPS 180-2, B.1
		{`base64encode("né")`, `"bsOp"`},
		{`base64decode("bsOp")`, `"né"`},
		{`urlencode("a b/é")`, `"a+b%2F%C3%A9"`},
		{`duration("800ms")`, `0.8`},
		{`duration("1d12h")`, `129600`},
		{`bytes("5GiB")`, `5368709120`},
		{`percent("5%")`, `0.05`},
		{`percent("0.1%")`, `0.001`},
		{`file("prompt.txt")`, `"hello\n"`},
		{`file("sub/../prompt.txt")`, `"hello\n"`},
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hello.tmpl"), "Hello %{for i, n in names}${i > 0 ? \", \" : \"\"}${n}%{endfor}: ${length(names)}")
	write(t, filepath.Join(dir, "prompt.txt"), "hello\n")
	write(t, filepath.Join(dir, "sub", "x.txt"), "x")
	tested := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			got, diags := eval(t, tt.expr, dir)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			want, diags := eval(t, tt.want, dir)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if !got.RawEquals(want) {
				t.Errorf("got %#v, want %#v", got, want)
			}
		})
		tested[tt.expr[:strings.IndexByte(tt.expr, '(')]] = true
		for name := range function.Table(dir, nil, func(string, string) {}) {
			if strings.Contains(tt.want, name+"(") {
				tested[name] = true
			}
		}
	}
	tested["tomap"] = true // inside lookup
	for name := range function.Table(dir, nil, func(string, string) {}) {
		if !tested[name] && name != "toset" {
			t.Errorf("%s has no case", name)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "big.txt"), strings.Repeat("x", function.MaxFile+1))
	write(t, filepath.Join(dir, "binary"), "\xff")
	outside := filepath.Join(t.TempDir(), "secret.txt")
	write(t, outside, "secret")
	if err := os.Symlink(outside, filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ expr, want string }{
		{`file("../secret.txt")`, "only files in the directory of the pipeline file"},
		{`file("link.txt")`, "only files in the directory of the pipeline file"},
		{`file("/etc/hostname")`, "is absolute"},
		{`file("nosuch.txt")`, "not found beside"},
		{`file("big.txt")`, "more than 1048576 bytes"},
		{`file("binary")`, "not UTF-8"},
		{`file(".")`, "not a regular file"},
		{`duration("800")`, `write "800s" or "800ms"`},
		{`bytes("5G")`, `write "5GiB"`},
		{`percent("5")`, `write "5%"`},
		{`lookup({ a = 1 }, "b")`, `key "b" not found`},
		{`lookup(tomap({ a = 1 }), "b")`, `key "b" not found`},
		{`lookup({ a = 1 }, "b", 1, 2)`, "at most one default"},
		{`lookup("a", "b")`, "a map is needed"},
		{`index(["a"], "b")`, "does not hold"},
		{`one(["a", "b"])`, "2 elements"},
		{`one(tolist(["a", "b"]))`, "2 elements"},
		{`sum([])`, "no sum"},
		{`sum([1, null])`, "null"},
		{`coalesce(null, "")`, "all arguments are null"},
		{`length(1)`, "has a length"},
		{`base64decode("*")`, "not base64"},
		{`base64decode("/w==")`, "not UTF-8"},
		{`format("%99999s", "a")`, "at most 4 digits"},
		{`format("%.99999f", 1)`, "at most 4 digits"},
		{`formatlist("%99999s", ["a"])`, "at most 4 digits"},
		{`setproduct(range(1000), range(1000))`, "more than 10000 combinations"},
		{`jsondecode("` + strings.Repeat("[", 200) + `")`, "nested more than 100 deep"},
		{`log(0, 0)`, "no value for these arguments"},
		{`pow(-1, 0.5)`, "no value for these arguments"},
		{`file(null)`, "must not be null"},
	}
	for _, tt := range tests {
		t.Run(tt.expr[:min(len(tt.expr), 40)], func(t *testing.T) {
			v, diags := eval(t, tt.expr, dir)
			if !diags.HasErrors() {
				t.Fatalf("no error, but %#v", v)
			}
			if !strings.Contains(diags.Error(), tt.want) {
				t.Errorf("%q does not say %q", diags.Error(), tt.want)
			}
		})
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestUnknownStaysUnknown(t *testing.T) {
	for _, expr := range []string{
		`duration(unknown)`, `file(unknown)`, `length(unknown)`, `startswith(unknown, "a")`,
		`coalesce(unknown, "a")`, `index(["a", unknown], "b")`, `lookup({ a = 1 }, unknown, 2)`,
		`format("%s", unknown)`, `jsondecode(unknown)`, `alltrue([true, unknown == "a"])`,
	} {
		v, diags := eval(t, expr, t.TempDir())
		if diags.HasErrors() {
			t.Errorf("%s: %s", expr, diags)
			continue
		}
		if v.IsKnown() {
			t.Errorf("%s is known: %#v", expr, v)
		}
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	table := function.Table(".", nil, func(string, string) {})
	docs := function.Docs()
	if len(docs) != len(table) {
		t.Fatalf("%d are described of %d: is one there twice?", len(docs), len(table))
	}
	for _, d := range docs {
		if d.Description == "" || d.Returns == "" {
			t.Errorf("%s has no description or result", d.Name)
		}
		for _, p := range d.Params {
			if p.Name == "" || p.Description == "" || p.Type == "" {
				t.Errorf("%s: parameter %+v is not described", d.Name, p)
			}
		}
		if !strings.HasPrefix(d.Signature(), d.Name+"(") {
			t.Errorf("signature %q", d.Signature())
		}
	}
	for _, impure := range []string{"timestamp", "uuid", "env", "bcrypt", "plantimestamp"} {
		if _, ok := table[impure]; ok {
			t.Errorf("%s is not pure", impure)
		}
	}
}

func TestSignatures(t *testing.T) {
	want := map[string]string{
		"format":   "format(string format, any args...) string",
		"duration": "duration(string duration) number",
		"sum":      "sum(list of number list) number",
		"try":      "try(expression expressions...) any",
		"lookup":   "lookup(any map, string key, any default...) any",
	}
	for _, d := range function.Docs() {
		if w, ok := want[d.Name]; ok && d.Signature() != w {
			t.Errorf("got %q, want %q", d.Signature(), w)
		}
	}
}
