package cli

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// TestLinesAreShownAtOnce: what a command prints appears in the order in which it is printed, whatever
// the secrets of the environment begin with.
func TestLinesAreShownAtOnce(t *testing.T) {
	var shown bytes.Buffer
	environ := []string{"GITHUB_TOKEN=pK7wX2mQ9zR4tV6yB1nC", "DB_PASSWORD=Hq8sD3kJ5gLaZ0xV7cB"}
	a := newApp(Streams{Out: &shown, Err: &shown, Log: &shown, Environ: func() []string { return environ }})
	for name, w := range map[string]io.Writer{"Out": a.Out, "Err": a.Err, "Log": a.Log} {
		for c := '!'; c <= '~'; c++ {
			line := fmt.Sprintf("note: %s ends with %c\n", name, c)
			shown.Reset()
			if _, err := io.WriteString(w, line); err != nil || shown.String() != line {
				t.Errorf("%s: wrote %q, got %q, %v", name, line, shown.String(), err)
			}
		}
	}
}
