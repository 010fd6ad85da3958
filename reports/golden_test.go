package reports_test

import (
	"bytes"
	"flag"
	"io"
	"maps"
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

// formats are the renderers by the suffix of their golden files.
var formats = map[string]func(io.Writer, *result.Document) error{
	"md":   func(w io.Writer, d *result.Document) error { return reports.Markdown(w, d, reports.Options{}) },
	"txt":  func(w io.Writer, d *result.Document) error { return reports.Text(w, d, reports.Options{}) },
	"xml":  reports.JUnit,
	"csv":  reports.CSV,
	"json": reports.JSON,
}

func TestGolden(t *testing.T) {
	for name, built := range fixtures() {
		t.Run(name, func(t *testing.T) {
			doc := reread(t, built)
			for _, suffix := range slices.Sorted(maps.Keys(formats)) {
				var out bytes.Buffer
				if err := formats[suffix](&out, doc); err != nil {
					t.Fatalf("%s: %v", suffix, err)
				}
				golden(t, name+"."+suffix, out.Bytes())
			}
		})
	}
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
