package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/servegate/pipeline/"

// allowed lists, for each tree, the trees of ours that it may import directly.
var allowed = map[string][]string{
	"gates":             {"gates"},
	"steps":             {"steps", "gates/metric", "internal/lazyregexp"},
	"reports":           {"reports", "gates", "internal/lazyregexp"},
	"pipeline/internal": {"pipeline/internal", "steps", "gates", "reports", "internal/lazyregexp"},
	// What is kept is a result, and knows no report of it.
	"pipeline/internal/history": {"pipeline/internal", "steps", "gates", "reports/result"},
	"pipeline":                  {"pipeline/internal/cli"},
}

// unreachable lists packages that must not be reached even through others.
var unreachable = map[string][]string{
	"gates":                  {"net/http", "os/exec", "github.com/hashicorp/hcl/v2"},
	"pipeline/internal/lang": {"net/http", "os/exec", "github.com/ory/dockertest/v3", "github.com/google/go-github", "k8s.io/client-go"},
	"reports":                {"os/exec", "github.com/hashicorp/hcl/v2"},
	"steps/simulate/model":   {"net", "os/exec"},
	"steps/traffic":          {"net", "os"},
	// A launcher is a value that the doctor is handed.
	"pipeline/internal/doctor": {module + "steps/docker", module + "steps/slurm", module + "steps/kubernetes"},
}

func TestImportsFollowTheArchitecture(t *testing.T) {
	for _, line := range goList(t, "{{.ImportPath}}: {{join .Imports \" \"}}") {
		pkg, imports, _ := strings.Cut(line, ": ")
		pkg = strings.TrimPrefix(pkg, module)
		tree := treeOf(pkg)
		for imported := range strings.FieldsSeq(imports) {
			name, ours := strings.CutPrefix(imported, module)
			if ours && !slices.ContainsFunc(allowed[tree], func(ok string) bool { return below(name, ok) }) {
				t.Errorf("%s imports %s; %s may import only %v", pkg, name, tree, allowed[tree])
			}
		}
	}
}

func TestPureTreesReachNoOutsideWorld(t *testing.T) {
	for _, line := range goList(t, "{{.ImportPath}}: {{join .Deps \" \"}}") {
		pkg, deps, _ := strings.Cut(line, ": ")
		pkg = strings.TrimPrefix(pkg, module)
		reached := strings.Fields(deps)
		for tree, forbidden := range unreachable {
			for _, f := range forbidden {
				if below(pkg, tree) && slices.ContainsFunc(reached, func(d string) bool { return below(d, f) }) {
					t.Errorf("%s reaches %s", pkg, f)
				}
			}
		}
	}
}

// beforePlan lists the packages that know the language. All others get what it evaluated from package config.
var beforePlan = []string{"pipeline/internal/lang", "pipeline/internal/reference", "pipeline/internal/cli"}

// TestImportsOfTheLanguageEndBeforeThePlan checks that the plan and everything behind it reach nothing of the language
// but its diagnostics.
func TestImportsOfTheLanguageEndBeforeThePlan(t *testing.T) {
	for _, line := range goList(t, "{{.ImportPath}}: {{join .Deps \" \"}}") {
		pkg, deps, _ := strings.Cut(line, ": ")
		pkg = strings.TrimPrefix(pkg, module)
		above := func(name string) bool { return below(pkg, name) }
		if !strings.HasPrefix(pkg, "pipeline/internal/") || slices.ContainsFunc(beforePlan, above) {
			continue
		}
		for dep := range strings.FieldsSeq(deps) {
			name := strings.TrimPrefix(dep, module)
			if below(name, "pipeline/internal/lang") && name != "pipeline/internal/lang/diag" {
				t.Errorf("%s reaches %s; only %v may", pkg, name, beforePlan)
			}
		}
	}
}

// engineName finds code that behaves differently for an engine that it knows by name.
var engineName = regexp.MustCompile(
	`([!=]= ?"(vllm|sglang|openai)"|"(vllm|sglang|openai)" ?[!=]=|case "(vllm|sglang|openai)"|(Engine|Kind\.Name|kind|engine) [!=]= (vllm|sglang|openai)\.Name)`)

// knowEngines may distinguish engines: their packages, what plays them, and what reads or
// writes the files of their tools.
var knowEngines = []string{"steps/vllm", "steps/sglang", "steps/openai", "steps/simulate", "steps/kv", "steps/load",
	"pipeline/internal/convert", "pipeline/internal/adopt", "gates/foreign"}

func TestEngineNamesStayInTheirPackages(t *testing.T) {
	t.Parallel()
	known := func(pkg string) bool {
		return slices.ContainsFunc(knowEngines, func(known string) bool { return below(pkg, known) })
	}
	stay(t, engineName, known, "put what differs into the kind or the engine")
}

// asserted finds type assertions to what the contract between engines, launchers and the rest of the program declares.
var asserted = regexp.MustCompile(`\.\(steps\.[A-Z]\w*\)`)

// TestCapabilitiesAreValues checks that what an engine, a launcher, a server or a child can is asked for, not asserted: a
// wrapper loses what is asserted, and no list names it.
func TestCapabilitiesAreValues(t *testing.T) {
	stay(t, asserted, func(string) bool { return false }, "ask for its capabilities (steps/capabilities.go)")
}

// publisherImports finds files that import a publisher.
var publisherImports = regexp.MustCompile(`"` + regexp.QuoteMeta(module) + `reports/(?:github|gitlab|buildkite|webhook)["/]`)

// TestAPublisherIsARow: nothing but its own packages and the table of publishers knows one.
func TestAPublisherIsARow(t *testing.T) {
	own := func(pkg string) bool {
		return slices.ContainsFunc([]string{"github", "gitlab", "buildkite", "webhook"}, func(name string) bool {
			return below(pkg,
				"reports/"+name)
		}) ||
			pkg == "pipeline/internal/cli"
	}
	stay(t, publisherImports, own, "ask the publisher (package reports/publish)")
	for file, text := range sources(t, "internal/cli") {
		if row := filepath.Base(file) == "registry.go"; publisherImports.Match(text) != row {
			t.Errorf("%s imports a publisher: %t", file, !row)
		}
	}
}

// stay holds that no package but those that are known has code that matches.
func stay(t *testing.T, code *regexp.Regexp, known func(pkg string) bool, advice string) {
	t.Helper()
	for _, pkg := range goList(t, "{{.Dir}} {{.ImportPath}}") {
		dir, path, _ := strings.Cut(pkg, " ")
		if known(strings.TrimPrefix(path, module)) {
			continue
		}
		for file, text := range sources(t, dir) {
			if found := code.Find(text); found != nil {
				t.Errorf("%s: %s: %s", file, found, advice)
			}
		}
	}
}

// sources returns the texts of the Go files in a folder by their paths, without those of tests.
func sources(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if texts[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

func goList(t *testing.T, format string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", format, module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// treeOf is the longest allowed tree that holds pkg.
func treeOf(pkg string) string {
	best := ""
	for tree := range allowed {
		if below(pkg, tree) && len(tree) > len(best) {
			best = tree
		}
	}
	return best
}

func below(pkg, tree string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") }
