package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBuildRequest(t *testing.T) {
	f := newFake(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"app.Dockerfile": "FROM scratch\n", "keep.txt": "k", "secret.env": "s",
		".dockerignore": "# what stays here\n*.env\n\napp.Dockerfile\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	id, err := Build(context.Background(), BuildOptions{
		Host: f.host, Dir: dir, Dockerfile: "app.Dockerfile", Tag: "app:1", Args: map[string]string{"REF": "main"},
		Labels: map[string]string{"a": "b"}, Target: "final", NoCache: true, Pull: true, Log: &log,
	})
	if err != nil || id != fakeImage || log.String() != "Step 1/1\n" {
		t.Errorf("got %s, %v, log %q", id, err, log.String())
	}
	if got, want := names(t, f.builds[0]), []string{".dockerignore", "app.Dockerfile", "keep.txt"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	const want = "POST /build?buildargs=%7B%22REF%22%3A%22main%22%7D&dockerfile=app.Dockerfile&forcerm=1&labels=%7B%22a%22%3A%22b%22%7D&nocache=1&pull=1&rm=1&t=app%3A1&target=final&version=1"
	if got := f.seen("/build"); got[0] != want {
		t.Errorf("asked for\n%s\nwant\n%s", got[0], want)
	}
}

func names(t *testing.T, context []byte) []string {
	t.Helper()
	var out []string
	r := tar.NewReader(bytes.NewReader(context))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, h.Name)
	}
}

func TestBuildFails(t *testing.T) {
	f := newFake(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		opt  BuildOptions
		want string
	}{
		"no tag":      {BuildOptions{Dir: dir}, "a folder and a tag are needed"},
		"bad tag":     {BuildOptions{Dir: dir, Tag: "t?x"}, "is not the name of an image"},
		"outside":     {BuildOptions{Dir: dir, Tag: "t", Dockerfile: "../Dockerfile"}, "is not inside of"},
		"no folder":   {BuildOptions{Dir: filepath.Join(dir, "none"), Tag: "t"}, "no such file"},
		"no file":     {BuildOptions{Dir: dir, Tag: "t", Dockerfile: "other"}, "other: no such file"},
		"bad host":    {BuildOptions{Dir: dir, Tag: "t", Host: "ssh://h"}, "forward the socket"},
		"bad builder": {BuildOptions{Dir: dir, Tag: "t"}, "out of order"},
	} {
		if tt.opt.Host == "" {
			tt.opt.Host = f.host
		}
		f.fail["POST /build"] = "out of order"
		if _, err := Build(context.Background(), tt.opt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestReadBuild(t *testing.T) {
	for in, want := range map[string]string{
		`{"stream":"a"}{"status":"Pulling"}{"stream":"b\n"}`:                 "aPulling\nb\n",
		`{"stream":"a"}{"errorDetail":{},"error":"the command failed \n"}{}`: "a! the command failed",
		`{"stream":`: "! reading the builder's output: unexpected EOF",
	} {
		var log bytes.Buffer
		if err := readBuild(strings.NewReader(in), &log); err != nil {
			log.WriteString("! " + err.Error())
		}
		if log.String() != want {
			t.Errorf("%s: got %q, want %q", in, log.String(), want)
		}
	}
	if err := readBuild(strings.NewReader(`{"stream":"a"}`), fullDisk{}); err == nil {
		t.Error("a log that cannot be written is no error")
	}
}

func TestSimulatorImageIsRefused(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{script: "is not a Linux program", filepath.Join(dir, "none"): "no such file"} {
		if _, err := SimulatorImage(context.Background(), "unix:///none", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
