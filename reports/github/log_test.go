package github_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/result"
)

// TestLogAnnotations: one command for each gate that did not pass, no more than GitHub shows,
// and no text of a gate can be a command or a property of its own.
func TestLogAnnotations(t *testing.T) {
	doc := document(result.Regression, 14)
	doc.Gates[0].Addr = "gate.x,line=1::add-mask::y"
	doc.Gates[0].Range.File = "perf/a,b:c%.hcl"
	doc.Gates[0].Decisions[0].Reason = "100 %\n::stop-commands::x"
	doc.Gates[1].OnRegression = "warn"
	lines := github.LogAnnotations(doc, reports.Options{})
	if len(lines) != 11 { // ten errors and a warning
		t.Errorf("%d lines", len(lines))
	}
	want := "::error file=perf/a%2Cb%3Ac%25.hcl,line=10,endLine=14,title=gate.x%2Cline=1%3A%3Aadd-mask%3A%3Ay%3A regression::regression: " +
		"TTFT p99"
	if !strings.HasPrefix(lines[0], want) {
		t.Errorf("%s\nwant %s…", lines[0], want)
	}
	if !strings.HasPrefix(lines[1], "::warning file=perf/gate.hcl,line=20,") {
		t.Error(lines[1])
	}
	for _, l := range lines {
		if strings.ContainsAny(l, "\r\n") {
			t.Errorf("%q is two lines", l)
		}
	}
}
