package process_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// A process finds its files where their variables say, whatever the file set them to.
func TestFiles(t *testing.T) {
	sp := &fakeSpawner{}
	dir := t.TempDir()
	l := process.New(sp, process.Options{Folder: func(string) (string, error) { return dir, nil }})
	p := processOf(t, l)
	p.Env = []steps.EnvVar{{Name: "CONFIG", Value: "elsewhere"}, {Name: "A", Value: "1"}}
	p.Files = []steps.File{{Name: "mooncake.json", EnvVar: "CONFIG", Content: []byte("{}\n")}}
	server, err := l.Start(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop(context.Background())
	path := filepath.Join(dir, "mooncake.json")
	want := []steps.EnvVar{{Name: "A", Value: "1"}, {Name: "CONFIG", Value: path}}
	if !slices.Equal(sp.command.Env, want) {
		t.Errorf("env %v, want %v", sp.command.Env, want)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{}\n" {
		t.Errorf("%q, %v", text, err)
	}
	if p.Env[0].Value != "elsewhere" {
		t.Error("the caller's environment was changed")
	}
}

func TestFilesThatCannotBe(t *testing.T) {
	for name, tt := range map[string]struct {
		file   string
		folder func(string) (string, error)
		want   string
	}{
		"a path":    {"../x", func(string) (string, error) { return t.TempDir(), nil }, "not a plain file name"},
		"no folder": {"x", nil, "nothing says where to write them"},
	} {
		sp := &fakeSpawner{}
		l := process.New(sp, process.Options{Folder: tt.folder})
		p := processOf(t, l)
		p.Files = []steps.File{{Name: tt.file, EnvVar: "X"}}
		if _, err := l.Start(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), tt.want) || sp.child != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
