package attempts

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEarlier(t *testing.T) {
	l := Open(filepath.Join(t.TempDir(), "attempts"))
	key := Key{"abc", "two.pipeline.hcl", "f00"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if runs, err := l.Earlier(key); len(runs) != 0 || err != nil {
		t.Fatalf("%v, %v", runs, err)
	}
	want := []Run{{"1", "/runs/1", at}, {"2", "/runs/2", at}}
	for _, r := range []Run{want[0], want[0], want[1]} { // the first was resumed once
		if err := l.Note(key, r); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(l.file(key), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"id\":\n\x00\nnull\n[1]"); err != nil { // cut off
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want = append(want, Run{"3", "/runs/3", at})
	if err := l.Note(key, want[2]); err != nil {
		t.Fatal(err)
	}
	got, err := l.Earlier(key)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, other := range []Key{{"abd", key.File, key.Plan}, {key.Head, "three", key.Plan}, {key.Head, key.File, "f01"}} {
		if runs, err := l.Earlier(other); len(runs) != 0 || err != nil {
			t.Errorf("%v: %v, %v", other, runs, err)
		}
	}
}

func TestNotesAtOnceAreAllKept(t *testing.T) {
	l := Open(t.TempDir())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := l.Note(Key{Head: "a"}, Run{ID: string(rune('a' + i))}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs, err := l.Earlier(Key{Head: "a"}); len(runs) != 20 || err != nil {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
