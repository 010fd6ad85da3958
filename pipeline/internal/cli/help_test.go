package cli_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/cli"
	"github.com/servegate/pipeline/reports/term"
)

// printed runs a command on a terminal of some columns, 0 for none, and returns its exit status and what it prints on standard
// output and on standard error.
func printed(columns int, command ...string) (code int, out, complaint string) {
	var b, e bytes.Buffer
	width := func() int { return columns }
	code = cli.Main(command, cli.Streams{
		Out: &b, Err: &e, Log: io.Discard, Environ: func() []string { return nil },
		Getenv: func(string) string { return "" }, Width: width, OutWidth: width,
	})
	return code, b.String(), e.String()
}

// onTerminal runs a command on a terminal of some columns, 0 for none, and returns its exit status and what it prints.
func onTerminal(columns int, command ...string) (code int, out string) {
	code, out, _ = printed(columns, command...)
	return code, out
}

// run runs a command without a terminal, fails the test unless it ends with an exit status, and returns what it prints.
func run(t *testing.T, wanted int, command ...string) string {
	t.Helper()
	code, out := onTerminal(0, command...)
	if code != wanted {
		t.Fatalf("%v: exit status %d, want %d:\n%s", command, code, wanted, out)
	}
	return out
}

// complaint runs a command without a terminal, fails the test unless it ends with an exit status, and returns what it
// prints on standard error.
func complaint(t *testing.T, wanted int, command ...string) string {
	t.Helper()
	code, _, said := printed(0, command...)
	if code != wanted {
		t.Fatalf("%v: exit status %d, want %d:\n%s", command, code, wanted, said)
	}
	return said
}

// widest returns the number of columns of the widest line of a text.
func widest(text string) (columns int) {
	for line := range strings.Lines(text) {
		columns = max(columns, term.Width(strings.TrimSuffix(line, "\n")))
	}
	return columns
}

// TestABFitsTerminal: plan, answer and verdict of `pipeline ab` fit a narrow terminal.
func TestABFitsTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out := onTerminal(80, "ab", "vllm/vllm-openai:v0.11.0", "--model", "Qwen/Qwen2.5-7B-Instruct", "--rate", "8",
		"--head-arg", "max_num_batched_tokens=128", "--simulate=virtual", "--no-color", "--progress", "quiet", "--out", "out")
	if columns := widest(out); code != 1 || columns > 80 {
		t.Errorf("exit status %d, lines of %d columns:\n%s", code, columns, out)
	}
}

// TestHelp: commands are listed by purpose, and texts fit the terminal.
func TestHelp(t *testing.T) {
	_, all := onTerminal(0, "--help")
	commands, _, _ := strings.Cut(all, "\nFlags:")
	if columns := widest(commands); columns > 80 {
		t.Errorf("lines of %d columns:\n%s", columns, commands)
	}
	if strings.Contains(all, "Additional Commands") {
		t.Errorf("a command is in no group:\n%s", all)
	}
	for _, columns := range []int{60, 100} {
		_, out := onTerminal(columns, "run", "--help")
		text, _, found := strings.Cut(out, "\nUsage:")
		if got := widest(text); !found || got > columns || got < columns-20 {
			t.Errorf("the text of %d columns has lines of %d:\n%s", columns, got, text)
		}
	}
}
