package scratch_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/scratch"
)

// heldVar makes this test program one that makes a folder, prints its path, and waits for its end.
const heldVar = "PIPELINE_SCRATCH_HELD"

func TestMain(m *testing.M) {
	if os.Getenv(heldVar) == "" {
		m.Run()
		return
	}
	held, err := scratch.New(scratch.Build)
	if err == nil {
		module := filepath.Join(held.Path, "module")
		err = errors.Join(os.Mkdir(module, 0o700), os.WriteFile(filepath.Join(module, "file"), nil, 0o400), os.Chmod(module, 0o500))
	}
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(held.Path + "\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // ends if the test does
	runtime.KeepAlive(held)
}

// another starts a program with a folder. kill ends it as kill -9 does.
func another(t *testing.T) (path string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), heldVar+"=1")
	_, err := cmd.StdinPipe()
	out, failed := cmd.StdoutPipe()
	if err := errors.Join(err, failed, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), kill
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestFoldersOfKilledPrograms(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	living, _ := another(t)
	dead, kill := another(t)
	stays := filepath.Join(os.TempDir(), "pipeline-other-1")
	link := filepath.Join(os.TempDir(), "pipeline-build-2")
	if err := errors.Join(os.Mkdir(stays, 0o700), os.Symlink(stays, link)); err != nil {
		t.Fatal(err)
	}
	if found, err := scratch.Sweep(false); err != nil || len(found) > 0 {
		t.Errorf("removed %v of living programs: %v", found, err)
	}
	kill()
	if found, err := scratch.Sweep(true); err != nil || !slices.Equal(found, []string{dead}) || !exists(dead) {
		t.Errorf("a dry run found %v: %v", found, err)
	}
	if found, err := scratch.Sweep(false); err != nil || !slices.Equal(found, []string{dead}) || exists(dead) {
		t.Errorf("removed %v: %v", found, err)
	}
	if !exists(living) || !exists(stays) || !exists(link) {
		t.Error("something of others was removed")
	}
}

// TestNextOfTheKind: a new folder is empty, and takes the place of what killed programs left of its kind.
func TestNextOfTheKind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead, kill := another(t)
	kill()
	driver, err := scratch.New(scratch.Driver)
	if err != nil || !exists(dead) {
		t.Fatal("a folder of another kind was removed", err)
	}
	build, err := scratch.New(scratch.Build)
	if err != nil || exists(dead) {
		t.Fatal("it is left", err)
	}
	for _, f := range []*scratch.Folder{driver, build} {
		if files, err := os.ReadDir(f.Path); err != nil || len(files) > 0 {
			t.Errorf("%v, %v", files, err)
		}
		if err := f.Remove(); err != nil || exists(f.Path) {
			t.Error("it is not removed", err)
		}
	}
}

// TestMissingTemporaryFolder: a TMPDIR that does not exist is named.
func TestMissingTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if _, err := scratch.New(scratch.History); err == nil || !strings.Contains(err.Error(), "set TMPDIR to a folder") {
		t.Errorf("%v", err)
	}
}
