package lang_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang"
)

// Each member of gates.Terms is an argument of the language, in the same order, and shown where gates are compared.
func TestTermsAreArguments(t *testing.T) {
	var members []string
	var list func(reflect.Type)
	list = func(typ reflect.Type) {
		for f := range typ.Fields() {
			if f.Anonymous {
				list(f.Type)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			members = append(members, name)
		}
	}
	list(reflect.TypeFor[gates.Terms]())
	var arguments, shown []string
	for _, b := range lang.Schema(testRegistry(t), formats, nil, nil).Blocks {
		for _, a := range b.Arguments {
			if b.Type == "gate" && slices.Contains(members, a.Name) {
				arguments = append(arguments, a.Name)
			}
		}
	}
	for _, s := range (&lang.Config{Config: new(config.Config)}).Terms(new(config.Gate)) {
		shown = append(shown, s.Name)
	}
	if !slices.Equal(arguments, members) || !slices.Equal(shown, members) {
		t.Errorf("gates.Terms has %q, the language %q and shows %q", members, arguments, shown)
	}
}

// What a file states arrives in the terms, and what it does not state has its default.
func TestTermsAreReadAndShown(t *testing.T) {
	file := strings.Replace(assertFile[:strings.Index(assertFile, "gate ")], "rate = [4, 8]", `rate = [4, 8]
    side = ["base", "head"]`, 1) + `
baseline "paired" "p" {
  axis  = "side"
  value = "base"
}

gate "g" {
  benchmark = benchmark.b
  baseline  = baseline.paired.p
  metrics   = [metric.ttft.p50]
  margin    = "5%"
`
	for arguments, want := range map[string]struct {
		terms gates.Terms
		shown string
	}{
		"": {
			gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
			"margin=5 % expect=no_regression suite_margin= alpha=5 % test=paired_t strict=false allow_overload=false",
		},
		`
  suite_margin   = "2%"
  alpha          = 0.01
  test           = "sign_flip"
  strict         = true
  allow_overload = true`: {
			gates.Terms{Claim: gates.Claim{Margin: 0.05}, SuiteMargin: 0.02, Rule: gates.Rule{Alpha: 0.01, TestName: "sign_flip", Strict: true},
				AllowOverload: true},
			"margin=5 % expect=no_regression suite_margin=2 % alpha=1 % test=sign_flip strict=true allow_overload=true",
		},
		`
  expect = "improvement"`: {
			gates.Terms{Claim: gates.Claim{Margin: 0.05, Expect: gates.ExpectImprovement}, Rule: gates.Rule{TestName: "paired_t"}},
			"margin=5 % expect=improvement suite_margin= alpha=5 % test=paired_t strict=false allow_overload=false",
		},
	} {
		cfg := load(t, file+arguments+"\n}\n")
		g := cfg.GateAt("gate.g")
		if g.Terms != want.terms {
			t.Errorf("%s: %+v, want %+v", arguments, g.Terms, want.terms)
		}
		var shown []string
		for _, s := range cfg.Terms(g) {
			shown = append(shown, s.Name+"="+s.Value)
		}
		if got := strings.Join(shown, " "); got != want.shown {
			t.Errorf("%s\nshown as %s\nwant     %s\nwrite a new argument into this table", arguments, got, want.shown)
		}
	}
}
