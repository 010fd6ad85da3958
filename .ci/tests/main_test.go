package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// events are of two packages: one with a skipped, a failed and a passed test, and one whose test binary ended early.
const events = `{"Time":"2026-01-01T10:00:00Z","Action":"run","Package":"github.com/servegate/pipeline/a","Test":"TestSkipped"}
{"Time":"2026-01-01T10:00:00Z","Action":"output","Package":"github.com/servegate/pipeline/a","Test":"TestSkipped","Output":"    a_test.go:7: needs docker: no daemon answers\n"}
{"Time":"2026-01-01T10:00:00Z","Action":"output","Package":"github.com/servegate/pipeline/a","Test":"TestSkipped","Output":"--- SKIP: TestSkipped (0.00s)\n"}
{"Time":"2026-01-01T10:00:00Z","Action":"skip","Package":"github.com/servegate/pipeline/a","Test":"TestSkipped","Elapsed":0}
{"Time":"2026-01-01T10:00:01Z","Action":"output","Package":"github.com/servegate/pipeline/a","Test":"TestWrong/part/1","Output":"    a_test.go:9: want 1\n"}
{"Time":"2026-01-01T10:00:02Z","Action":"fail","Package":"github.com/servegate/pipeline/a","Test":"TestWrong/part/1","Elapsed":1.5}
{"Time":"2026-01-01T10:00:02Z","Action":"fail","Package":"github.com/servegate/pipeline/a","Test":"TestWrong","Elapsed":1.6}
{"Time":"2026-01-01T10:00:02Z","Action":"output","Package":"github.com/servegate/pipeline/a","Test":"TestRight","Output":"    a_test.go:11: said in passing\n"}
{"Time":"2026-01-01T10:00:02Z","Action":"pass","Package":"github.com/servegate/pipeline/a","Test":"TestRight","Elapsed":0.5}
{"Time":"2026-01-01T10:00:02Z","Action":"output","Package":"github.com/servegate/pipeline/a","Output":"FAIL\tgithub.com/servegate/pipeline/a\t2.1s\n"}
{"Time":"2026-01-01T10:00:02Z","Action":"fail","Package":"github.com/servegate/pipeline/a","Elapsed":2.1}
{"Time":"2026-01-01T10:00:03Z","Action":"output","Package":"github.com/servegate/pipeline/b","Test":"TestCut","Output":"panic: cut off\n"}
{"Time":"2026-01-01T10:01:05Z","Action":"fail","Package":"github.com/servegate/pipeline/b","Elapsed":60}
no JSON
`

func TestShow(t *testing.T) {
	var out, kept strings.Builder
	if err := show(&out, &kept, strings.NewReader(events)); err != nil || kept.String() != events {
		t.Fatalf("%v, kept\n%s", err, &kept)
	}
	if want := "    a_test.go:9: want 1\nFAIL\tgithub.com/servegate/pipeline/a\t2.1s\npanic: cut off\nno JSON\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// TestSets: sets of tests run at once, one log keeps the events of all, and one that fails fails all.
func TestSets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	err := runSets(file, []string{"-list", "^TestSummary$", ".", "--", "-list", "^TestShow$", "."})
	text, _ := os.ReadFile(file) // err tells
	if err != nil || !strings.Contains(string(text), `"TestSummary\n"`) || !strings.Contains(string(text), `"TestShow\n"`) {
		t.Errorf("%v: %s", err, text)
	}
	if err := runSets(file, []string{"-list", "^TestShow$", ".", "--", "./nowhere"}); err == nil {
		t.Error("a set that cannot run fails nothing")
	}
}

func TestSummary(t *testing.T) {
	var out strings.Builder
	logged(t, func(l *log) { l.summary(&out) })
	if want := "skipped  a TestSkipped: needs docker: no daemon answers\n2 packages, 1 tests passed, 2 failed, 1 skipped, in 1m5s\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	page, stages := filepath.Join(dir, "page.md"), filepath.Join(dir, "stages.tsv")
	for file, text := range map[string]string{page: "before\n" + from + "old\n" + to + "after\n", stages: "lint\t90.5\t170.1\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logged(t, func(l *log) {
		if err := l.write(page, stages); err != nil {
			t.Fatal(err)
		}
	})
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + from +
		"\n| stage | wall | processor |\n|:--|--:|--:|\n| lint | 1:30 | 2:50 |\n\n| slowest tests | wall |\n|:--|--:|\n" +
		"| `a` TestWrong/part/1 | 1.5 s |\n| `a` TestRight | 0.5 s |\n| `a` TestSkipped | 0.0 s |\n| `b` TestCut | 0.0 s |\n\n" + to + "after\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func logged(t *testing.T, do func(l *log)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(events), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := withLogs([]string{file}, func(l *log) error { do(l); return nil }); err != nil {
		t.Fatal(err)
	}
}
