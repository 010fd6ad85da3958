package buildkite_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/servegate/pipeline/reports/buildkite"
	"github.com/servegate/pipeline/reports/buildkite/buildkitetest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/publishtest"
	"github.com/servegate/pipeline/reports/result"
)

// environment returns the variables of a job of a pull request, as Buildkite's documentation lists them.
func environment(set ...string) func(string) string {
	env := map[string]string{
		"BUILDKITE": "true", "BUILDKITE_JOB_ID": "0190046e-e199-453b-a302-a21a4d649d31", "BUILDKITE_COMMIT": publishtest.SHA,
		"BUILDKITE_BRANCH": "fix", "BUILDKITE_REPO": "git@github.com:o/r.git", "BUILDKITE_PULL_REQUEST": "7", "BUILDKITE_SOURCE": "webhook",
		"BUILDKITE_PULL_REQUEST_BASE_BRANCH": "main", "BUILDKITE_PULL_REQUEST_REPO": "https://github.com/o/r.git",
		"BUILDKITE_PIPELINE_DEFAULT_BRANCH": "main", "BUILDKITE_BUILD_URL": "https://buildkite.com/o/r/builds/1514", "BUILDKITE_STEP_KEY": "perf",
		"BUILDKITE_LABEL": "perf", "BUILDKITE_RETRY_COUNT": "0",
	}
	for i := 0; i < len(set); i += 2 {
		env[set[i]] = set[i+1]
	}
	return func(name string) string { return env[name] }
}

var settings = []publish.Settings{{Comment: publish.CommentUpdate, Key: "pr"}}

func post(t *testing.T, a *buildkitetest.Agent, doc *result.Document, set ...string) publish.Posted {
	t.Helper()
	return buildkite.New(publish.Job{Getenv: environment(set...), Exec: a.Exec}).Post(t.Context(), doc, settings)
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// TestAnnotation: one annotation a file, in the style of its verdict.
func TestAnnotation(t *testing.T) {
	for verdict, style := range map[result.Verdict]string{
		result.Regression: "error", result.Inconclusive: "warning", result.Pass: "success", result.Improvement: "success",
	} {
		a := buildkitetest.New()
		doc := publishtest.Document(verdict, 2)
		posted := post(t, a, doc)
		if all := a.Annotations(); len(all) != 1 || all[0].Style != style || !strings.HasPrefix(all[0].Context, "pipeline/pr ") {
			t.Errorf("%s: %+v", verdict, all)
			continue
		}
		contains(t, a.Annotations()[0].Body, "Performance: ", "[Job](https://buildkite.com/o/r/builds/1514#0190046e-e199-453b-a302-a21a4d649d31)",
			"commit [`1a2b3c4`](https://github.com/o/r/commit/"+publishtest.SHA+")")
		if body := a.Annotations()[0].Body; !strings.HasPrefix(body, "### ") || strings.Contains(body, "<!--") {
			t.Errorf("%s: begins with %.80q, or has marks", verdict, body)
		}
		if posted.CommentURL != "https://buildkite.com/o/r/builds/1514" || len(posted.Warnings) > 0 {
			t.Errorf("%+v", posted)
		}
	}
}

// TestMatrix: the jobs of a matrix share the annotation, in whatever order their calls come, and a retried job replaces
// its section.
func TestMatrix(t *testing.T) {
	a := buildkitetest.New()
	job := func(label, id string, verdict result.Verdict, set ...string) {
		doc := publishtest.Document(verdict, 1)
		doc.RunID = id
		if got := post(t, a, doc, append(set, "BUILDKITE_LABEL", label)...); len(got.Warnings) > 0 {
			t.Errorf("%s: %q", label, got.Warnings)
		}
	}
	var wg sync.WaitGroup
	for label, verdict := range map[string]result.Verdict{"perf h100": result.Pass, "perf h200": result.Regression,
		"perf mi300": result.Pass} {
		wg.Go(func() { job(label, label, verdict) })
	}
	wg.Wait()
	if len(a.Annotations()) != 1 {
		t.Fatalf("%+v", a.Annotations())
	}
	body := a.Annotations()[0].Body
	contains(t, body, "1 of 3 jobs failed, 2 passed", "`perf h100`", "`perf h200`", "`perf mi300`")
	job("perf h200", "again", result.Pass, "BUILDKITE_RETRY_COUNT", "1")
	contains(t, a.Annotations()[0].Body, "3 of 3 jobs passed")
	if a.Annotations()[0].Style != "success" {
		t.Errorf("style %s", a.Annotations()[0].Style)
	}
}

// TestLegThatEndsInBetween: a job that stores its section after another one has read, and annotates before it, is not
// lost: the other one reads again.
func TestLegThatEndsInBetween(t *testing.T) {
	a := buildkitetest.New()
	once := sync.OnceFunc(func() {
		doc := publishtest.Document(result.Regression, 1)
		doc.RunID = "other"
		post(t, a, doc, "BUILDKITE_LABEL", "perf h200")
	})
	inside := false
	a.Before = func(call string) {
		if strings.HasPrefix(call, "annotate") && !inside {
			inside = true
			once()
		}
	}
	post(t, a, publishtest.Document(result.Pass, 1), "BUILDKITE_LABEL", "perf h100")
	contains(t, a.Annotations()[0].Body, "1 of 2 jobs failed, 1 passed")
}

// TestFaults: an agent that is missing, fails or loses the meta-data costs a warning.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		fails       string
		annotations int
		warning     string
	}{
		"no agent":               {"", 0, "buildkite-agent: it cannot be started"},
		"no annotation":          {"annotate", 0, "it cannot be started"},
		"no meta-data to write":  {"meta-data set", 1, "the other jobs of the build do not see this one"},
		"no meta-data to list":   {"meta-data keys", 1, ""},
		"no meta-data to read":   {"meta-data get", 1, ""},
		"what else there may be": {"pipeline", 1, ""},
	} {
		a := buildkitetest.New()
		exec := func(ctx context.Context, p publish.Program) (string, error) {
			if strings.HasPrefix(strings.Join(p.Argv[1:], " "), tt.fails) {
				return "", errors.New("buildkite-agent: it cannot be started")
			}
			return a.Exec(ctx, p)
		}
		got := buildkite.New(publish.Job{Getenv: environment(), Exec: exec}).Post(t.Context(), publishtest.Document(result.Pass, 1), settings)
		if len(a.Annotations()) != tt.annotations || (tt.warning == "") != (len(got.Warnings) == 0) ||
			!strings.Contains(strings.Join(got.Warnings, "\n"), tt.warning) {
			t.Errorf("%s: %d annotations, %q", name, len(a.Annotations()), got.Warnings)
		}
	}
}

