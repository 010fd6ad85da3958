package lang_test

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
)

// nested puts an expression n times into another one.
func nested(n int, inner, around string) string {
	for range n {
		inner = strings.Replace(around, "@", inner, 1)
	}
	return inner
}

// repeated writes n locals, each made of the one before it.
func repeated(n int, first, next string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "x0 = %s\n", first)
	for i := range n {
		fmt.Fprintf(&b, "  x%d = %s\n", i+1, strings.ReplaceAll(next, "@", fmt.Sprintf("local.x%d", i)))
	}
	return b.String()
}

// longText is an expression of about a megabyte of digits.
const longText = `replace(replace(replace(format("%9999d", 1), " ", "1"), "1", "1111111111"), "1", "1111111111")`

// bombs are bodies of a locals block that ask for more than a machine has.
var bombs = map[string]string{
	"nested replace":          "x = " + nested(60, `"x"`, `replace(@, "x", "xxxxxxxxxx")`),
	"nested regex replace":    "x = " + nested(60, `"x"`, `replace(@, "/x/", "$0$0$0$0$0$0$0$0")`),
	"empty part":              "x = " + nested(60, `"x"`, `replace(@, "", "0123456789")`),
	"three loops":             "x = [for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]]",
	"loops of nothing":        "x = [for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a if false]]]",
	"loops in templates":      "x = \"%{for a in range(1000)}%{for b in range(1000)}%{for c in range(1000)}x%{endfor}%{endfor}%{endfor}\"",
	"object loops":            "x = {for a in range(1000) : a => {for b in range(1000) : b => {for c in range(1000) : c => c}}}",
	"doubling concat":         "x = " + nested(40, "[1]", "[for x in [@] : concat(x, x)][0]"),
	"doubling template":       "x = " + nested(45, `"x"`, `[for v in [@] : "${v}${v}"][0]`),
	"doubling tuple":          "x = " + nested(45, `"x"`, `[for v in [@] : [v, v]][0]`),
	"doubling locals":         repeated(60, `["x"]`, "[@, @]"),
	"doubling objects":        repeated(60, `{ a = "x" }`, "{ a = @, b = @ }"),
	"doubling merge":          "x = " + nested(40, `{ a = 1 }`, `[for v in [@] : merge(v, { for k, w in v : "${k}${k}" => v })][0]`),
	"doubling json":           "x = " + nested(60, `"\"x"`, `jsonencode(@)`),
	"doubling format":         "x = " + nested(45, `"x"`, `format("%[1]s%[1]s", @)`),
	"wide format":             `x = format("%99999999d", 1)`,
	"many wide verbs":         `x = formatlist("%9999[1]d%9999[1]d%9999[1]d", range(1000))`,
	"join of separators":      "x = join(" + longText + ", range(1000))",
	"split to characters":     `x = split("", ` + longText + ")",
	"product":                 "x = setproduct(range(100), range(100), range(100))",
	"product of long texts":   "x = setproduct([" + longText + "], range(100), range(100))",
	"distinct of many":        "x = distinct([for i in range(1000) : [for j in range(1000) : i]]...)",
	"distinct is quadratic":   `x = distinct(flatten([for i in range(50) : [for j in range(200) : "${i}-${j}"]]))`,
	"one type for many":       `x = tolist(flatten([for i in range(100) : [for j in range(200) : "${i}-${j}"]]))`,
	"a set of many":           `x = toset(flatten([for i in range(100) : [for j in range(200) : "${i}-${j}"]]))`,
	"search for an object":    `x = [for i in range(100) : contains(range(1000), { for k in range(1000) : k => k })]`,
	"JSON of many":            `x = jsondecode("[${join(",", [for i in range(300) : join(",", range(1000))])}]")`,
	"many digits":             "x = tonumber(" + longText + ")",
	"many digits to add":      "x = 1 + " + longText,
	"many digits to parse":    "x = parseint(" + longText + ", 10)",
	"many digits in a list":   "x = sum([" + longText + "])",
	"many digits as an index": "x = [1, 2][" + longText + "]",
	"huge number as text":     `x = "${tonumber("1e100000000")}"`,
	"huge product":            "x = " + nested(20, "1e300", "[for v in [@] : v * v][0]"),
	"tiny product":            "x = " + nested(20, "1e-300", "[for v in [@] : v * v][0]"),
	"regex of many states":    `x = regexall("(((a?){30}){30}a)*b", ` + longText + ")",
	"regex of many groups":    `x = regexall("` + strings.Repeat("()", 300) + `", ` + longText + ")",
	"regex that is long":      `x = regex("` + strings.Repeat("a|", 2000) + `", "a")`,
	"trim of many":            `x = trim(join("", [for i in range(100) : join("é", range(1000))]), join("", [for i in range(100) : join("é", range(1000))]))`,
	"nested try":              "x = " + nested(90, `upper("x", 1)`, `try(@, "x" + 1)`),
	"nested can":              "x = " + nested(90, `upper("x")`, `can(@)`) + "\n  y = " + nested(90, `upper("x")`, `try(@)`),
	"YAML of aliases":         "x = yamldecode(\"a0: &a0 [x, x]\\n" + strings.Repeat("a: &a [*a0, *a0]\\n", 30) + "\")",
	"YAML of many":            `x = yamldecode("[${join(",", range(1000))},${join(",", [for i in range(20) : join(",", range(1000))])}]")`,
	"YAML that is deep":       `x = yamldecode("` + strings.Repeat("[", 9000) + `")`,
	"nested splat":            "x = [" + strings.Repeat("[", 60) + "1" + strings.Repeat("]", 60) + "]" + strings.Repeat("[*]", 500),
	"many arguments":          "x = coalesce([for i in flatten([for a in range(100) : range(100)]) : {a = i}]...)",
	"conditions of tuples":    "x = [for i in range(1000) : true ? [for j in range(500) : j] : [for j in range(501) : \"x\"]]",
}

