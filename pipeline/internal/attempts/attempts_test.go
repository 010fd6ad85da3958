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
	key := Key{"o/r#7", "main", "two.pipeline.hcl", ""}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if runs, err := l.Earlier(key); len(runs) != 0 || err != nil {
		t.Fatalf("%v, %v", runs, err)
	}
	want := []Run{{ID: "1", Dir: "/runs/1", Time: at, Red: []string{"gate.g"}}, {ID: "2", Dir: "/runs/2", Time: at, Plan: "f00"}}
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
	want = append(want, Run{ID: "3", Dir: "/runs/3", Time: at})
	if err := l.Note(key, want[2]); err != nil {
		t.Fatal(err)
	}
	got, err := l.Earlier(key)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, other := range []Key{{"o/r#8", "main", key.File, ""}, {key.Change, "next", key.File, ""}, {key.Change, key.Base, "three", ""},
		{key.Change, key.Base, key.File, "leg"}} {
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
			if err := l.Note(Key{Change: "a"}, Run{ID: string(rune('a' + i))}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs, err := l.Earlier(Key{Change: "a"}); len(runs) != 20 || err != nil {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
