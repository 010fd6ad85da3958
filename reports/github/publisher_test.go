package github_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

func TestFinishPostsOneOfEach(t *testing.T) {
	s, c := fake(t), newClock()
	s.SetFiles("perf/gate.hcl", "src/server.py", ".github/workflows/perf.yml")
	p := publisher(t, s, c, pullRequest(), everything())
	if w := p.Start(t.Context()); len(w) > 0 {
		t.Errorf("warnings at the start: %q", w)
	}
	if k := s.Checks(); len(k) != 1 || k[0].Status != "in_progress" || k[0].SHA != sha || k[0].ExternalID != "8123.1" {
		t.Errorf("check at the start: %+v", k)
	}
	s.MoveHead(7, later)
	posted := p.Finish(t.Context(), document(result.Regression, 2))
	if len(posted.Warnings) > 0 {
		t.Errorf("warnings: %q", posted.Warnings)
	}
	got := one(t, s)
	golden.Equal(t, "testdata/comment.md", got.Body)
	if want := "https://github.com/o/r/pull/7#issuecomment-"; !strings.HasPrefix(posted.CommentURL, want) {
		t.Errorf("comment at %q, want %s…", posted.CommentURL, want)
	}
	k := s.Checks()
	if len(k) != 1 || k[0].Conclusion != "failure" || !strings.HasPrefix(k[0].Title, "2 of 2 gates regressed") {
		t.Errorf("check: %+v", k)
	}
	want := []githubtest.Annotation{
		{Path: "perf/gate.hcl", Start: 10, End: 14, Level: "failure", Title: "gate.g0: regression",
			Message: "regression: TTFT p99 +14.4 % (margin 5 %) at rate=0"},
		{Path: "perf/gate.hcl", Start: 20, End: 24, Level: "failure", Title: "gate.g1: regression",
			Message: "regression: TTFT p99 +14.4 % (margin 5 %) at rate=1"},
	}
	if diff := cmp.Diff(want, k[0].Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	st := s.Statuses()
	if len(st) != 2 || st[0].State != "pending" || st[1].State != "failure" || st[1].SHA != sha {
		t.Errorf("statuses: %+v", st)
	}
	if c.slept() > 0 {
		t.Errorf("slept %v without a fault", c.slept())
	}
}

// TestConclusions: the check follows what fails the run, and never calls something green
// that was not decided.
func TestConclusions(t *testing.T) {
	warned := document(result.Regression, 1)
	warned.Gates[0].OnRegression = "warn"
	warned.ExitCode = result.Exit(warned)
	interrupted := document(result.Inconclusive, 1)
	interrupted.Status, interrupted.ExitCode = result.StatusInterrupted, 130
	failed := document(result.Invalid, 1)
	failed.Status, failed.ExitCode = result.StatusFailed, 4
	undecided := document(result.Inconclusive, 1)
	undecided.Gates[0].OnInconclusive = "fail"
	undecided.ExitCode = result.Exit(undecided)
	for name, tt := range map[string]struct {
		doc                *result.Document
		conclusion, status string
	}{
		"pass":         {document(result.Pass, 1), "success", "success"},
		"improvement":  {document(result.Improvement, 1), "success", "success"},
		"no gates":     {document("", 0), "success", "success"},
		"regression":   {document(result.Regression, 1), "failure", "failure"},
		"warned of":    {warned, "neutral", "pending"},
		"missing":      {document(result.Missing, 1), "failure", "failure"},
		"inconclusive": {document(result.Inconclusive, 1), "neutral", "pending"},
		"undecided":    {undecided, "failure", "failure"},
		"interrupted":  {interrupted, "cancelled", "error"},
		"failed":       {failed, "neutral", "error"},
	} {
		s := fake(t)
		p := publisher(t, s, newClock(), pullRequest(), everything())
		p.Start(t.Context())
		if posted := p.Finish(t.Context(), tt.doc); len(posted.Warnings) > 0 {
			t.Errorf("%s: %q", name, posted.Warnings)
		}
		if k := s.Checks(); len(k) != 1 || k[0].Conclusion != tt.conclusion {
			t.Errorf("%s: check %+v, want %s", name, k, tt.conclusion)
		}
		if st := s.Statuses(); st[len(st)-1].State != tt.status {
			t.Errorf("%s: status %+v, want %s", name, st, tt.status)
		}
		if n := len(mine(s)); (n == 0) != (name == "interrupted") {
			t.Errorf("%s: %d comments", name, n)
		}
	}
}

func TestManyAnnotationsComeInParts(t *testing.T) {
	s := fake(t)
	p := publisher(t, s, newClock(), pullRequest(), github.Settings{Check: "pipeline"})
	p.Start(t.Context())
	if posted := p.Finish(t.Context(), document(result.Regression, 120)); len(posted.Warnings) > 0 {
		t.Error(posted.Warnings)
	}
	k := s.Checks()
	if len(k) != 1 || len(k[0].Annotations) != 120 || k[0].Conclusion != "failure" {
		t.Errorf("%d checks, %d annotations", len(k), len(k[0].Annotations))
	}
}

// TestPathsOutOfTheRepository: an annotation names a file of the repository or none.
func TestPathsOutOfTheRepository(t *testing.T) {
	doc := document(result.Regression, 4)
	doc.Gates[0].Range.File = "/etc/passwd"
	doc.Gates[1].Range.File = "../../x.hcl"
	doc.Gates[2].Range.Line = 0
	doc.Gates[3].Range.File = "./perf//gate.hcl"
	s := fake(t)
	p := publisher(t, s, newClock(), pullRequest(), github.Settings{Check: "pipeline"})
	p.Finish(t.Context(), doc)
	a := s.Checks()[0].Annotations
	if len(a) != 1 || a[0].Path != "perf/gate.hcl" {
		t.Errorf("%+v", a)
	}
}

func TestModes(t *testing.T) {
	for mode, want := range map[publish.CommentMode]struct{ comments, hidden int }{
		publish.CommentUpdate: {1, 0}, publish.CommentDeleteAndNew: {1, 0}, publish.CommentHideAndNew: {3, 2},
		publish.CommentNew: {3, 0}, publish.CommentNever: {0, 0},
	} {
		s := fake(t)
		for id := int64(1); id <= 3; id++ {
			e := pullRequest()
			e.Run.ID = id
			p := publisher(t, s, newClock(), e, github.Settings{Comment: mode})
			for range 2 { // the same run twice is the same comment
				if posted := p.Finish(t.Context(), document(result.Pass, 1)); len(posted.Warnings) > 0 {
					t.Errorf("%s: %q", mode, posted.Warnings)
				}
			}
		}
		hidden := 0
		for _, c := range mine(s) {
			if c.Hidden {
				hidden++
			}
		}
		if n := len(mine(s)); n != want.comments || hidden != want.hidden {
			t.Errorf("%s: %d comments, %d hidden; want %d, %d", mode, n, hidden, want.comments, want.hidden)
		}
	}
}

// TestKeys: reports of several files or matrix legs do not overwrite each other.
func TestKeys(t *testing.T) {
	s := fake(t)
	for _, key := range []string{"h100", "h200", "h100"} {
		publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate, Key: key}).Finish(t.Context(),
			document(result.Pass, 1))
	}
	other := document(result.Pass, 1)
	other.File = "perf/other.hcl"
	publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate, Key: "h100"}).Finish(t.Context(), other)
	if n := len(mine(s)); n != 3 {
		t.Errorf("%d comments, want 3", n)
	}
}

