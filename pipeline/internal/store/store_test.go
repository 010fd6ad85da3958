package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"pgregory.net/rapid"
)

// TestOnlyTheOwnerReads: a run holds logs and figures of servers that others of the machine
// have no business with.
func TestOnlyTheOwnerReads(t *testing.T) {
	d := create(t, filepath.Join(t.TempDir(), "out"))
	log, err := d.Log("server")
	if err != nil {
		t.Fatal(err)
	}
	journal, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Folder("files"); err != nil {
		t.Fatal(err)
	}
	_, err = d.WriteRecords("run", func(io.Writer) error { return nil })
	if err := errors.Join(err, d.WriteJSON("results.json", 1), d.WriteSource("a.hcl", nil), log.Close(), journal.Close()); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(d.Path(), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Create(path, event.NewRedactor([]string{"top-secret"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCreateRefusesWhatIsNotEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "run")
	d := create(t, path)
	if err := d.WriteJSON(PlanFile, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if _, err := Create(path, nil); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("a run directory: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.doc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(other, nil); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "thesis.doc") {
		t.Errorf("a folder with files: %v", err)
	}
	for _, path := range []string{"thesis.doc", filepath.Join("thesis.doc", "run")} {
		if _, err := Create(filepath.Join(other, path), nil); !errors.Is(err, ErrNotRun) || !strings.Contains(err.Error(), "another --out") {
			t.Errorf("a file as the directory of a new run: %v", err)
		}
	}
	if _, err := openRun(other, nil); !errors.Is(err, ErrNotRun) {
		t.Errorf("open what is no run: %v", err)
	}
}

func TestLock(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	if err := d.WriteJSON(PlanFile, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(path, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("resume of a running run: %v", err)
	}
	if _, err := Create(path, nil); !errors.Is(err, ErrLocked) || strings.Contains(err.Error(), "--resume") {
		t.Errorf("a second run in the directory of a running one: %v", err)
	}
	if r, err := openRun(path, nil); err != nil {
		t.Errorf("read a running run: %v", err)
	} else {
		r.Close()
	}
	d.Close()
	r, err := Resume(path, nil)
	if err != nil {
		t.Fatalf("resume once it has ended: %v", err)
	}
	r.Close()
}

func TestResumeSweepsTemporaryFiles(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	if err := d.WriteJSON(PlanFile, 1); err != nil {
		t.Fatal(err)
	}
	d.Close()
	left := filepath.Join(path, ".results.json4711")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Resume(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

// TestNowhereToWrite: who may not write below the working directory is told of --out.
func TestNowhereToWrite(t *testing.T) {
	_, err := Create("/sys/pipeline", nil) // root may not write there either
	if err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("got %v", err)
	}
}

func TestFilesAreMaskedAndWhole(t *testing.T) {
	d := create(t, t.TempDir())
	if err := d.WriteJSON(ResultsFile, map[string]string{"error": "token top-secret refused"}); err != nil {
		t.Fatal(err)
	}
	if text := read(t, d.Path(), ResultsFile); strings.Contains(text, "top-secret") || !strings.Contains(text, event.Mask) {
		t.Errorf("got %s", text)
	}
	broken := errors.New("no space left on device")
	err := d.WriteFile(ResultsFile, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) || strings.HasPrefix(read(t, d.Path(), ResultsFile), "half") {
		t.Errorf("a failed write: error %v, file %q", err, read(t, d.Path(), ResultsFile))
	}
	var back map[string]string
	if err := d.ReadJSON(ResultsFile, &back); err != nil || len(back) != 1 {
		t.Errorf("read back %v, %v", back, err)
	}
	entries, err := os.ReadDir(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".results") {
			t.Errorf("temporary file %s is left", e.Name())
		}
	}
}

func TestNoWayOut(t *testing.T) {
	outside := t.TempDir()
	d := create(t, t.TempDir())
	if err := d.WriteJSON("../x.json", 1); err == nil {
		t.Error("a name led out of the directory")
	}
	if err := os.RemoveAll(filepath.Join(d.Path(), "logs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(d.Path(), "logs")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Log("server"); err == nil {
		t.Error("a link led out of the directory")
	}
}

func TestRecordsAndSource(t *testing.T) {
	d := create(t, t.TempDir())
	name, err := d.WriteRecords(`r1-sut["a/b"]`, func(w io.Writer) error { _, err := io.WriteString(w, "gz"); return err })
	if err != nil || read(t, d.Path(), name) != "gz" || filepath.Dir(name) != "records" {
		t.Errorf("records at %s: %v", name, err)
	}
	if err := d.WriteSource("../conf/main.hcl", []byte(`key = "top-secret"`)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d.Path(), "source", "main.hcl"); got != `key = "(redacted)"` {
		t.Errorf("source: %s", got)
	}
}

func TestLogKeepsAllAndATail(t *testing.T) {
	d := create(t, t.TempDir())
	log, err := d.Log(`server.vllm.sut["base"]`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		fmt.Fprintf(log, "line %d\n", i)
	}
	fmt.Fprint(log, "key top-")
	fmt.Fprintf(log, "secret\n10%%\r20%%\r\n%s\nno end", strings.Repeat("x", 5000))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	tail := log.Tail()
	if n := len(tail); n != 50 || tail[n-1] != "no end" || len(tail[n-2]) != tailWidth || tail[n-3] != "20%" || tail[n-4] != "key (redacted)" {
		t.Errorf("%d lines, the last: %.60q", n, tail[max(0, n-4):])
	}
	whole := read(t, d.Path(), log.Path())
	if !strings.HasPrefix(whole, "line 0\n") || !strings.HasSuffix(whole, "\nno end") || strings.Contains(whole, "top-secret") {
		t.Errorf("the log was not kept in full, with its secrets masked: %.80q", whole)
	}
	again, err := d.Log(`server.vllm.sut["base"]`)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(again, "more")
	if err := again.Close(); err != nil || read(t, d.Path(), log.Path()) != whole+"more" {
		t.Errorf("a reopened log does not go on: %v", err)
	}
}

// A server that writes without end does not fill the disk. What it said last is there, as
// is how much is not, also where the log is opened again.
func TestLogIsBounded(t *testing.T) {
	d := create(t, t.TempDir())
	for try := range 2 {
		log, err := d.Log("server")
		if err != nil {
			t.Fatal(err)
		}
		if try == 0 {
			log.room = 100 // of 64 MiB
		}
		for i := range 1000 {
			fmt.Fprintf(log, "line %d, try %d\n", i, try)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if tail := log.Tail(); len(tail) != 50 || tail[49] != fmt.Sprintf("line 999, try %d", try) {
			t.Errorf("tail: %.60q", tail)
		}
		whole := read(t, d.Path(), log.Path())
		if try == 1 {
			if !strings.HasSuffix(whole, "\nline 999, try 1\n") {
				t.Errorf("the second part: %.80q", whole)
			}
			continue
		}
		if !strings.HasPrefix(whole, "line 0, try 0\n") || !strings.HasSuffix(whole, "\nline 999, try 0\n") || len(whole) > 1500 {
			t.Errorf("%d bytes: %.80q", len(whole), whole)
		}
		if !strings.Contains(whole, "[pipeline: 15790 bytes are left out here, since a log is cut at 64 MiB") {
			t.Errorf("nothing says what is left out: %q", whole[:300])
		}
	}
}

func TestLogErrorsAreKept(t *testing.T) {
	d := create(t, t.TempDir())
	log, err := d.Log("server")
	if err != nil {
		t.Fatal(err)
	}
	log.file.Close() // as a full disk: every write fails from here on
	if n, err := log.Write([]byte("text\n")); n != 5 || err != nil {
		t.Errorf("the writer was told %d, %v: a server would stop at that", n, err)
	}
	if log.Err() == nil || log.Close() == nil {
		t.Error("the error is lost")
	}
	if tail := log.Tail(); len(tail) != 1 {
		t.Errorf("tail: %q", tail)
	}
}

func TestJournalCutsTheTornEnd(t *testing.T) {
	d := create(t, t.TempDir())
	write := func(n int) {
		j, err := d.Journal()
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			j.Handle(event.Event{Type: event.RunEnd})
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(2)
	path := filepath.Join(d.Path(), EventsFile)
	if err := os.WriteFile(path, []byte(read(t, path)+`{"seq":3,"ty`), 0o600); err != nil {
		t.Fatal(err)
	}
	write(1)
	n := 0
	if err := d.Events(func(event.Event) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("%d events, %v; want 3", n, err)
	}
}

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"r1-server.vllm.sut": "r1-server.vllm.sut",
		"":                   "e3b0c4",
		"../../etc/passwd":   "_.._etc_passwd-3754d6",
	} {
		if got := Name(text); got != want {
			t.Errorf("Name(%q) = %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		na, nb := Name(a), Name(b)
		if na == "" || len(na) > maxName+7 || strings.ContainsAny(na, "/\\\x00") || na[0] == '.' {
			t.Fatalf("Name(%q) = %q", a, na)
		}
		if a != b && na == nb {
			t.Fatalf("%q and %q share the name %q", a, b, na)
		}
	})
}

func TestDefaultPlaceAndLatest(t *testing.T) {
	base := t.TempDir()
	at := time.Date(2026, 8, 22, 10, 11, 12, 0, time.UTC)
	for _, random := range []string{"\x1a\x2b\x3c\x4d", "\x00\x01\x02\x03"} {
		id, err := RunID(at, strings.NewReader(random))
		if err != nil {
			t.Fatal(err)
		}
		create(t, DefaultPath(base, id))
		if err := LinkLatest(base, id); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(filepath.Join(base, ".pipeline", "runs", "latest")); err != nil || got != id {
			t.Errorf("latest is %q, %v; want %q", got, err, id)
		}
	}
	if _, err := RunID(at, strings.NewReader("")); err == nil {
		t.Error("no randomness, but a name")
	}
}

func TestCache(t *testing.T) {
	c, err := OpenCache(filepath.Join(t.TempDir(), "steps"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Load("step.exec.build", "v1"); ok {
		t.Error("an empty cache has an entry")
	}
	if err := c.Store("step.exec.build", "v1", map[string]string{"digest": "sha256:1"}); err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Load("step.exec.build", "v1"); !ok || got["digest"] != "sha256:1" {
		t.Errorf("got %v, %v", got, ok)
	}
	for _, id := range [][2]string{{"step.exec.build", "v2"}, {"step.exec.other", "v1"}} {
		if _, ok := c.Load(id[0], id[1]); ok {
			t.Errorf("%v found an entry that is not its own", id)
		}
	}
	names, err := os.ReadDir(c.root.Name())
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	if err := os.WriteFile(filepath.Join(c.root.Name(), names[0].Name()), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Load("step.exec.build", "v1"); ok {
		t.Error("a torn entry counts")
	}
	if slices.ContainsFunc(names, func(e os.DirEntry) bool { return strings.Contains(e.Name(), " ") }) {
		t.Errorf("odd file name %v", names)
	}
}
