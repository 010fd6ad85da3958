package machine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
)

func TestLockDir(t *testing.T) {
	tests := map[string]struct {
		make func(t *testing.T, path string)
		want string // part of the error, "" for none
	}{
		"new":    {func(*testing.T, string) {}, ""},
		"sticky": {func(t *testing.T, path string) { t.Helper(); mkdir(t, path, os.ModeSticky|0o777) }, ""},
		"own":    {func(t *testing.T, path string) { t.Helper(); mkdir(t, path, 0o700) }, ""},
		"open":   {func(t *testing.T, path string) { t.Helper(); mkdir(t, path, 0o777) }, "chmod 1777"},
		"a link": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Symlink(t.TempDir(), path); err != nil {
				t.Fatal(err)
			}
		}, "is not a folder"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "locks")
			tt.make(t, path)
			got, err := LockDir(func(name string) string { return map[string]string{LockDirEnv: path}[name] })
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err != nil {
				return
			}
			info, err := os.Stat(got)
			if err != nil || name == "new" && info.Mode()&(os.ModeSticky|0o777) != os.ModeSticky|0o777 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		})
	}
}

func mkdir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Anybody may have written into a lock file.
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	for text, want := range map[string]string{
		"run 1, process 2 of user u\n": "run 1, process 2 of user u",
		"":                             "another run",
		" \n":                          "another run",
		"a\x1b[2J\nb\u202e":            "a[2Jb",
		strings.Repeat("x", 500):       "another run",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := holder(path); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := holder(path + "-none"); got != "another run" {
		t.Errorf("no file: %q", got)
	}
}

func TestCreateLockRefusesOtherThings(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link.lock")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	if err := createLock(link); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link: %v", err)
	}
	path := filepath.Join(dir, "x.lock")
	for range 2 {
		if err := createLock(path); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", info, err)
	}
}

// A run that waits says for whom, at once and again each minute.
func TestWaitingIsSaidEachMinute(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpu.lock")
	other := flock.New(path)
	if held, err := other.TryLock(); err != nil || !held {
		t.Fatal(held, err)
	}
	if err := note(path, "run 1, process 2 of user u, a.hcl, since t\n"); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var said []string
		l := Locks{RunID: "me", File: "b.hcl", Now: time.Now, Warn: func(text string) { said = append(said, text) }}
		time.AfterFunc(150*time.Second, func() { _ = other.Unlock() })
		began := time.Now()
		release, err := l.hold(t.Context(), "GPU 0", path)
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 150*time.Second || waited > 152*time.Second {
			t.Errorf("waited %s", waited)
		}
		if len(said) != 3 || said[0] != "waiting for GPU 0, held by run 1, process 2 of user u, a.hcl, since t" {
			t.Errorf("said %q", said)
		}
		if got := holder(path); !strings.HasPrefix(got, "run me, process ") || !strings.Contains(got, "b.hcl") {
			t.Errorf("the file says %q", got)
		}
		release()

		if _, err := other.TryLock(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := l.hold(ctx, "GPU 0", path); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a run that is ended while it waits: %v", err)
		}
		_ = other.Unlock()
	})
}
