package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
)

// pictured matches a picture of examples/README.md, and linked a link to an example.
var (
	pictured = regexp.MustCompile(`!\[\]\(pictures/([\w-]+)\.svg\)`)
	linked   = regexp.MustCompile(`\]\(([\w-]+)/\)`)
)

// quickPictures are the pictures that are drawn anew each time; -full draws all, and so does -update.
var quickPictures = []string{"quickstart", "sglang-cuda-graph", "sglang-pd", "vllm-cpu"}

// TestGallery draws the pictures of examples/README.md, which links every example.
func TestGallery(t *testing.T) {
	examples := filepath.Join("..", "examples")
	text, err := os.ReadFile(filepath.Join(examples, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"pictures": true}
	for _, m := range linked.FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	found, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		if e.IsDir() && !named[e.Name()] {
			t.Errorf("examples/README.md does not link %s", e.Name())
		}
	}
	names := quickPictures
	if *full || golden.Updating() {
		names = nil
		for _, m := range pictured.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(string(text), "pictures/"+name+".svg") {
				t.Fatalf("examples/README.md does not show %s", name)
			}
			files, err := filepath.Glob(filepath.Join(examples, name, "*.pipeline.hcl"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%v, %v", files, err)
			}
			file, err := filepath.Abs(files[0])
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if out, code := pipeline(t, dir, "run", file, "--simulate=virtual", "--out", "run", "--progress", "quiet"); code > 1 {
				t.Fatalf("exit status %d:\n%s", code, out)
			}
			picture, code := pipeline(t, dir, "report", "run", "--format", "svg")
			if code != 0 {
				t.Fatalf("exit status %d:\n%s", code, picture)
			}
			if strings.Contains(picture, "does not follow from its own runs") {
				t.Errorf("a rehearsal is not trusted:\n%s", picture)
			}
			from, to := strings.Index(picture, "<svg"), strings.Index(picture, "</svg>")
			if from < 0 || to < from {
				t.Fatalf("no picture:\n%s", picture)
			}
			picture = picture[from:to] + "</svg>\n" // without warnings, which are on the other stream
			golden.Equal(t, filepath.Join(examples, "pictures", name+".svg"), picture)
		})
	}
}
