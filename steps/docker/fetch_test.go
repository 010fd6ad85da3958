package docker

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Files of a container end up in the folder, whatever they are called, and nothing else does.
func TestExtract(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "traces/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "traces/rank0.json.gz", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3},
		{Name: "../../../escaped.json", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3},
		{Name: "/etc/absolute.json", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3},
		{Name: "traces/.hidden", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3},
		{Name: "traces/..", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3},
		{Name: "traces/link.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("abc")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	dir := filepath.Join(t.TempDir(), "into")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := extract(bytes.NewReader(whole), dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"rank0.json.gz": true, "escaped.json": true, "absolute.json": true, ".hidden": false,
		"link.json": false} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if want != (err == nil && string(text) == "abc") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if outside, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(outside) != 1 {
		t.Errorf("files outside of the folder: %v, %v", outside, err)
	}
	if err := extract(bytes.NewReader(whole), dir); err == nil {
		t.Error("a file that is there already is written over")
	}
	if err := extract(bytes.NewReader(whole[:1026]), t.TempDir()); err == nil {
		t.Error("an archive that is cut is whole")
	}
}
