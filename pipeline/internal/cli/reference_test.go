package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/reference"
	"github.com/servegate/pipeline/reports/publish"
)

// TestReference: the pages of the reference say what the program does.
func TestReference(t *testing.T) {
	a := newApp(System())
	registry, err := a.kinds()
	if err != nil {
		t.Fatal(err)
	}
	examples := reference.Examples{}
	for _, dir := range []string{exampleArguments, filepath.Join("..", "..", "..", "examples")} {
		found, err := reference.FindExamples(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(examples, found)
	}
	for _, p := range a.referencePages(lang.Schema(registry, a.formats.Names(), a.tests, a.arrivals), a.root(), examples) {
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "..", "..", "docs", "reference", p.Name)
		golden.Equal(t, path, out.String())
	}
}

// exampleArguments holds files with the arguments that no file below examples/ has.
var exampleArguments = filepath.Join("..", "reference", "testdata", "examples")

// TestExampleArguments: the files of examples are valid, and each argument has an example in the reference.
func TestExampleArguments(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(exampleArguments, "*.pipeline.hcl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, command := range [][]string{{"validate", file}, {"fmt", "--check", file}} {
			var out bytes.Buffer
			sys := System()
			sys.Out, sys.Err = &out, &out
			if code := Main(command, sys); code != 0 {
				t.Errorf("%v: exit status %d\n%s", command, code, &out)
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "reference", "blocks", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		heading := ""
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				heading = strings.TrimSpace(line)
			}
			if regexp.MustCompile("^\\| \\**`").MatchString(line) && !strings.Contains(line, "Example: `") {
				t.Errorf("%s, %s: no example: %.60s", filepath.Base(page), heading, line)
			}
		}
	}
}

// TestCommentModes: a report block takes the modes that the publisher has.
func TestCommentModes(t *testing.T) {
	a := newApp(System())
	registry, err := a.kinds()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(lang.Schema(registry, a.formats.Names(), a.tests, a.arrivals))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range publish.CommentModes() {
		if !bytes.Contains(doc, fmt.Appendf(nil, `{"name":%q`, m)) {
			t.Errorf("the schema does not list the mode %s", m)
		}
	}
}