// dear bombs take long to go off; others that go off in the same way are always tried.
var dear = []string{"loops of nothing", "object loops", "loops in templates", "distinct of many", "JSON of many", "nested can"}

var full = flag.Bool("full", false, "try the bombs that take long, too")

// Every bomb ends in an error with a place, and no expression takes more memory than a
// small machine has. The bytes that are allocated do not depend on the machine.
func FuzzEvaluationIsBounded(f *testing.F) {
	must := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(bombs)) {
		if !*full && slices.Contains(dear, name) {
			continue
		}
		must[bombs[name]] = true
		f.Add(bombs[name])
	}
	f.Fuzz(func(t *testing.T, body string) {
		diags, bytes := evaluate(t, body)
		if must[body] && !diags.HasErrors() {
			t.Errorf("is taken as valid: %s", body)
		}
		for _, d := range diags {
			if d.Subject == nil || diag.Of(d) == "" {
				t.Errorf("without a place or a code: %s", d)
			}
		}
		if bytes > maxAllocated {
			t.Errorf("%d MiB were allocated for %s", bytes>>20, body)
		}
	})
}

// Expressions that are made of calls, loops and operators at random are bounded, too.
func FuzzGrammarIsBounded(f *testing.F) {
	for seed := range byte(40) {
		data := make([]byte, 120)
		for i := range data {
			data[i] = byte(i*i)*(2*seed+1) ^ byte(i)*seed
		}
		f.Add(data)
	}
	names := slices.Sorted(maps.Keys(function.Table(".", nil, func(string, string) {})))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := grammar{data: data, names: names}
		body := "x = " + g.expression(12)
		if _, bytes := evaluate(t, body); bytes > maxAllocated {
			t.Errorf("%d MiB were allocated for %s", bytes>>20, body)
		}
	})
}

// grammar makes an expression of bytes.
type grammar struct {
	data  []byte
	names []string // of functions
	loops int      // around the expression at hand
}

func (g *grammar) choose(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return int(b) % n
}

func (g *grammar) expression(depth int) string {
	if depth == 0 || len(g.data) == 0 {
		return g.leaf()
	}
	sub := func() string { return g.expression(depth - 1) }
	switch g.choose(9) {
	case 0:
		return g.leaf()
	case 1, 2, 3:
		args := make([]string, 1+g.choose(3))
		for i := range args {
			args[i] = sub()
		}
		expand := []string{"", "", "", "..."}[g.choose(4)]
		return g.names[g.choose(len(g.names))] + "(" + strings.Join(args, ", ") + expand + ")"
	case 4:
		list := sub()
		g.loops++
		v := fmt.Sprintf("v%d", g.loops)
		out := fmt.Sprintf("[for %s in %s : %s]", v, list, sub())
		g.loops--
		return out
	case 5:
		return "[" + sub() + ", " + sub() + "]"
	case 6:
		return "\"${" + sub() + "}${" + sub() + "}\""
	case 7:
		return "(" + sub() + []string{" + ", " * ", " == ", " < "}[g.choose(4)] + sub() + ")"
	}
	return "(true ? " + sub() + " : " + sub() + ")"
}

func (g *grammar) leaf() string {
	if g.loops > 0 && g.choose(3) > 0 {
		return fmt.Sprintf("v%d", 1+g.choose(g.loops))
	}
	return []string{
		`"x"`, "7", "range(1000)", "{ a = \"x\", b = [1, 2] }", `format("%9999s", "x")`, "1e300", "true", "null", `","`,
		`"/(a|.)*/"`, `"$0$0$0"`, `""`,
	}[g.choose(12)]
}

// maxAllocated bytes, garbage included.
const maxAllocated = 2 << 30

// evaluate loads a locals block and counts the bytes that are allocated for it.
func evaluate(tb testing.TB, body string) (hcl.Diagnostics, uint64) {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, diags := lang.Load(lang.Options{
		Paths: []string{"-"}, Stdin: strings.NewReader("locals {\n  " + body + "\n}\n"), Registry: testRegistry(tb),
	})
	runtime.ReadMemStats(&after)
	return diags, after.TotalAlloc - before.TotalAlloc
}
