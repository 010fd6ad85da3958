package github_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

// workflowRun is the event of the workflow that comments for forks.
func workflowRun() github.Event {
	return github.Event{
		Name: "workflow_run", Repo: "o/r", SHA: sha, HeadRepo: "stranger/r", HeadBranch: "fix", Workflow: "perf",
		Run: github.Run{ID: 8123, Attempt: 1}, ServerURL: "https://github.com",
	}
}

// TestForkIsFoundByItsHead: the pull request is the one whose head is the measured commit
// of the measured repository, and nothing else will do.
func TestForkIsFoundByItsHead(t *testing.T) {
	right := githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: "stranger/r", HeadBranch: "fix"}
	with := func(change func(*githubtest.PullRequest)) githubtest.PullRequest {
		p := right
		change(&p)
		return p
	}
	for name, tt := range map[string]struct {
		pulls []githubtest.PullRequest
		want  int // number of the pull request that is commented on, 0 for none
	}{
		"the one":          {[]githubtest.PullRequest{right}, 7},
		"moved on":         {[]githubtest.PullRequest{with(func(p *githubtest.PullRequest) { p.HeadSHA = later })}, 0},
		"closed":           {[]githubtest.PullRequest{with(func(p *githubtest.PullRequest) { p.Closed = true })}, 0},
		"other repository": {[]githubtest.PullRequest{with(func(p *githubtest.PullRequest) { p.HeadRepo = "stranger/other" })}, 0},
		"own branch":       {[]githubtest.PullRequest{with(func(p *githubtest.PullRequest) { p.HeadRepo = "o/r" })}, 0},
		"two":              {[]githubtest.PullRequest{right, with(func(p *githubtest.PullRequest) { p.Number = 8 })}, 0},
		"none":             {nil, 0},
		"among others":     {[]githubtest.PullRequest{with(func(p *githubtest.PullRequest) { p.Number, p.HeadBranch = 6, "other" }), right}, 7},
	} {
		s := githubtest.New()
		defer s.Close()
		for _, p := range tt.pulls {
			s.AddPullRequest(p)
		}
		posted := publisher(t, s, newClock(), workflowRun(), github.Settings{Comment: publish.CommentUpdate, Untrusted: true}).Finish(t.Context(),
			document(result.Pass, 1))
		got := 0
		for _, c := range s.Comments() {
			got = c.Number
			contains(t, c.Body, "Measured by code of this pull request")
		}
		if got != tt.want || (len(posted.Notes) > 0) != (tt.want == 0) || len(posted.Warnings) > 0 {
			t.Errorf("%s: told %d, want %d; %+v", name, got, tt.want, posted)
		}
	}
}

// TestKeyOfAnUntrustedResult: an untrusted result cannot choose which comment it takes over.
func TestKeyOfAnUntrustedResult(t *testing.T) {
	s := githubtest.New()
	defer s.Close()
	s.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: "stranger/r", HeadBranch: "fix"})
	for i, file := range []string{"perf/gate.hcl", "other.hcl", "third.hcl"} {
		doc := document(result.Pass, 1)
		doc.File = file
		e := workflowRun()
		e.Run.ID += int64(i)
		publisher(t, s, newClock(), e, github.Settings{Comment: publish.CommentUpdate, Untrusted: true}).Finish(t.Context(), doc)
	}
	one(t, s)
}

// TestTokenStaysWithItsHost: a redirect does not carry the token away, nor does a host in
// the clear get it.
func TestTokenStaysWithItsHost(t *testing.T) {
	seen := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		seen++
		w.WriteHeader(http.StatusNotFound)
	}))
	defer other.Close()
	redirect := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer redirect.Close()
	api, err := github.NewClient(github.Options{URL: redirect.URL, Token: "secret-token", Repo: "o/r", Clock: newClock()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.PullRequest(t.Context(), 1); err == nil {
		t.Error("no error")
	}
	if seen != 0 {
		t.Errorf("the other host was sent %d requests", seen)
	}
	for _, to := range []string{"http://api.example/x", "http://api.example:443/x", "https://api.example:8443/x", "https://other.example/x"} {
		wire := &wire{to: to}
		api, err := github.NewClient(github.Options{URL: "https://api.example", Token: "secret-token", Repo: "o/r",
			Clock: newClock(), Transport: wire})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.PullRequest(t.Context(), 1); err == nil {
			t.Errorf("redirected to %s: no error", to)
		}
		if len(wire.sent) != 1 {
			t.Errorf("redirected to %s: sent to %q", to, wire.sent)
		}
	}
	for _, url := range []string{"http://github.example/api/v3", "ftp://x", "::", "nonsense"} {
		if _, err := github.NewClient(github.Options{URL: url, Token: "x", Repo: "o/r"}); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}

// wire answers every request with a redirect.
type wire struct {
	to   string
	sent []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.sent = append(w.sent, r.URL.String()+" "+r.Header.Get("Authorization"))
	return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {w.to}}, Body: http.NoBody, Request: r},
		nil
}