// TestBudget: a huge report loses rows, not its form, and stays within GitHub's limit.
func TestBudget(t *testing.T) {
	s := fake(t)
	p := publisher(t, s, newClock(), pullRequest(), everything())
	if posted := p.Finish(t.Context(), document(result.Regression, 3000)); len(posted.Warnings) > 0 {
		t.Error(posted.Warnings)
	}
	text := one(t, s).Body
	if len(text) > 60_000 {
		t.Errorf("%d bytes", len(text))
	}
	contains(t, text, "3000 of 3000 gates regressed", "more rows", "the run's summary", "commit [`1a2b3c4`](")
	if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
		t.Error("a section is not closed")
	}
}

func TestMask(t *testing.T) {
	s := fake(t)
	doc := document(result.Regression, 1)
	doc.Title, doc.Gates[0].Decisions[0].Reason, doc.File = "uses canary-secret", "canary-secret", "canary-secret.hcl"
	doc.Gates[0].Range.File = "canary-secret.hcl"
	p := publisher(t, s, newClock(), pullRequest(), everything())
	p.Mask = func(text string) string { return strings.ReplaceAll(text, "canary-secret", "(redacted)") }
	s.FailAlways("POST status", githubtest.Fault{Status: 422, Message: "canary-secret"})
	posted := p.Finish(t.Context(), doc)
	k := s.Checks()[0]
	all := []string{one(t, s).Body, k.Title, k.Summary, strings.Join(posted.Warnings, "\n")}
	for _, a := range k.Annotations {
		all = append(all, a.Path, a.Title, a.Message)
	}
	for _, text := range all {
		if strings.Contains(text, "canary-secret") {
			t.Errorf("the secret is in %q", text)
		}
	}
}

