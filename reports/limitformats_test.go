package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestLimitsInEveryFormat: a limit that is not kept shows its value, the limit and how far
// it is beyond.
func TestLimitsInEveryFormat(t *testing.T) {
	doc := passing()
	g := &doc.Gates[len(doc.Gates)-1]
	limit := 0.4
	g.Decisions[0].Limit, g.Decisions[0].Verdict, g.Decisions[0].HeadValue = &limit, result.Regression, 0.5
	g.Verdict = result.Regression
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return reports.Text(b, doc, reports.Options{}) },
		"markdown": func(b *bytes.Buffer) error { return reports.Markdown(b, doc, reports.Options{}) },
		"html":     func(b *bytes.Buffer) error { return reports.HTML(b, doc, reports.HTMLOptions{}) },
		"junit":    func(b *bytes.Buffer) error { return reports.JUnit(b, doc) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"500 ms", "400 ms", "25.0"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"json": func(b *bytes.Buffer) error { return reports.JSON(b, doc) },
		"csv":  func(b *bytes.Buffer) error { return reports.CSV(b, doc) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "0.4") || !strings.Contains(out.String(), "0.5") {
			t.Errorf("%s lacks the value or the limit", name)
		}
	}
}
