package github_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/result"
)

func TestParseCommand(t *testing.T) {
	for body, want := range map[string]github.Command{
		"/pipeline run":                       {Name: "run"},
		"/pipeline run\r\n":                   {Name: "run"},
		"/pipeline run 1a2b3c4":               {Name: "run", Commit: "1a2b3c4"},
		"/pipeline accept larger blocks, #12": {Name: "accept", Reason: "larger blocks, #12"},
		"/pipeline accept":                    {Name: "accept"},
		"/pipeline accept 1a2b3c4 larger":     {Name: "accept", Commit: "1a2b3c4", Reason: "larger"},
		"/pipeline accept 1a2b3c4":            {Name: "accept", Commit: "1a2b3c4"},
		"":                                    {},
		"please /pipeline run":                {},
		" /pipeline run":                      {},
		"> /pipeline run":                     {},
		"/pipeline run\n\nthanks":             {},
		"/pipeline accept a\nb":               {},
		"/pipeline run now":                   {},
		"/pipeline run 1a2b3c":                {},
		"/pipeline run $(id)":                 {},
		"/pipeline  run":                      {},
		"/Pipeline run":                       {},
		"/pipeline runs":                      {},
		"/pipeline":                           {},
		"/pipeline accept " + strings.Repeat("x", 501): {},
		"```\n/pipeline run\n```":                      {},
	} {
		got, ok := github.ParseCommand(body)
		if got != want || ok != (want.Name != "") {
			t.Errorf("%q: %+v, %v", body, got, ok)
		}
	}
}

// respond lets a user comment, and carries the command out.
func respond(t *testing.T, s *githubtest.Server, author, body string, change func(*github.Event)) github.Response {
	t.Helper()
	e := github.Event{
		Name: "issue_comment", Repo: "o/r", SHA: later, Number: 7, ServerURL: "https://github.com",
		Comment: &github.EventComment{Action: "created", ID: 77, Author: author, Body: body,
			Created: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	if change != nil {
		change(&e)
	}
	api, err := github.NewClient(github.Options{URL: s.URL, Token: githubtest.Token, Repo: "o/r", Clock: newClock()})
	if err != nil {
		t.Fatal(err)
	}
	r := &github.Responder{API: api, Event: e, Workflow: "performance-pull-request.yml"}
	got, err := r.Respond(t.Context())
	if err != nil {
		t.Errorf("%s: %v", body, err)
	}
	return got
}

// hub is a fake with a red pull request and its run.
func hub(t *testing.T, repo string) *githubtest.Server {
	t.Helper()
	s := githubtest.New()
	t.Cleanup(s.Close)
	s.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: repo, HeadBranch: "fix"})
	s.AddRun(githubtest.WorkflowRun{ID: 8123, Attempt: 1, File: "performance-pull-request.yml", Event: "pull_request", SHA: sha,
		Status: "completed", Conclusion: "failure"})
	s.AddRun(githubtest.WorkflowRun{ID: 9999, Attempt: 1, File: "performance-pull-request.yml", Event: "workflow_dispatch", SHA: sha,
		Status: "completed", Conclusion: "failure"})
	s.AddRun(githubtest.WorkflowRun{ID: 9998, Attempt: 1, File: "deploy.yml", Event: "pull_request", SHA: sha, Status: "completed",
		Conclusion: "failure"})
	post(t, s, newClock(), pullRequest(), github.Leg{}, "a", result.Regression)
	for user, permission := range map[string]string{"ada": "admin", "wim": "write", "max": "maintain", "rea": "read", "tri": "triage"} {
		s.SetPermission(user, permission)
	}
	return s
}

