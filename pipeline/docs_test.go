package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
)

// pages are the README, the guides and the evidence.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{filepath.Join("..", "README.md")}
	for _, dir := range []string{"docs", filepath.Join("docs", "evidence")} {
		more, err := filepath.Glob(filepath.Join("..", dir, "*.md"))
		if err != nil || len(more) == 0 {
			t.Fatalf("no pages in %s: %v", dir, err)
		}
		found = append(found, more...)
	}
	return found
}

// shown are the whole pieces of HCL of a page; a fragment is marked as one.
func shown(t *testing.T, page, mark string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, block := range regexp.MustCompile("```"+mark+"(?: title=.*)?\n").Split(string(text), -1)[1:] {
		source, _, _ := strings.Cut(block, "```")
		out = append(out, source)
	}
	return out
}

// TestPagesShowValidFiles: every file that a page shows is a valid pipeline, and formatted.
func TestPagesShowValidFiles(t *testing.T) {
	for _, page := range pages(t) {
		for i, source := range shown(t, page, "hcl") {
			file := filepath.Join(t.TempDir(), "shown.pipeline.hcl")
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, code := pipeline(t, ".", "fmt", "--check", "--diff", file); code != 0 {
				t.Errorf("%s, block %d is not formatted: %s", page, i, out)
			}
			if out, code := pipeline(t, ".", "validate", file); code != 0 {
				t.Errorf("%s, block %d is not valid: %s", page, i, out)
			}
		}
	}
	if len(shown(t, filepath.Join("..", "README.md"), "hcl")) == 0 {
		t.Error("the README shows no HCL")
	}
}

// TestReadmeIsShort: what is longer belongs into docs.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(text))); n > 900 {
		t.Errorf("the README has %d words, want at most 900", n)
	}
}

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestLinks: a page leads to files that exist.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s leads to %s: %v", page, m[1], err)
			}
		}
	}
}

// TestTroubleshootingHasAllClasses: the page says what to do about each class of failed launches and each cause of void runs.
func TestTroubleshootingHasAllClasses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		sources string
		names   *regexp.Regexp
		least   int
	}{
		{"../steps/*/*.go", regexp.MustCompile(`NewRule\("([a-z_]+)",`), 15},
		{"../reports/result/enums.go", regexp.MustCompile(`VoidCause = "([a-z_]+)"`), 5},
	} {
		sources, err := filepath.Glob(tt.sources)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, path := range sources {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tt.names.FindAllStringSubmatch(string(source), -1) {
				found[m[1]] = true
			}
		}
		if len(found) < tt.least {
			t.Errorf("%s has only %d names: %v", tt.sources, len(found), found)
		}
		for name := range found {
			if !strings.Contains(string(text), "| `"+name+"` |") {
				t.Errorf("docs/troubleshooting.md has no row for %s, which is in %s", name, tt.sources)
			}
		}
	}
}

// shownFlags finds what pages show of the command line: code that begins with a flag, and commands.
var shownFlags = regexp.MustCompile("(?m)`((?:pipeline [a-z]|--[a-z])[^`\n]*)`|^ {4}(pipeline [a-z].*)$")

var flagLike = regexp.MustCompile(`^-(-[a-z][a-z-]*|[a-z])$`)

// notOurs are flags of other programs.
var notOurs = []string{
	"--num-runs", "--search-recipe", "--profiler-config", "--num-iters", "--num-iters-warmup", "--output-json", "--result-filename",
	"--config",
}

// TestPagesShowFlagsThatExist: each flag of a command that a page shows is in the reference of the command.
func TestPagesShowFlagsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "reference", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{} // of commands
	for _, section := range strings.Split(string(text), "\n## pipeline ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		sections[name] = rest
	}
	all := string(text)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range shownFlags.FindAllStringSubmatch(string(text), -1) {
			words, section := strings.Fields(m[1]+m[2]), all
			if words[0] == "pipeline" {
				section = sections[words[1]]
				if len(words) > 2 && sections[words[1]+" "+words[2]] != "" {
					section = sections[words[1]+" "+words[2]]
				}
			}
			for _, word := range words {
				name, _, _ := strings.Cut(word, "=")
				if !flagLike.MatchString(name) || slices.Contains(notOurs, name) {
					continue
				}
				if row := regexp.MustCompile("(?m)^\\| `(-[a-z], )?" + name + "[ `,]"); !row.MatchString(section) {
					t.Errorf("%s shows %q, and the reference has no %s there", page, strings.Join(words, " "), name)
				}
			}
		}
	}
}

var runLine = regexp.MustCompile("Run (<code>|`)[0-9a-f-]+(</code>|`), by (<code>|`)pipeline [^<`]*(</code>|`)")

// TestGithubReport: what examples/github shows as a pull request's report is what its file
// makes, in virtual time.
func TestGithubReport(t *testing.T) {
	example, err := filepath.Abs(filepath.Join("..", "examples", "github"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if out, code := pipeline(t, example, "run", "gate.pipeline.hcl", "--simulate=virtual", "--var", "rehearsal=25%", "--var", "requests=60",
		"--var", "repeats=4", "--progress", "quiet", "--out", dir); code != 1 {
		t.Fatalf("exit status %d, want 1:\n%s", code, out)
	}
	for _, name := range []string{"report.md", "report.html"} {
		made, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		made = runLine.ReplaceAll(made, []byte("Run ${1}RUN${2}, by ${3}pipeline${4}"))
		golden.Equal(t, filepath.Join(example, name), made)
	}
}
