// Tests runs `go test`, prints what failed and what was skipped, and keeps the times of tests and stages.
//
//	tests run LOG ARG... [-- ARG...]...    run `go test -json ARG...`, all of them at once, append their events to LOG,
//	                              print packages and failures
//	tests binary LOG DIR BINARY ARG...    the same with a test binary, in the folder of its package
//	tests summary LOG...          print skipped tests with their reasons, and the total time
//	tests table STAGES LOG...     print the stages and the twenty slowest tests as markdown tables
//	tests write FILE STAGES LOG...    put these tables between the marks of a markdown file
//
// STAGES has a line for each stage: its name, its wall time and its processor time in seconds, separated by tabs.
// A whole .ci/run ends it with a line of its own time, "all of it".
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "tests:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	switch {
	case len(args) >= 3 && args[0] == "run":
		return runSets(args[1], args[2:])
	case len(args) >= 4 && args[0] == "binary":
		return runBinary(args[1], args[2], args[3], args[4:])
	case len(args) >= 1 && args[0] == "summary":
		return withLogs(args[1:], func(l *log) error { l.summary(os.Stdout); return nil })
	case len(args) >= 2 && args[0] == "table":
		return withLogs(args[2:], func(l *log) error { return l.tables(os.Stdout, args[1]) })
	case len(args) >= 4 && args[0] == "write":
		return withLogs(args[3:], func(l *log) error { return l.write(args[1], args[2]) })
	}
	return errors.New(
		"usage: tests run LOG ARG... [-- ARG...]... | binary LOG DIR BINARY ARG... | summary LOG... | table STAGES LOG... | " +
			"write FILE STAGES LOG...")
}

// event is a line of `go test -json`.
type event struct {
	Time                                time.Time
	Action, Package, ImportPath, Output string
	Test                                string
	Elapsed                             float64
}

// runBinary runs a test binary in the folder of its package, whose path is the module's with the folder.
func runBinary(file, dir, binary string, args []string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	flags := []string{"tool", "test2json", "-t", "-p", module + filepath.ToSlash(filepath.Clean(dir)), binary, "-test.v=test2json",
		"-test.paniconexit0"}
	return runTests(file, dir, append(flags, args...))
}

