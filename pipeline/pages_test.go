package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/servegate/pipeline/internal/golden"
)

const (
	// mostWords limits a page of the guides; reference and evidence may be longer.
	mostWords = 700
	// commandColumns limits the lines of a command that a page shows, so that a reader sees all of it.
	commandColumns = 88
	// elided is the line of an output that stands for any number of lines.
	elided = "…"
)

var (
	// session begins a block of commands that begin with "$ ", each with its output below it.
	session = "```console"
	// titled begins a block that holds a file of this name.
	titled = regexp.MustCompile("^```[a-z]+ title=\"([a-z.-]+)\"$")
	// archived names an archive whose files the commands of the page read.
	archived = regexp.MustCompile(`<!-- files of (\S+\.txtar) -->`)
	// usedExample is the folder of an example.
	usedExample = regexp.MustCompile(`\bexamples/[a-z0-9-]+`)
	// sessions are whole blocks of a session, and unplayed is a command that would be one.
	sessions = regexp.MustCompile("(?s)```console\n.*?\n```")
	unplayed = regexp.MustCompile(`(?m)^ *\$ .*$`)
	// changing are the digits that -update may replace within a line of an elided output.
	changing = regexp.MustCompile(`[0-9]+`)
)

// TestPagesShowOutputs runs every session that a page shows, in a folder that holds the files which the page shows and the
// examples that it names, and compares the output. With -update it writes the outputs into the page.
func TestPagesShowOutputs(t *testing.T) {
	commands := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range sessions.FindAllString(string(text), -1) {
			commands += strings.Count(block, "\n$ ")
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			p := play{dir: t.TempDir()}
			golden.Equal(t, page, p.page(t, string(text)))
		})
	}
	if commands < 25 {
		t.Errorf("the pages show the output of %d commands, want 25 or more", commands)
	}
}

// play runs the commands of one page.
type play struct {
	dir    string
	status int // exit status of the command before
}

