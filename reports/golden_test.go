package reports_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with go test -update)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), go test -update if that is wanted:\n%s", path, diff)
	}
}

// format is a row of the table.
func format(name string) reports.Format {
	f, ok := reports.AllFormats().Lookup(name)
	if !ok {
		panic("no format " + name)
	}
	return f
}

// suffixes are those of the golden files, of the formats that are read whole.
var suffixes = map[string]string{"markdown": "md", "text": "txt", "junit": "xml", "csv": "csv", "json": "json"}

// keptDocuments are those whose JSON is kept: the other ones have the same members.
var keptDocuments = []string{"regression", "head-dead", "sides", "hostile"}

func TestGolden(t *testing.T) {
	for name, built := range fixtures() {
		t.Run(name, func(t *testing.T) {
			doc := reread(t, built)
			for format, suffix := range suffixes {
				if format == "json" && !slices.Contains(keptDocuments, name) {
					continue
				}
				golden(t, name+"."+suffix, written(t, format, doc, reports.Options{}))
			}
		})
	}
}

// written is a document in one of the formats.
func written(t *testing.T, name string, doc *result.Document, o reports.Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := format(name).Document(&out, doc, o); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out.Bytes()
}

// reread is doc as any reader of results.json has it.
func reread(t *testing.T, doc *result.Document) *result.Document {
	t.Helper()
	var out bytes.Buffer
	if err := result.Encode(&out, doc); err != nil {
		t.Fatal(err)
	}
	got, err := result.Decode(&out, result.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