// TestReadEvent: the commit is the head of the pull request, never the merge commit.
func TestReadEvent(t *testing.T) {
	const merge = "ffffffffffffffffffffffffffffffffffffffff"
	for name, tt := range map[string]struct {
		event, payload string
		want           github.Event
		fails          string
	}{
		"pull request": {
			"pull_request", `{"number":7,"pull_request":{"number":7,"head":{"sha":"` + sha + `","ref":"fix","repo":{"full_name":"o/r"}}}}`,
			pullRequest(), "",
		},
		"fork whose repository is gone": {
			"pull_request", `{"number":7,"pull_request":{"number":7,"head":{"sha":"` + sha + `","ref":"fix","repo":null}}}`,
			func() github.Event { e := pullRequest(); e.HeadRepo = ""; return e }(), "",
		},
		"workflow run": {
			"workflow_run", `{"workflow_run":{"id":9,"run_attempt":2,"name":"gate","head_sha":"` + sha +
				`","head_branch":"fix","head_repository":{"full_name":"stranger/r"}}}`,
			func() github.Event {
				e := workflowRun()
				e.Run, e.Workflow = github.Run{ID: 9, Attempt: 2}, "gate"
				return e
			}(), "",
		},
		"push": {
			"push", `{}`,
			github.Event{Name: "push", Repo: "o/r", SHA: merge, Workflow: "perf", Run: github.Run{ID: 8123, Attempt: 1},
				ServerURL: "https://github.com"}, "",
		},
		"no hash": {"pull_request", `{"number":7,"pull_request":{"head":{"sha":"../../x"}}}`, github.Event{}, "must be the hash of a commit"},
		"bad head": {"pull_request", `{"pull_request":{"head":{"sha":"` + sha + `","repo":{"full_name":"a/b/c"}}}}`,
			github.Event{}, "owner/name"},
		"not json":    {"pull_request", `{`, github.Event{}, "reading the event"},
		"wrong types": {"pull_request", `{"number":"7"}`, github.Event{}, "reading the event"},
	} {
		file := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(file, []byte(tt.payload), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{
			"GITHUB_EVENT_NAME": tt.event, "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": merge,
			"GITHUB_RUN_ID": "8123", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_WORKFLOW": "perf",
		}
		got, err := github.ReadEvent(func(k string) string { return env[k] })
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v, want %s", name, err, tt.fails)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tt.want)
		}
	}
	if _, err := github.ReadEvent(func(string) string { return "" }); err == nil {
		t.Error("an empty environment is an event")
	}
}

// TestReadComment: a command is known with its author and the time of the comment, after which no result is accepted.
func TestReadComment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "event.json")
	payload := `{"action":"created","issue":{"number":7,"pull_request":{}},"comment":{"id":5,"created_at":"2026-11-28T12:00:00Z",` +
		`"body":"/pipeline run","user":{"login":"wim"}}}`
	if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": sha}
	e, err := github.ReadEvent(func(k string) string { return env[k] })
	if err != nil || e.Comment == nil {
		t.Fatalf("%+v, %v", e, err)
	}
	want := github.EventComment{Action: "created", ID: 5, Author: "wim", Body: "/pipeline run",
		Created: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	if *e.Comment != want {
		t.Errorf("%+v, want %+v", *e.Comment, want)
	}
}

// FuzzEvent: no payload makes the program fall over, and none gives a commit that is none.
func FuzzEvent(f *testing.F) {
	f.Add(`{"number":7,"pull_request":{"number":7,"head":{"sha":"` + sha + `","ref":"fix","repo":{"full_name":"o/r"}}}}`)
	f.Add(`{"workflow_run":{"id":9,"head_sha":"x"}}`)
	f.Fuzz(func(t *testing.T, payload string) {
		file := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": sha}
		e, err := github.ReadEvent(func(k string) string { return env[k] })
		if err == nil && (len(e.SHA) != 40 && len(e.SHA) != 64 || strings.ContainsAny(e.SHA+e.HeadRepo, " \n<")) {
			t.Errorf("%+v", e)
		}
	})
}

// TestUntrustedNeverPasses: a result that the measured code itself has made can fail a check
// and pass none, and says whose figures it holds wherever it is read.
func TestUntrustedNeverPasses(t *testing.T) {
	for verdict, want := range map[result.Verdict][2]string{
		result.Pass: {github.Neutral, "pending"}, result.Improvement: {github.Neutral, "pending"},
		result.Inconclusive: {github.Neutral, "pending"},
		result.Regression:   {github.Failure, "failure"},
	} {
		s := githubtest.New()
		defer s.Close()
		s.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: "stranger/r", HeadBranch: "fix"})
		settings := github.Settings{Comment: publish.CommentUpdate, Check: "pipeline/pr", Status: "pipeline/status", Untrusted: true}
		publisher(t, s, newClock(), workflowRun(), settings).Finish(t.Context(), document(verdict, 1))
		checks, statuses, comments := s.Checks(), s.Statuses(), s.Comments()
		if len(checks) != 1 || len(statuses) != 1 || len(comments) != 1 {
			t.Fatalf("%s: %d checks, %d statuses, %d comments", verdict, len(checks), len(statuses), len(comments))
		}
		if checks[0].Conclusion != want[0] || statuses[0].State != want[1] {
			t.Errorf("%s: the check is %s and the status %s, want %s and %s", verdict, checks[0].Conclusion, statuses[0].State, want[0], want[1])
		}
		for place, text := range map[string]string{"comment": comments[0].Body, "summary": checks[0].Summary} {
			if !strings.Contains(text, "the figures are its own") {
				t.Errorf("%s: the %s does not say whose figures it holds", verdict, place)
			}
		}
		for place, text := range map[string]string{"title": checks[0].Title, "status": statuses[0].Description} {
			if !strings.HasPrefix(text, "By its own figures: ") {
				t.Errorf("%s: the %s is %q", verdict, place, text)
			}
		}
	}
}
