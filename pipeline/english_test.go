package main_test

import (
	"cmp"
	"fmt"
	"go/scanner"
	source "go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Limits of [TestPlainEnglish]. Lower them when the tree gets better; CONTRIBUTING.md explains how to write.
const (
	mostMarkers      = 2    // lines with a marker, of 100 lines of comment outside of tests
	mostTestMarkers  = 10.5 // the same in tests
	mostNegations    = 4    // string literals outside of tests that state what something is not: "is no price"
	mostUnnamed      = 6    // doc comments outside of tests that do not begin with the name that they document
	mostColumns      = 140  // of a line without a raw or long string
	longString       = 80   // a literal that need not be wrapped
	worstFilesListed = 5
)

var (
	dialect  = regexp.MustCompile(`(?i)\b(that of|is what|are those|is no|where|says)\b`)
	negation = regexp.MustCompile(`\b(is|are) no `)
	declared = regexp.MustCompile(`^(?:func (?:\([^)]*\) )?|type |var |const )(\w+)`)
	article  = regexp.MustCompile(`^(?:A|An|The) `)
)

// style counts what is hard to read in Go files.
type style struct {
	comments, markers, negations, unnamed int
	perFile                               map[string]int
	long                                  []string // places of long lines
}

// TestPlainEnglish limits comments and messages that are hard to read: relative clauses in place of verbs, and negations
// in place of statements.
func TestPlainEnglish(t *testing.T) {
	t.Parallel()
	code, tests := style{perFile: map[string]int{}}, style{perFile: map[string]int{}}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "/testdata/") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, "_test.go") {
			tests.add(path, text)
		} else {
			code.add(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	code.check(t, mostMarkers)
	tests.check(t, mostTestMarkers)
	if code.negations > mostNegations || code.unnamed > mostUnnamed {
		t.Errorf("%d messages with \"is no\", want %d; %d doc comments that do not begin with their name, want %d; most are in\n%s",
			code.negations, mostNegations, code.unnamed, mostUnnamed, code.worst())
	}
	if long := slices.Concat(code.long, tests.long); len(long) > 0 {
		t.Errorf("lines above %d columns:\n%s", mostColumns, strings.Join(long, "\n"))
	}
}

// check reports too many markers in comments.
func (s *style) check(t *testing.T, most float64) {
	t.Helper()
	if s.comments < 3000 {
		t.Errorf("%d lines of comment were found", s.comments)
	}
	if share := 100 * float64(s.markers) / float64(s.comments); share > most {
		t.Errorf("%.2f of 100 comment lines match %s, want at most %g; most are in\n%s", share, dialect, most, s.worst())
	}
}

// worst lists the files with the most findings.
func (s *style) worst() string {
	files := make([]string, 0, len(s.perFile))
	for path := range s.perFile {
		files = append(files, path)
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(s.perFile[b]-s.perFile[a], strings.Compare(a, b)) })
	var b strings.Builder
	for _, path := range files[:min(worstFilesListed, len(files))] {
		fmt.Fprintf(&b, "\t%s: %d\n", path, s.perFile[path])
	}
	return b.String()
}

// add counts what is in one file.
func (s *style) add(path string, text []byte) {
	file := source.NewFileSet().AddFile(path, -1, len(text))
	var in scanner.Scanner
	in.Init(file, text, nil, scanner.ScanComments)
	quoted := map[int]bool{} // lines of raw and of long strings
	for {
		pos, kind, literal := in.Scan()
		switch kind {
		case source.EOF:
			s.addLines(path, string(text), quoted)
			return
		case source.COMMENT:
			for line := range strings.SplitSeq(literal, "\n") {
				s.comments++
				if dialect.MatchString(line) {
					s.count(path, &s.markers)
				}
			}
		case source.STRING:
			if negation.MatchString(literal) {
				s.count(path, &s.negations)
			}
			for i := range strings.Count(literal, "\n") + 1 {
				quoted[file.Line(pos)+i] = quoted[file.Line(pos)+i] || literal[0] == '`' || len(literal) > longString
			}
		}
	}
}

// addLines counts long lines, and doc comments that do not begin with the name of what follows them.
func (s *style) addLines(path, text string, quoted map[int]bool) {
	doc, number := "", 0 // doc is the first line of the comment above
	for line := range strings.SplitSeq(text, "\n") {
		number++
		columns := utf8.RuneCountInString(strings.Join(strings.Fields(line), " ")) // without alignment
		if columns > mostColumns && !quoted[number] && !strings.Contains(line, "//nolint:") && !strings.HasPrefix(line, "//\t") {
			s.long = append(s.long, fmt.Sprintf("%s:%d", path, number))
		}
		if comment, ok := strings.CutPrefix(line, "//"); ok {
			doc = cmp.Or(doc, strings.TrimSpace(comment))
			continue
		}
		if m := declared.FindStringSubmatch(line); m != nil && doc != "" && !startsWith(article.ReplaceAllString(doc, ""), m[1]) {
			s.count(path, &s.unnamed)
		}
		doc = ""
	}
}

// count adds one finding of a kind.
func (s *style) count(path string, kind *int) {
	*kind++
	s.perFile[path]++
}

// startsWith reports whether the first word of a comment is a name.
func startsWith(text, name string) bool {
	rest, ok := strings.CutPrefix(text, name)
	return ok && (rest == "" || !strings.ContainsAny(rest[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
}
