package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
)

// TestArchitectureNamesFiles checks that each path in code font of ARCHITECTURE.md and CONTRIBUTING.md exists.
func TestArchitectureNamesFiles(t *testing.T) {
	path := regexp.MustCompile("`((?:\\.ci|pipeline|steps|gates|reports|docs|examples)/[A-Za-z0-9_./-]+)`")
	for paper, least := range map[string]int{"ARCHITECTURE.md": 20, "CONTRIBUTING.md": 5} {
		found := path.FindAllStringSubmatch(paperText(t, paper), -1)
		for _, m := range found {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", paper, m[1])
			}
		}
		if len(found) < least {
			t.Errorf("%s names %d files, want %d or more", paper, len(found), least)
		}
	}
}

// TestArchitectureNamesPackages checks that ARCHITECTURE.md names every package in code font, by its path from the
// root or below pipeline/internal.
func TestArchitectureNamesPackages(t *testing.T) {
	text := paperText(t, "ARCHITECTURE.md")
	for _, path := range goList(t, "{{.ImportPath}}") {
		path = strings.TrimPrefix(path, module)
		if path == "pipeline" || strings.HasPrefix(path, ".ci/") || strings.Contains(path, "/testdata/") {
			continue
		}
		if below, ok := strings.CutPrefix(path, "pipeline/internal/"); ok && strings.Contains(text, "`"+below+"`") {
			continue
		}
		if !strings.Contains(text, "`"+path+"`") {
			t.Errorf("ARCHITECTURE.md does not name the package %s", path)
		}
	}
}

// TestArchitectureNamesIdentifiers checks that what ARCHITECTURE.md names as `package.Identifier` is declared there.
func TestArchitectureNamesIdentifiers(t *testing.T) {
	dirs := map[string][]string{} // by the name of the package
	for _, line := range goList(t, "{{.Name}} {{.Dir}}") {
		name, dir, _ := strings.Cut(line, " ")
		dirs[name] = append(dirs[name], dir)
	}
	named := regexp.MustCompile("`([a-z]+)((?:\\.[A-Z][A-Za-z]*)+)`").FindAllStringSubmatch(paperText(t, "ARCHITECTURE.md"), -1)
	for _, m := range named {
		for identifier := range strings.SplitSeq(m[2][1:], ".") {
			// Within a block or a type it stands alone, and is neither the key of a literal nor a call.
			declared := regexp.MustCompile(`(?m)^(?:\s*(?:func (?:\([^)]*\) )?|type |var |const )` + identifier + `\b|\t` + identifier + ` )`)
			if !declares(t, dirs[m[1]], declared) {
				t.Errorf("ARCHITECTURE.md names %s%s, and package %s has no %s", m[1], m[2], m[1], identifier)
			}
		}
	}
	if len(named) < 10 {
		t.Errorf("ARCHITECTURE.md names %d identifiers", len(named))
	}
}

// declares reports whether a file of these folders has a line that matches.
func declares(t *testing.T, dirs []string, line *regexp.Regexp) bool {
	t.Helper()
	for _, dir := range dirs {
		for _, text := range sources(t, dir) {
			if line.Match(text) {
				return true
			}
		}
	}
	return false
}

// TestContributingNamesDependencies checks that CONTRIBUTING.md says what each module is for that go.mod requires directly.
func TestContributingNamesDependencies(t *testing.T) {
	_, dependencies, _ := strings.Cut(paperText(t, "CONTRIBUTING.md"), "\n## Dependencies\n")
	direct, _, _ := strings.Cut(paperText(t, "go.mod"), "\n)\n")
	required := regexp.MustCompile(`(?m)^\t(?:github\.com/)?(\S+?)(?:/v\d+)? v`).FindAllStringSubmatch(direct, -1)
	for _, m := range required {
		if !regexp.MustCompile(`(?m)^\|.*` + regexp.QuoteMeta(m[1]) + `[ ,].*\|.*\|$`).MatchString(dependencies) {
			t.Errorf("CONTRIBUTING.md has no row of %s", m[1])
		}
	}
	if len(required) < 10 {
		t.Errorf("go.mod requires %d modules", len(required))
	}
}

// TestContributingShowsAChange checks that the change which CONTRIBUTING.md follows is the patch that TestChanges applies.
func TestContributingShowsAChange(t *testing.T) {
	text := paperText(t, "CONTRIBUTING.md")
	_, rest, _ := strings.Cut(text, "```diff\n")
	shown, _, _ := strings.Cut(rest, "```\n")
	patch := regexp.MustCompile(`(?m)^index .*\n`).ReplaceAllString(paperText(t, "pipeline/testdata/changes/gate-argument.patch"), "")
	golden.Equal(t, filepath.Join("..", "CONTRIBUTING.md"), strings.Replace(text, shown, patch, 1))
}

// paperText returns a file of the root.
func paperText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
