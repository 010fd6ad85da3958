package target

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

func cacheFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCacheState checks that folders of the same files have the same state wherever they are, and that a name or a size
// makes another.
func TestCacheState(t *testing.T) {
	state := func(files map[string]string) result.CacheState {
		got, err := cacheState(cacheFolder(t, files))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one := state(map[string]string{"a/x": "12", "b": "345"})
	if one.Files != 2 || one.Bytes != 5 || len(one.Digest) != 16 {
		t.Errorf("state %+v", one)
	}
	if again := state(map[string]string{"b": "543", "a/x": "21"}); again != one {
		t.Errorf("the same names and sizes: %+v, want %+v", again, one)
	}
	for name, files := range map[string]map[string]string{
		"another name": {"a/y": "12", "b": "345"}, "another size": {"a/x": "1", "b": "3456"}, "another folder": {"x": "12", "b": "345"},
	} {
		if other := state(files); other.Digest == one.Digest || other.Bytes != one.Bytes {
			t.Errorf("%s: %+v", name, other)
		}
	}
	if empty := state(nil); empty.Files != 0 || empty.Digest == "" {
		t.Errorf("an empty folder: %+v", empty)
	}
	if _, err := cacheState("/none"); err == nil {
		t.Error("a folder that is not there has a state")
	}
}