func TestAbandon(t *testing.T) {
	s := fake(t)
	p := publisher(t, s, newClock(), pullRequest(), everything())
	p.Start(t.Context())
	killed := publisher(t, s, newClock(), pullRequest(), everything())
	if w := killed.Abandon(t.Context()); len(w) > 0 {
		t.Error(w)
	}
	if k := s.Checks(); len(k) != 1 || k[0].Conclusion != "cancelled" {
		t.Errorf("%+v", k)
	}
	// What has its verdict keeps it.
	p.Finish(t.Context(), document(result.Pass, 1))
	killed.Abandon(t.Context())
	if k := s.Checks(); k[0].Conclusion != "success" {
		t.Errorf("%+v", k)
	}
}

// TestEnds: what was begun does not stay so, whatever ends the run. Only a fault of the change's own file fails the check.
func TestEnds(t *testing.T) {
	const why = "no <Docker> daemon answers"
	for _, tt := range []struct {
		want string
		end  func(*github.Publisher) []string
	}{
		{"cancelled", func(p *github.Publisher) []string { return p.Cancel(t.Context()) }},
		{"neutral", func(p *github.Publisher) []string { return p.Fail(t.Context(), why, false) }},
		{"failure", func(p *github.Publisher) []string { return p.Fail(t.Context(), why, true) }},
	} {
		s := fake(t)
		p := publisher(t, s, newClock(), pullRequest(), everything())
		if w := append(p.Start(t.Context()), tt.end(p)...); len(w) > 0 {
			t.Error(w)
		}
		k, st := s.Checks(), s.Statuses()
		if len(k) != 1 || k[0].Conclusion != tt.want || strings.Contains(k[0].Summary, "<") || st[len(st)-1].State != "error" {
			t.Errorf("%+v, %+v", k, st)
		}
	}
}

// TestOnlyWhatBlocksCanBeAccepted: an acceptance is offered where a verdict blocks merging, and nowhere else.
func TestOnlyWhatBlocksCanBeAccepted(t *testing.T) {
	failed := document(result.Invalid, 1)
	failed.Status = result.StatusFailed
	for name, tt := range map[string]struct {
		doc    *result.Document
		accept bool
	}{
		"regression":   {document(result.Regression, 1), true},
		"missing":      {document(result.Missing, 1), true},
		"inconclusive": {document(result.Inconclusive, 1), false},
		"failed":       {failed, false},
	} {
		s := fake(t)
		p := publisher(t, s, newClock(), pullRequest(), everything())
		p.Start(t.Context())
		p.Finish(t.Context(), tt.doc)
		comments := mine(s)
		if len(comments) != 1 {
			t.Fatalf("%s: %d comments", name, len(comments))
		}
		body := comments[0].Body
		if !strings.Contains(body, "`/pipeline run`") || strings.Contains(body, "/pipeline accept") != tt.accept {
			t.Errorf("%s: accept is to be offered: %v\n%s", name, tt.accept, body)
		}
	}
}

// TestHostileFileNames: a pull request chooses the names of its files.
func TestHostileFileNames(t *testing.T) {
	s := fake(t)
	s.SetFiles("a`</code><img src=x onerror=alert(1)> @everyone.hcl", "line\n\n# heading.hcl", "b|c https://evil.example #1.hcl", "x.hcl",
		"y.hcl")
	publisher(t, s, newClock(), pullRequest(), everything()).Finish(t.Context(), document(result.Pass, 1))
	text := one(t, s).Body
	contains(t, text, "changes what judges it", "and 2 more")
	for _, bad := range []string{"<img", "</code><", "@everyone", "\n# heading", "https://evil"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in:\n%s", bad, text)
		}
	}
}

// TestChangedGates: the values of gates are those of a pull request.
func TestChangedGates(t *testing.T) {
	s := fake(t)
	hostile := "`x` | <img src=x>\n# h @everyone https://evil.example"
	settings := everything()
	settings.Changed = []publish.GateChange{
		{Gate: "gate.a", Setting: "margin", Old: "5 %", New: "50 %"}, {Gate: "gate.b", Setting: "removed"},
		{Gate: "gate.c", Setting: "alpha", New: "1 %"},
		{Gate: hostile, Setting: "assert", Old: hostile, New: hostile}, {Gate: "1"}, {Gate: "2"}, {Gate: "3"}, {Gate: "4"},
		{Gate: "5"}, {Gate: "6"},
	}
	publisher(t, s, newClock(), pullRequest(), settings).Finish(t.Context(), document(result.Pass, 1))
	text := one(t, s).Body
	contains(t, text, "changes the gates that judge it: `gate.a` margin `5 %` → `50 %`, `gate.b` removed, `gate.c` alpha unset → `1 %`, ",
		"and 6 more.")
	for _, bad := range []string{"<img", "@everyone", "\n# h", "https://evil"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in:\n%s", bad, text)
		}
	}
}
