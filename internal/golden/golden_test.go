package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
)

// spy records how a test fails.
type spy struct {
	testing.TB
	said string
}

func (s *spy) Helper()                      {}
func (s *spy) Errorf(f string, args ...any) { s.said = fmt.Sprintf(f, args...) }
func (s *spy) Fatalf(f string, args ...any) { s.said = fmt.Sprintf(f, args...); panic(s) }

// said returns how a comparison fails, "" where it does not.
func said(path, got string) (text string) {
	s := &spy{}
	defer func() {
		_ = recover() // Fatalf ends the test
		text = s.said
	}()
	golden.Equal(s, path, got)
	return s.said
}

func TestEqual(t *testing.T) {
	if golden.Updating() {
		t.Skip("nothing is compared with -update")
	}
	path := filepath.Join(t.TempDir(), "x.golden")
	if got := said(path, "a\n"); !strings.Contains(got, "run the test with -update to write it") {
		t.Errorf("a file that is missing: %q", got)
	}
	if err := os.WriteFile(path, []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := said(path, "a\n"); got != "" {
		t.Errorf("equal texts: %q", got)
	}
	if got := said(path, "b\n"); !strings.Contains(got, "-want +got") || !strings.Contains(got, path) {
		t.Errorf("texts that differ: %q", got)
	}
}
