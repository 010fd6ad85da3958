package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStart bounds what packages allocate before main, which each start of the program pays for: tables and expressions
// are made when they are first used.
func TestStart(t *testing.T) {
	const most = 150 // allocations of a package
	cmd := exec.Command("pipeline", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := regexp.MustCompile(`(?m)^init (github\.com/servegate/pipeline/\S+) .* (\d+) allocs$`).FindAllSubmatch(out, -1)
	if len(packages) < 20 {
		t.Errorf("%d packages are in the trace:\n%s", len(packages), out)
	}
	for _, p := range packages {
		if n, _ := strconv.Atoi(string(p[2])); n > most && !strings.HasSuffix(string(p[1]), "_test") {
			t.Errorf("%s: %d allocations before main, at most %d are allowed", p[1], n, most)
		}
	}
}
