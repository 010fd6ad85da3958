// Package golden compares what a test gets with a golden file. It is imported by tests alone, and registers
// their flag -update, which writes the files anew.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updating reports whether golden files are to be written.
func Updating() bool { return *update }

// Equal fails a test whose text differs from the golden file at path. With -update it writes the file first.
func Equal[T ~string | ~[]byte](tb testing.TB, path string, got T) {
	tb.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("%v; run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		tb.Errorf("%s (-want +got); run the test with -update to accept it:\n%s", path, diff)
	}
}