// page returns the text of a page with the outputs that its commands have.
func (p *play) page(t *testing.T, text string) string {
	t.Helper()
	for _, name := range slices.Compact(slices.Sorted(slices.Values(usedExample.FindAllString(text, -1)))) {
		source := filepath.Join("..", name)
		if info, err := os.Stat(source); err != nil || !info.IsDir() || !strings.Contains(text, session) {
			continue
		}
		if err := os.CopyFS(filepath.Join(p.dir, name), os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
	}
	if named := archived.FindStringSubmatch(text); named != nil {
		archive, err := txtar.ParseFile(filepath.Join("..", named[1]))
		if err == nil {
			err = txtar.Write(archive, p.dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			if !bytes.HasPrefix(file.Data, []byte("#!")) {
				continue
			}
			if err := os.Chmod(filepath.Join(p.dir, filepath.FromSlash(file.Name)), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		if !strings.HasPrefix(lines[i], "```") || lines[i] == "```" {
			continue
		}
		length := slices.Index(lines[i+1:], "```")
		if length < 0 {
			t.Fatalf("a block without an end: %s", lines[i])
		}
		block := lines[i+1 : i+1+length]
		if file := titled.FindStringSubmatch(lines[i]); file != nil {
			if err := os.WriteFile(filepath.Join(p.dir, file[1]), []byte(strings.Join(block, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if lines[i] == session {
			block = p.session(t, block)
		}
		out = append(append(out, block...), "```")
		i += length + 1
	}
	return strings.Join(out, "\n")
}

// session returns the lines of a block with the outputs that its commands have.
func (p *play) session(t *testing.T, block []string) []string {
	t.Helper()
	var out []string
	for i := 0; i < len(block); {
		end := i + 1
		for end < len(block) && strings.HasSuffix(block[end-1], `\`) {
			end++
		}
		command, found := strings.CutPrefix(strings.Join(block[i:end], "\n"), "$ ")
		if !found {
			t.Fatalf("a session begins with %q, want a command behind \"$ \"", block[i])
		}
		for _, line := range block[i:end] {
			if utf8.RuneCountInString(line) > commandColumns {
				t.Errorf("more than %d columns, break it by a backslash: %s", commandColumns, line)
			}
		}
		last := end
		for last < len(block) && !strings.HasPrefix(block[last], "$ ") {
			last++
		}
		shown := block[end:last]
		got := p.run(t, command)
		if merged, err := merge(shown, got); err != nil {
			t.Errorf("%s: %v; it printed\n%s", command, err, strings.Join(got, "\n"))
			got = shown
		} else {
			got = merged
		}
		if next := slices.Concat(block, []string{""})[last]; p.status > 1 && next != "$ echo $?" {
			t.Errorf("%s: exit status %d, which the page does not show:\n%s", command, p.status, strings.Join(got, "\n"))
		}
		out = append(append(out, block[i:end]...), got...)
		i = last
	}
	return out
}

// run returns the lines that a command prints.
func (p *play) run(t *testing.T, command string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("(exit %d)\n%s", p.status, command))
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "HOME="+p.dir, "PIPELINE_HISTORY="+filepath.Join(p.dir, "none"))
	text, err := cmd.CombinedOutput()
	p.status = exitStatus(t, err)
	var lines []string
	for line := range strings.Lines(strings.Trim(string(text), "\n")) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return lines
}

// merge returns what a page shows of an output. All of it is shown, or lines of it in their order, with [elided] between;
// each of these is found again by all but its figures.
func merge(shown, got []string) ([]string, error) {
	if !slices.Contains(shown, elided) {
		return got, nil
	}
	out := slices.Clone(shown)
	for i, line := range shown {
		if line == elided {
			continue
		}
		same := func(other string) bool {
			return changing.ReplaceAllString(other, "N") == changing.ReplaceAllString(line, "N")
		}
		at := slices.Index(got, line)
		if at < 0 {
			at = slices.IndexFunc(got, same)
		}
		if at < 0 {
			return nil, fmt.Errorf("no line like %q", line)
		}
		if at > 0 && (i == 0 || shown[i-1] != elided) {
			return nil, errors.New(`lines are left out without a "` + elided + `" before "` + line + `"`)
		}
		out[i], got = got[at], got[at+1:]
	}
	if len(got) > 0 && shown[len(shown)-1] != elided {
		return nil, errors.New(`lines are left out without a "` + elided + `" at the end`)
	}
	return out, nil
}

func TestMerge(t *testing.T) {
	got := []string{"cost 12 min", "", "bill 3 USD", "cost 5 min", "end"}
	for _, tt := range []struct {
		name        string
		shown, want []string
		wantErr     string
	}{
		{"all", []string{"something else"}, got, ""},
		{"some", []string{"…", "bill 4 USD", "…", "end"}, []string{"…", "bill 3 USD", "…", "end"}, ""},
		{"the second of its kind", []string{"…", "bill 3 USD", "cost 9 min", "…"}, []string{"…", "bill 3 USD", "cost 5 min", "…"}, ""},
		{"other words", []string{"…", "bills 3 USD", "…"}, nil, "no line like"},
		{"out of order", []string{"…", "end", "…", "bill 3 USD"}, nil, "no line like"},
		{"a gap", []string{"cost 12 min", "bill 3 USD", "…"}, nil, "left out without"},
		{"cut at the end", []string{"…", "bill 3 USD"}, nil, "left out without"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := merge(tt.shown, slices.Clone(got))
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("error %v, want %q", err, tt.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tt.want, out); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestGuidesAreShort limits the words of each guide, and holds that commands with their output are in blocks that
// TestPagesShowOutputs runs.
func TestGuidesAreShort(t *testing.T) {
	longer := []string{"README.md", "concepts.md", "statistics.md", "troubleshooting.md"} // looked up, not read
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		guide := filepath.Dir(page) == filepath.Join("..", "docs") && !slices.Contains(longer, filepath.Base(page))
		if n := len(strings.Fields(string(text))); guide && n > mostWords {
			t.Errorf("%s has %d words, want at most %d: move what is reference or evidence, or make it two tasks", page, n, mostWords)
		}
		if m := unplayed.FindString(sessions.ReplaceAllString(string(text), "")); m != "" {
			t.Errorf("%s shows %q outside of a block that begins with %s", page, m, session)
		}
	}
}

// TestEvidenceHasCommands holds that each section of the evidence says what makes its numbers, and on which day they were
// written down. The tables of error rates are generated.
func TestEvidenceHasCommands(t *testing.T) {
	day := regexp.MustCompile(`\*20\d\d-\d\d-\d\d`)
	command := regexp.MustCompile(`go test |make |python |\.\./examples/|error-rates\.md`)
	sections := 0
	for _, page := range pages(t) {
		name := filepath.Base(page)
		if filepath.Base(filepath.Dir(page)) != "evidence" || name == "README.md" || name == "error-rates.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(text), "\n## ")
		for _, section := range parts[1:] {
			sections++
			title, _, _ := strings.Cut(section, "\n")
			if !day.MatchString(parts[0]) && !day.MatchString(section) {
				t.Errorf("%s, %q: no day", page, title)
			}
			if !command.MatchString(section) {
				t.Errorf("%s, %q: no command", page, title)
			}
		}
	}
	if sections < 10 {
		t.Errorf("the evidence has %d sections, want 10 or more", sections)
	}
}
