package lang_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
)

func TestEverythingIsDocumented(t *testing.T) {
	doc := lang.Schema(testRegistry(t), formats, nil, nil)
	if len(doc.Blocks) < 12 || len(doc.Metrics) < 50 {
		t.Fatalf("%d blocks, %d metrics", len(doc.Blocks), len(doc.Metrics))
	}
	for _, b := range doc.Blocks {
		documented(t, b.Type+" "+b.Kind, b)
	}
	for _, r := range doc.References {
		if r.Form == "" || r.Doc == "" {
			t.Errorf("a form of reference is not documented: %+v", r)
		}
	}
}

func documented(t *testing.T, path string, b lang.BlockDoc) {
	t.Helper()
	if b.Doc == "" {
		t.Errorf("%s is not documented", path)
	}
	seen := map[string]bool{}
	for _, a := range b.Arguments {
		if !strings.HasSuffix(a.Doc, ".") {
			t.Errorf("%s: %s is not documented by a sentence: %q", path, a.Name, a.Doc)
		}
		if a.Type == "" || seen[a.Name] {
			t.Errorf("%s: %s has no type, or is there twice", path, a.Name)
		}
		seen[a.Name] = true
	}
	for _, c := range b.Blocks {
		documented(t, path+" "+c.Type, c)
	}
}

func TestSchemaIsJSON(t *testing.T) {
	text, err := json.Marshal(lang.Schema(testRegistry(t), formats, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"for_each"`, `"on_regression"`, `metric.ttft.p99`, `"default":"completions"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the schema does not hold %s", want)
		}
	}
}
