package weights

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// What was read is in the page cache. What the kernel keeps of a file, and for how long, is its affair: that
// something was not there is seen with a memory that is made up.
func TestInMemoryAfterRead(t *testing.T) {
	const bytes = 2*chunk + 12345
	path := weightsOf(t, "m.safetensors", bytes)
	if got, err := plenty.ahead(t.Context(), []string{path}); err != nil || got.Read != bytes {
		t.Fatalf("%+v, %v", got, err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !inMemory(f, 0, bytes) {
		t.Skip("this file system does not say what is in memory")
	}
	if got, err := Ahead(t.Context(), []string{path}); err != nil || got.Bytes != bytes || got.Read != 0 {
		t.Errorf("read again: %+v, %v", got, err)
	}
}

func TestAvailable(t *testing.T) {
	if free, err := available(); err != nil || free <= 0 || free > 1<<50 {
		t.Errorf("available: %d, %v", free, err)
	}
}

// A limit of a group, or of one above it, bounds what is available; page cache is let go for it.
func TestGroupsFree(t *testing.T) {
	root := t.TempDir()
	write := func(group, file, text string) {
		dir := filepath.Join(root, group)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := groupsFree(root, "/a/b"); got != math.MaxInt64 {
		t.Errorf("no groups: %d", got)
	}
	write("a/b", "memory.max", "max\n")
	write("a/b", "memory.current", "50\n")
	if got := groupsFree(root, "/a/b"); got != math.MaxInt64 {
		t.Errorf("no limit: %d", got)
	}
	write("a", "memory.max", "1000\n")
	write("a", "memory.current", "900\n")
	write("a", "memory.stat", "anon 400\nfile 500\ninactive_file 300\nactive_file 150\n")
	if got := groupsFree(root, "/a/b"); got != 550 {
		t.Errorf("a limit above: %d", got)
	}
	write("a/b", "memory.max", "60\n")
	if got := groupsFree(root, "/a/b"); got != 10 {
		t.Errorf("the closer limit: %d", got)
	}
}
