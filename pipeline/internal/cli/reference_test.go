package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/publish/mode"
)

var updateReference = flag.Bool("update", false, "rewrite the pages of docs/reference")

// TestReference: the pages of the reference say what the program does.
func TestReference(t *testing.T) {
	a := newApp(System())
	registry, err := a.kinds()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range referencePages(lang.Schema(registry, a.formats.Names(), a.tests), a.root()) {
		var out bytes.Buffer
		if err := p.write(&out); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "..", "..", "docs", "reference", p.name)
		if *updateReference {
			if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s is not current; go test ./pipeline/internal/cli -run Reference -update rewrites it (-page +program):\n%s", path, diff)
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
	doc, err := json.Marshal(lang.Schema(registry, a.formats.Names(), a.tests))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mode.All() {
		if !bytes.Contains(doc, fmt.Appendf(nil, `{"name":%q`, m)) {
			t.Errorf("the schema does not list the mode %s", m)
		}
	}
}
