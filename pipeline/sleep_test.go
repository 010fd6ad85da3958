package main_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var realTime = regexp.MustCompile(`\btime\.(Sleep|After|AfterFunc|Tick|NewTicker|NewTimer)\(`)

// within polls until something holds, and reports whether it did before a limit. It is for
// what other processes and daemons do, which send us no event.
func within(limit, interval time.Duration, holds func() bool) bool {
	// real time: another process goes on meanwhile
	for deadline := time.Now().Add(limit); ; time.Sleep(interval) {
		if holds() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// fileHolds is the question whether a file holds a text by now, for [within].
func fileHolds(file, text string) func() bool {
	return func() bool {
		content, _ := os.ReadFile(file) // it may not be there yet
		return bytes.Contains(content, []byte(text))
	}
}

// TestNoTestSleeps: time is injected, so what waits in a test does so on the clock of
// testing/synctest. What cannot, because it waits for another process, a socket or a daemon,
// gives the reason on the line above it, after "real time:".
func TestNoTestSleeps(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), `"testing/synctest"`) {
			return err
		}
		above := ""
		for i, line := range strings.Split(string(text), "\n") {
			if realTime.MatchString(line) && !strings.Contains(above, "// real time: ") {
				t.Errorf("%s:%d waits in real time: use testing/synctest, or write above it what it waits for, after \"// real time: \"", path, i+1)
			}
			above = line
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
