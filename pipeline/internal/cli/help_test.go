package cli_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/cli"
	"github.com/servegate/pipeline/reports/term"
)

// helpOf returns what a command prints with --help on a terminal of some columns, 0 for none.
func helpOf(t *testing.T, columns int, command ...string) string {
	t.Helper()
	var out bytes.Buffer
	width := func() int { return columns }
	streams := cli.Streams{
		Out: &out, Err: os.Stderr, Log: os.Stderr, Environ: func() []string { return nil },
		Getenv: func(string) string { return "" }, Width: width, OutWidth: width,
	}
	if code := cli.Main(append(command, "--help"), streams); code != 0 {
		t.Fatalf("status %d", code)
	}
	return out.String()
}

// TestHelp: commands are listed by purpose, and texts fit the terminal.
func TestHelp(t *testing.T) {
	all := helpOf(t, 0)
	commands, _, _ := strings.Cut(all, "\nFlags:")
	for line := range strings.Lines(commands) {
		if term.Width(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("wider than 80 columns: %q", line)
		}
	}
	if strings.Contains(all, "Additional Commands") {
		t.Errorf("a command is in no group:\n%s", all)
	}
	for _, columns := range []int{60, 100} {
		text, _, found := strings.Cut(helpOf(t, columns, "run"), "\nUsage:")
		widest := 0
		for line := range strings.Lines(text) {
			widest = max(widest, term.Width(strings.TrimSuffix(line, "\n")))
		}
		if !found || widest > columns || widest < columns-20 {
			t.Errorf("the text of %d columns has lines of %d:\n%s", columns, widest, text)
		}
	}
}