// TestTrust: a pull request from a fork is refused, also where its repository is unknown or written in another way.
func TestTrust(t *testing.T) {
	for name, tt := range map[string]struct {
		set      []string
		rights   publish.Rights
		unmerged bool
		refused  bool
	}{
		"pull request":     {nil, publish.RightsOfChange, true, false},
		"of a fork":        {[]string{"BUILDKITE_PULL_REQUEST_REPO", "git://github.com/mallory/r.git"}, publish.RightsOfChange, true, true},
		"on another host":  {[]string{"BUILDKITE_PULL_REQUEST_REPO", "https://evil.example/o/r.git"}, publish.RightsOfChange, true, true},
		"of nobody":        {[]string{"BUILDKITE_PULL_REQUEST_REPO", ""}, publish.RightsOfChange, true, true},
		"of no repository": {[]string{"BUILDKITE_PULL_REQUEST_REPO", "", "BUILDKITE_REPO", ""}, publish.RightsOfChange, true, true},
		"over ssh":         {[]string{"BUILDKITE_PULL_REQUEST_REPO", "ssh://git@github.com:22/o/r"}, publish.RightsOfChange, true, false},
		"push":             {[]string{"BUILDKITE_PULL_REQUEST", "false"}, publish.RightsOfMembers, false, false},
		"merge queue": {[]string{"BUILDKITE_PULL_REQUEST", "false", "BUILDKITE_BRANCH", "gh-readonly-queue/main/pr-7-1a2b3c4"},
			publish.RightsOfChange, true, false},
		"not a number": {[]string{"BUILDKITE_PULL_REQUEST", "true"}, publish.RightsUnknown, true, true},
	} {
		c := buildkite.New(publish.Job{Getenv: environment(tt.set...)}).Change()
		if c.Rights != tt.rights || c.Unmerged != tt.unmerged || (c.Refused != nil) != tt.refused {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