// TestWhoMayCommand: writers alone, by the API's word, with a new comment on a pull request
// that is a command and nothing else.
func TestWhoMayCommand(t *testing.T) {
	for name, tt := range map[string]struct {
		author, body string
		change       func(*github.Event)
		done         bool
	}{
		"admin":            {"ada", "/pipeline run", nil, true},
		"writer":           {"wim", "/pipeline run", nil, true},
		"maintainer":       {"max", "/pipeline run", nil, true},
		"reader":           {"rea", "/pipeline run", nil, false},
		"triage":           {"tri", "/pipeline run", nil, false},
		"stranger":         {"mallory", "/pipeline run", nil, false},
		"stranger accepts": {"mallory", "/pipeline accept it is fine", nil, false},
		"edited":           {"wim", "/pipeline run", func(e *github.Event) { e.Comment.Action = "edited" }, false},
		"an issue":         {"wim", "/pipeline run", func(e *github.Event) { e.Number = 0 }, false},
		"no command":       {"wim", "I will /pipeline run it", nil, false},
		"no reason":        {"wim", "/pipeline accept", nil, false},
		"another head":     {"wim", "/pipeline run 2b3c4d5", nil, false},
		"this head":        {"wim", "/pipeline run 1a2b3c4", nil, true},
	} {
		s := hub(t, "o/r")
		before := s.Checks()
		got := respond(t, s, tt.author, tt.body, tt.change)
		attempt := s.Runs()[0].Attempt
		if (got.Done != "") != tt.done || (got.Refused == "") != tt.done || (attempt == 2) != tt.done {
			t.Errorf("%s: %+v, attempt %d", name, got, attempt)
		}
		if s.Runs()[1].Attempt+s.Runs()[2].Attempt != 2 {
			t.Errorf("%s: another workflow, or a run with rights, was started", name)
		}
		if diff := cmp.Diff(before, s.Checks()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestRunOfAFork: what runs again is what ran without rights, and only the commit that
// a user has named.
func TestRunOfAFork(t *testing.T) {
	s := hub(t, "stranger/r")
	if got := respond(t, s, "wim", "/pipeline run", nil); !strings.Contains(got.Refused, "/pipeline run 1a2b3c4") {
		t.Errorf("%+v", got)
	}
	s.MoveHead(7, later)
	if got := respond(t, s, "wim", "/pipeline run 1a2b3c4", nil); !strings.Contains(got.Refused, "by now") {
		t.Errorf("%+v", got)
	}
	s.MoveHead(7, sha)
	if got := respond(t, s, "wim", "/pipeline run 1a2b3c4", nil); got.Done == "" {
		t.Errorf("%+v", got)
	}
	if got := respond(t, s, "wim", "/pipeline run 1a2b3c4", nil); !strings.Contains(got.Refused, "still going on") {
		t.Errorf("%+v", got)
	}
}

// TestAccept: check run, status and comment say who accepted what and why; the result stays,
// and nothing else is accepted with it.
func TestAccept(t *testing.T) {
	s := hub(t, "o/r")
	green := pullRequest()
	green.SHA = later
	post(t, s, newClock(), green, github.Leg{}, "b", result.Regression) // another commit
	got := respond(t, s, "wim", "/pipeline accept <b>larger</b> blocks @everyone", nil)
	if got.Done == "" {
		t.Fatalf("%+v", got)
	}
	for _, k := range s.Checks() {
		if want := map[string]string{sha: "success", later: "failure"}[k.SHA]; k.Conclusion != want {
			t.Errorf("check of %s is %s, want %s", k.SHA, k.Conclusion, want)
		}
	}
	k := s.Checks()[0]
	contains(t, k.Title, "Accepted by wim: ", "1 gate regressed")
	contains(t, k.Summary, "**Accepted by wim:**", "TTFT p99")
	if len(k.Annotations) != 1 {
		t.Errorf("%d annotations", len(k.Annotations))
	}
	states := map[string]string{}
	for _, st := range s.Statuses() {
		states[st.SHA] = st.State
	}
	if states[sha] != "success" || states[later] != "failure" {
		t.Errorf("%v", states)
	}
	s = hub(t, "o/r")
	respond(t, s, "wim", "/pipeline accept <b>larger</b> blocks @everyone", nil)
	text := one(t, s).Body
	contains(t, text, "✅ **Accepted by wim** for `1a2b3c4`: ", "1 gate regressed")
	for _, bad := range []string{"<b>", "@everyone"} {
		if strings.Contains(text+s.Checks()[0].Summary, bad) {
			t.Errorf("%q is in the comment or the check", bad)
		}
	}
	if strings.Index(text, "Accepted") < strings.Index(text, "### ") {
		t.Error("the verdict is not first")
	}
	if again := respond(t, s, "wim", "/pipeline accept again", nil); !strings.Contains(again.Refused, "nothing to accept") {
		t.Errorf("%+v", again)
	}
}

// TestAcceptTakesOwnChecksAlone: the failed check of another workflow, or of another tool in the same run, stays as it
// is, whatever its external ID looks like.
func TestAcceptTakesOwnChecksAlone(t *testing.T) {
	s := hub(t, "o/r")
	s.AddCheck(githubtest.Check{Name: "deploy", SHA: sha, ExternalID: "9998.1", Status: "completed", Conclusion: "failure",
		DetailsURL: "https://github.com/o/r/actions/runs/9998"})
	s.AddCheck(githubtest.Check{Name: "lint", SHA: sha, ExternalID: "8123.1", Status: "completed", Conclusion: "failure",
		DetailsURL: "https://github.com/o/r/actions/runs/8123/job/5"})
	s.AddCheck(githubtest.Check{Name: "unknown", SHA: sha, ExternalID: "1.1.0123456789abcdef", Status: "completed", Conclusion: "failure",
		DetailsURL: "https://github.com/o/r/actions/runs/1"})
	if got := respond(t, s, "wim", "/pipeline accept larger blocks", nil); got.Done == "" {
		t.Fatalf("%+v", got)
	}
	for _, k := range s.Checks() {
		want := "failure"
		if k.Name == "pipeline" {
			want = "success"
		}
		if k.Conclusion != want {
			t.Errorf("check %s with external ID %s is %s, want %s", k.Name, k.ExternalID, k.Conclusion, want)
		}
	}
}

// TestAcceptOfWhatWasNotSeen: accept refuses a result that is newer than the comment. A commit may be pushed and measured
// while the job of the command waits.
func TestAcceptOfWhatWasNotSeen(t *testing.T) {
	s := hub(t, "o/r")
	got := respond(t, s, "wim", "/pipeline accept larger blocks", func(e *github.Event) {
		e.Comment.Created = s.Checks()[0].Completed.Add(-time.Second)
	})
	if !strings.Contains(got.Refused, "newer than the comment") {
		t.Errorf("%+v", got)
	}
	if got := s.Checks()[0].Conclusion; got != "failure" {
		t.Errorf("the check is %s", got)
	}
}

// TestAcceptWhileItRunsAgain: accept refuses a result that a newer attempt replaces, whatever that one's state.
func TestAcceptWhileItRunsAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		then result.Verdict // "" while it is measured
		want string
	}{
		"going on":     {"", "still going on"},
		"red, unseen":  {result.Regression, "newer than the comment"},
		"green by now": {result.Pass, "nothing to accept"},
	} {
		s := hub(t, "o/r")
		seen := s.Checks()[0].Completed
		again := pullRequest()
		again.Run.Attempt = 2
		if tt.then == "" {
			publisher(t, s, newClock(), again, everything()).Start(t.Context())
		} else {
			post(t, s, newClock(), again, github.Leg{}, "b", tt.then)
		}
		got := respond(t, s, "wim", "/pipeline accept larger blocks", func(e *github.Event) {
			if name == "red, unseen" {
				e.Comment.Created = seen.Add(-time.Nanosecond)
			}
		})
		if !strings.Contains(got.Refused, tt.want) {
			t.Errorf("%s: %+v, want %q", name, got, tt.want)
		}
		if k := s.Checks()[0]; k.Conclusion != "failure" || strings.Contains(one(t, s).Body, "Accepted") {
			t.Errorf("%s: the first check is %s\n%s", name, k.Conclusion, one(t, s).Body)
		}
	}
}

// TestAcceptOfOneWorkflow: the comment of another workflow on the commit says nothing of what was accepted.
func TestAcceptOfOneWorkflow(t *testing.T) {
	s := hub(t, "o/r")
	other := pullRequest()
	other.Workflow, other.Run.ID = "nightly", 9998
	set := everything()
	set.Key, set.Check, set.Status = "nightly", "nightly", "pipeline/nightly"
	p := publisher(t, s, newClock(), other, set)
	p.Start(t.Context())
	p.Finish(t.Context(), document(result.Regression, 1))
	if got := respond(t, s, "wim", "/pipeline accept larger blocks", nil); got.Done == "" {
		t.Fatalf("%+v", got)
	}
	for i, want := range []bool{true, false} {
		if body := mine(s)[i].Body; strings.Contains(body, "Accepted by wim") != want {
			t.Errorf("comment %d:\n%s", i, body)
		}
	}
}

// TestAcceptIsRepeated: a command whose status GitHub did not take can be repeated.
func TestAcceptIsRepeated(t *testing.T) {
	s := hub(t, "o/r")
	s.FailAlways("POST status", githubtest.Forbidden)
	api, err := github.NewClient(github.Options{URL: s.URL, Token: githubtest.Token, Repo: "o/r", Clock: newClock()})
	if err != nil {
		t.Fatal(err)
	}
	r := &github.Responder{API: api, Workflow: "performance-pull-request.yml", Event: github.Event{
		Name: "issue_comment", Repo: "o/r", SHA: later, Number: 7, ServerURL: "https://github.com",
		Comment: &github.EventComment{Action: "created", ID: 77, Author: "wim", Body: "/pipeline accept larger blocks",
			Created: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}}}
	if _, err := r.Respond(t.Context()); err == nil {
		t.Error("no error")
	}
	s.Recover("POST status")
	if got := respond(t, s, "wim", "/pipeline accept larger blocks", nil); got.Done == "" {
		t.Errorf("%+v", got)
	}
	if all := s.Statuses(); all[len(all)-1].State != "success" {
		t.Errorf("%+v", all)
	}
}

// TestAcceptOfWhatWasNotMeasured: a file that could not be read has no result that could be accepted.
func TestAcceptOfWhatWasNotMeasured(t *testing.T) {
	s := hub(t, "o/r")
	s.MoveHead(7, later)
	s.AddRun(githubtest.WorkflowRun{ID: 8123, Attempt: 1, File: "performance-pull-request.yml", Event: "pull_request", SHA: later,
		Status: "completed", Conclusion: "failure"})
	e := pullRequest()
	e.SHA = later
	api, err := github.NewClient(github.Options{URL: s.URL, Token: githubtest.Token, Repo: "o/r", Clock: newClock()})
	if err != nil {
		t.Fatal(err)
	}
	p := &github.Publisher{API: api, Event: e, Settings: github.Settings{Check: "pipeline"}, Clock: newClock()}
	p.Start(t.Context())
	if warnings := p.Fail(t.Context(), "gate.hcl does not exist", true); len(warnings) > 0 {
		t.Fatal(warnings)
	}
	if got := respond(t, s, "wim", "/pipeline accept larger blocks", nil); !strings.Contains(got.Refused, "without a measurement") {
		t.Errorf("%+v", got)
	}
	for _, k := range s.Checks() {
		if k.Conclusion != "failure" {
			t.Errorf("the check %q of %s is %s", k.Title, k.SHA, k.Conclusion)
		}
	}
}

// TestAcceptOfAFork: what is accepted of a fork is the commit that a user has named.
func TestAcceptOfAFork(t *testing.T) {
	s := hub(t, "stranger/r")
	if got := respond(t, s, "wim", "/pipeline accept larger blocks", nil); !strings.Contains(got.Refused, "/pipeline accept 1a2b3c4 REASON") {
		t.Errorf("without a commit: %+v", got)
	}
	if got := respond(t, s, "wim", "/pipeline accept 2b3c4d5 larger blocks", nil); !strings.Contains(got.Refused, "by now") {
		t.Errorf("another commit: %+v", got)
	}
	if got := s.Checks()[0].Conclusion; got != "failure" {
		t.Errorf("the check is %s", got)
	}
	if got := respond(t, s, "wim", "/pipeline accept 1a2b3c4 larger blocks", nil); got.Done == "" || s.Checks()[0].Conclusion != "success" {
		t.Errorf("%+v, the check is %s", got, s.Checks()[0].Conclusion)
	}
}
