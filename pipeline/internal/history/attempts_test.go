package history

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEarlierAttempts(t *testing.T) {
	l := Attempts{filepath.Join(t.TempDir(), "attempts")}
	change := Change{"o/r#7", "main", "two.pipeline.hcl", ""}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if runs, err := l.Earlier(change); len(runs) != 0 || err != nil {
		t.Fatalf("%v, %v", runs, err)
	}
	want := []Attempt{{ID: "1", Dir: "/runs/1", Time: at, Red: []string{"gate.g"}}, {ID: "2", Dir: "/runs/2", Time: at, Plan: "f00"}}
	for _, r := range []Attempt{want[0], want[0], want[1]} { // the first was resumed once
		if err := l.Note(change, r); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(l.file(change), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"id\":\n\x00\nnull\n[1]"); err != nil { // cut off
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want = append(want, Attempt{ID: "3", Dir: "/runs/3", Time: at})
	if err := l.Note(change, want[2]); err != nil {
		t.Fatal(err)
	}
	got, err := l.Earlier(change)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, other := range []Change{{"o/r#8", "main", change.File, ""}, {change.ID, "next", change.File, ""},
		{change.ID, change.Base, "three", ""}, {change.ID, change.Base, change.File, "leg"}} {
		if runs, err := l.Earlier(other); len(runs) != 0 || err != nil {
			t.Errorf("%v: %v, %v", other, runs, err)
		}
	}
}

func TestNotesAtOnceAreAllKept(t *testing.T) {
	l := Attempts{t.TempDir()}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := l.Note(Change{ID: "a"}, Attempt{ID: string(rune('a' + i))}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs, err := l.Earlier(Change{ID: "a"}); len(runs) != 20 || err != nil {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// A ledger that cannot be read to its end is an error, beside what was read of it.
func TestUnreadableAttempts(t *testing.T) {
	change := Change{ID: "o/r#7"}
	folder := Attempts{t.TempDir()}
	if err := os.Mkdir(folder.file(change), 0o700); err != nil { // opens, and fails when read
		t.Fatal(err)
	}
	if runs, err := folder.Earlier(change); len(runs) != 0 || err == nil {
		t.Errorf("a folder in its place: %v, %v", runs, err)
	}
	long := Attempts{t.TempDir()}
	if err := long.Note(change, Attempt{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := long.Note(change, Attempt{ID: strings.Repeat("2", maxAttempt)}); err != nil {
		t.Fatal(err)
	}
	if runs, err := long.Earlier(change); len(runs) != 1 || err == nil {
		t.Errorf("a line without end: %d runs, %v", len(runs), err)
	}
}