// runSets runs `go test` for each set of arguments between "--", all at once: where one waits for its last package,
// another has work.
func runSets(file string, args []string) error {
	var sets [][]string
	for rest, more := args, true; more; {
		var set []string
		set, rest, more = cut(rest, "--")
		sets = append(sets, append([]string{"test", "-json"}, set...))
	}
	failed := make([]error, len(sets))
	var all sync.WaitGroup
	for i, set := range sets {
		all.Go(func() { failed[i] = runTests(file, "", set) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// cut returns what is before and after the first of these words.
func cut(words []string, at string) (before, after []string, found bool) {
	if i := slices.Index(words, at); i >= 0 {
		return words[:i], words[i+1:], true
	}
	return words, nil, false
}

// runTests runs the go command with these arguments in a folder, which prints events. It appends them to a file, and
// prints a line for each package and all output of what failed.
func runTests(file, dir string, args []string) error {
	kept, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer kept.Close()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := show(os.Stdout, kept, out)
	return errors.Join(cmd.Wait(), read)
}

// show keeps each line by one write, since others append to the same file, and prints the lines of packages, and the
// output of each test that fails.
func show(w, kept io.Writer, r io.Reader) error {
	output := map[string][]string{}
	var failed error
	read := eachLine(r, func(e event, line string) {
		if _, err := io.WriteString(kept, line+"\n"); err != nil && failed == nil {
			failed = err
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "": // not an event
			fmt.Fprintln(w, line)
		case e.Action == "build-output":
			fmt.Fprint(w, e.Output)
		case e.Action == "output" && e.Test == "" && strings.HasPrefix(e.Output, "PASS"), e.Action == "output" &&
			strings.Contains(e.Output, "[no test files]"):
		case e.Action == "output" && e.Test == "":
			fmt.Fprint(w, e.Output)
		case e.Action == "output":
			output[key] = append(output[key], e.Output)
		case e.Test != "" && e.Action == "fail":
			fmt.Fprint(w, strings.Join(output[key], ""))
			delete(output, key)
		case e.Test == "" && e.Action == "fail": // a panic or a time limit leaves tests without an end
			for k, lines := range output {
				if strings.HasPrefix(k, e.Package+" ") {
					fmt.Fprint(w, strings.Join(lines, ""))
					delete(output, k)
				}
			}
		case e.Action == "pass" || e.Action == "skip":
			delete(output, key)
		}
	})
	return errors.Join(read, failed)
}

// eachLine decodes each line. One that is not JSON has an event without an action.
func eachLine(r io.Reader, do func(e event, line string)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				e = event{}
			}
			do(e, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// log holds what events say of tests.
type log struct {
	tests      map[string]*test
	parents    map[string]bool // tests with parts, by package and name
	first, end time.Time
	packages   int
}

// test is one that has ended.
type test struct {
	pkg, name, action string
	seconds           float64
	output            []string
}

const module = "github.com/servegate/pipeline/"

func withLogs(files []string, do func(l *log) error) error {
	l := &log{tests: map[string]*test{}, parents: map[string]bool{}}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		err = eachLine(f, func(e event, _ string) { l.add(e) })
		f.Close()
		if err != nil {
			return err
		}
	}
	return do(l)
}

func (l *log) add(e event) {
	if !e.Time.IsZero() {
		if l.first.IsZero() || e.Time.Before(l.first) {
			l.first = e.Time
		}
		if e.Time.After(l.end) {
			l.end = e.Time
		}
	}
	if e.Test == "" {
		if e.Action == "pass" || e.Action == "fail" {
			l.packages++
		}
		return
	}
	key := e.Package + " " + e.Test
	t := l.tests[key]
	if t == nil {
		t = &test{pkg: strings.TrimPrefix(e.Package, module), name: e.Test}
		l.tests[key] = t
	}
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
	case "pass", "fail", "skip":
		t.action, t.seconds = e.Action, max(t.seconds, e.Elapsed)
		if e.Action == "pass" {
			t.output = nil
		}
		for i, c := range e.Test { // a part's own name may have a slash
			if c == '/' {
				l.parents[e.Package+" "+e.Test[:i]] = true
			}
		}
	}
}

// sorted returns the tests in an order that does not depend on the map.
func (l *log) sorted(by func(a, b *test) int) []*test {
	var all []*test
	for _, t := range l.tests {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *test) int {
		return cmp.Or(by(a, b), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
	return all
}

func (l *log) summary(w io.Writer) {
	count := map[string]int{}
	for _, t := range l.sorted(func(a, b *test) int { return 0 }) {
		count[t.action]++
		if t.action == "skip" {
			fmt.Fprintf(w, "skipped  %s %s: %s\n", t.pkg, t.name, t.reason())
		}
	}
	fmt.Fprintf(w, "%d packages, %d tests passed, %d failed, %d skipped, in %s\n",
		l.packages, count["pass"], count["fail"], count["skip"], l.end.Sub(l.first).Round(time.Second))
}

var place = regexp.MustCompile(`^\s*\S+\.(go|txtar):\d+: `)

// reason returns the last line that a skipped test has printed, without its place.
func (t *test) reason() string {
	for _, line := range slices.Backward(t.output) {
		if line = strings.TrimSpace(place.ReplaceAllString(line, "")); line != "" && !strings.HasPrefix(line, "---") &&
			!strings.HasPrefix(line, "===") {
			return line
		}
	}
	return "it gives no reason"
}

const slowest = 20

func (l *log) tables(w io.Writer, stages string) error {
	text, err := os.ReadFile(stages)
	if err != nil {
		return err
	}
	fmt.Fprint(w, "| stage | wall | processor |\n|:--|--:|--:|\n")
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			return fmt.Errorf("%s: %q is not a name and two times", stages, line)
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", fields[0], seconds(fields[1]), seconds(fields[2]))
	}
	fmt.Fprintf(w, "\n| slowest tests | wall |\n|:--|--:|\n")
	n := 0
	for _, t := range l.sorted(func(a, b *test) int { return cmp.Compare(b.seconds, a.seconds) }) {
		if l.parents[module+t.pkg+" "+t.name] || n == slowest {
			continue
		}
		n++
		fmt.Fprintf(w, "| `%s` %s | %.1f s |\n", t.pkg, strings.ReplaceAll(t.name, "|", `\|`), t.seconds)
	}
	return nil
}

func seconds(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%d:%02d", int(v)/60, int(v)%60)
}

// The marks between which the tables are.
const (
	from = "<!-- times: written by make times -->\n"
	to   = "<!-- end of times -->\n"
)

func (l *log) write(file, stages string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), from)
	_, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no %q and %q", file, strings.TrimSpace(from), strings.TrimSpace(to))
	}
	var tables strings.Builder
	if err := l.tables(&tables, stages); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+from+"\n"+tables.String()+"\n"+to+after), 0o644)
}
