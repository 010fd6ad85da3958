package github_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

// TestCommentIsShort: the verdict comes first, then at most one line of what else there is to
// know, then what to do; of hundreds of red rows twenty are unfolded, and the legend is folded.
func TestCommentIsShort(t *testing.T) {
	s := fake(t)
	s.SetFiles("perf/gate.hcl")
	s.MoveHead(7, later)
	doc := document(result.Regression, 375)
	doc.Simulated = "process"
	set := github.Settings{Comment: publish.CommentUpdate, Untrusted: true, Command: "pipeline run --var x=1 perf/gate.hcl",
		Bisect: "pipeline bisect perf/gate.hcl", Base: later}
	publisher(t, s, newClock(), pullRequest(), set).Finish(t.Context(), doc)
	var seen []string // what a reader sees, without what is folded
	depth := 0
	for line := range strings.Lines(one(t, s).Body) {
		depth += strings.Count(line, "<details>")
		if depth == 0 && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "<!--") {
			seen = append(seen, line)
		}
		depth -= strings.Count(line, "</details>")
	}
	if !strings.HasPrefix(seen[0], "### ❌ Performance: 375 of 375 gates regressed") || !strings.HasPrefix(seen[1], "> ") ||
		strings.HasPrefix(seen[2], ">") {
		t.Errorf("begins with %q", seen[:3])
	}
	contains(t, seen[1], "Simulated run:", "by now", "changes what judges it", "its own")
	text := strings.Join(seen, "")
	contains(t, text, "**Gate:** [`perf/gate.hcl:10`](https://github.com/o/r/blob/"+sha+"/perf/gate.hcl#L10-L14)", "and 372 more",
		"git checkout 1a2b3c4 &#38;&#38; pipeline run", "pipeline bisect perf/gate.hcl --good 2b3c4d5 --bad 1a2b3c4", "`/pipeline run`",
		"commit [`1a2b3c4`](https://github.com/o/r/commit/"+sha+") against base [`2b3c4d5`](")
	if n := strings.Count(text, "| ❌ |"); n != 5 || len(seen) > 25 {
		t.Errorf("%d red rows in %d lines are unfolded:\n%s", n, len(seen), text)
	}
	if strings.Contains(text, "improvement") {
		t.Error("the legend is not folded")
	}
}
