package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
)

// consoleBlock is a piece of a page that shows a command and what it prints.
var consoleBlock = regexp.MustCompile("(?s)```console\n\\$ (.*?)\n((?:[^\\n]*\n)*?)```\n")

// TestPublished: the tables that examples/published shows of published results are what the
// commands above them print today.
func TestPublished(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "examples", "published", "README.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	got := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		blocks++
		command := commandOf(block)
		return "```console\n$ " + command + "\n" + printed(t, command) + "```\n"
	})
	if blocks != 3 {
		t.Errorf("%d commands", blocks)
	}
	golden.Equal(t, page, got)
}

// commandOf is the command of a block: its first line, and those that go on from a
// backslash.
func commandOf(block string) string {
	var command []string
	for line := range strings.Lines(strings.TrimPrefix(block, "```console\n$ ")) {
		command = append(command, strings.TrimSuffix(line, "\n"))
		if !strings.HasSuffix(line, "\\\n") {
			break
		}
	}
	return strings.Join(command, "\n")
}

// printed is what a shell's command prints in the folder of the published files.
func printed(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = filepath.Join("internal", "convert", "testdata", "published")
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, errors.String())
	}
	return out.String()
}
