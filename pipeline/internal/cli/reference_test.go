package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	examples, err := reference.FindExamples(os.DirFS(filepath.Join("..", "..", "..", "examples")))
	if err != nil {
		t.Fatal(err)
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
