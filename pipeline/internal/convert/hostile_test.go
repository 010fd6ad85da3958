package convert_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestSpansAreBounded: a short page cannot make a table of millions of cells.
func TestSpansAreBounded(t *testing.T) {
	page := "<table>\n<tr>" + strings.Repeat("<td colspan=99 rowspan=999>x</td>", 10_000) + "</tr>\n" +
		strings.Repeat("<tr><td>1</td></tr>\n", 10_000) + "</table>\n"
	_, err := convert.Read(strings.NewReader(page), "page.md", convert.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "page.md:2: a row of more than 500 cells") {
		t.Errorf("%v", err)
	}
}

// TestHostileNamesInReports: what a log names reaches no report of its import as markup, as
// a formula or as a command to the terminal.
func TestHostileNamesInReports(t *testing.T) {
	const evil = "<script>alert(1)</script>|`](http://evil.example)\x1b[2J\x1b]0;evil\x07=cmd|' /C calc'!A0"
	log := "# " + evil + "\nvllm bench serve --model '" + evil + "' --side '" + evil + "' --request-rate 2\n" + rule +
		"Successful requests:  10\nMean TTFT (ms):  12.50\nMedian TTFT (ms):  12.50\n" + evil + ": 5\nP99 Ev<b>il (ms):  9.00\n" + end
	runs, err := convert.Read(strings.NewReader(log), "evil\x1b[2J<script>.log", convert.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := convert.Document(runs, convert.Options{By: []string{"side", "heading"}, Title: evil, File: evil})
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Validate(doc); err != nil {
		t.Fatal(err)
	}
	sides := []reports.Side{{Doc: doc, Name: evil}, {Doc: doc}}
	writers := map[string]func(io.Writer) error{
		"runs, csv": func(w io.Writer) error { return convert.WriteCSV(w, runs) },
	}
	for _, f := range reports.AllFormats() {
		writers[f.Name] = func(w io.Writer) error { return f.Document(w, doc, reports.Options{}) }
		if f.Comparison != nil {
			writers["compared, "+f.Name] = func(w io.Writer) error { return reports.Compare(w, sides, f, reports.Options{}) }
		}
	}
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			bad := []string{"\x1b", "\x07"}
			if strings.Contains(name, "markdown") || name == "html" {
				bad = append(bad, "<script>alert", "<b>il")
			}
			if strings.Contains(name, "csv") {
				bad = append(bad, ",=cmd", "\n=cmd", "\"=cmd")
			}
			for _, s := range bad {
				if at := strings.Index(text, s); at >= 0 {
					t.Errorf("%q in %q", s, text[max(0, at-80):min(len(text), at+80)])
				}
			}
		})
	}
}
