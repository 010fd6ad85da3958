package docker

import (
	"archive/tar"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
)

// The archive is unpacked at the root of a container: a folder for everybody to read, with
// plain files, which nothing leads out of.
func TestFilesArchive(t *testing.T) {
	files := []steps.File{{Name: "mooncake.json", EnvVar: "MOONCAKE_CONFIG_PATH", Content: []byte("{}")},
		{Name: "lmcache.yaml", Content: []byte("a: 1\n")}}
	buf, err := filesArchive(files)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := tar.NewReader(buf); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Mode&0o444 != 0o444 {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = string(text)
	}
	want := map[string]string{"etc/pipeline/": "", "etc/pipeline/mooncake.json": "{}", "etc/pipeline/lmcache.yaml": "a: 1\n"}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	env := steps.FilesIn(steps.Process{Env: []steps.EnvVar{{Name: "MOONCAKE_CONFIG_PATH", Value: "mine"}, {Name: "A", Value: "1"}},
		Files: files}, filesDir).Env
	if !slices.Equal(env, []steps.EnvVar{{Name: "A", Value: "1"}, {Name: "MOONCAKE_CONFIG_PATH", Value: "/etc/pipeline/mooncake.json"}}) {
		t.Errorf("env %v", env)
	}
	named := steps.Process{Argv: []string{"serve", "--config", files[0].Word()}, Files: files}
	if argv := steps.FilesIn(named, filesDir).Argv; argv[2] != filesDir+"/"+files[0].Name || named.Argv[2] != files[0].Word() {
		t.Errorf("the command line is %v, and was %v", argv, named.Argv)
	}
	for _, name := range []string{"", "..", "a/b", "/x", `a\b`} {
		if _, err := filesArchive([]steps.File{{Name: name}}); err == nil {
			t.Errorf("a file named %q is taken", name)
		}
	}
}
