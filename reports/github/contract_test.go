package github_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/result"
)

// TestContract sends every request that this package makes to a mock that Prism makes of
// GitHub's OpenAPI description, at PIPELINE_CONTRACT_URL: `.ci/contract` starts it. The
// mock refuses what the description does not allow.
func TestContract(t *testing.T) {
	address := os.Getenv("PIPELINE_CONTRACT_URL")
	if address == "" {
		t.Skip("needs a mock of GitHub's description: .ci/contract")
	}
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]int{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Accept", "application/json") // Prism does not know the media types of go-github
			if strings.Contains(r.In.URL.Path, "/pulls") {
				r.Out.Header.Set("Prefer", "dynamic=true") // the description's examples break its own schema
			}
		},
		ModifyResponse: func(r *http.Response) error {
			mu.Lock()
			defer mu.Unlock()
			r.Header.Del("Link") // every page of an example has a next one
			if strings.HasSuffix(r.Request.URL.Path, "/pulls") && r.StatusCode == http.StatusOK {
				_ = r.Body.Close() // invented values, which no type of ours fits
				r.Body = io.NopCloser(strings.NewReader("[]"))
				r.ContentLength = 2
				r.Header.Set("Content-Length", "2")
			}
			op := r.Request.Method + " " + r.Request.URL.Path
			seen[op]++
			if v := r.Header.Get("Sl-Violations"); r.StatusCode >= 400 || strings.Contains(v, `"request"`) {
				t.Errorf("%s: %s %s", op, r.Status, v)
			}
			return nil
		},
	}
	front := httptest.NewServer(proxy)
	defer front.Close()
	api, err := github.NewClient(github.Options{URL: front.URL, Token: githubtest.Token, Repo: "o/r", Clock: newClock()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	p := &github.Publisher{API: api, Event: pullRequest(), Settings: github.Settings{Check: "pipeline", Status: "pipeline/perf"}}
	warnings := p.Start(ctx)
	warnings = append(warnings, p.Finish(ctx, document(result.Regression, 60)).Warnings...)
	if len(warnings) > 0 {
		t.Errorf("%q", warnings)
	}
	for name, do := range map[string]func() error{
		"pull":         func() error { _, err := api.PullRequest(ctx, 7); return err },
		"pulls":        func() error { _, err := api.PullRequestsFrom(ctx, "stranger", "fix"); return err },
		"commit pulls": func() error { _, err := api.PullRequestsWith(ctx, sha); return err },
		"files":        func() error { _, err := api.Files(ctx, 7); return err },
		"comments":     func() error { _, err := api.Comments(ctx, 7); return err },
		"create":       func() error { _, err := api.CreateComment(ctx, 7, "text"); return err },
		"edit":         func() error { _, err := api.EditComment(ctx, 1, "text"); return err },
		"delete":       func() error { return api.DeleteComment(ctx, 1) },
		"issues":       func() error { _, err := api.Issues(ctx, githubtest.Bot); return err },
		"open issue": func() error {
			_, err := api.CreateIssue(ctx, github.Issue{Title: "title", Body: "text", Labels: []string{"performance"}})
			return err
		},
		"close issue": func() error {
			_, err := api.EditIssue(ctx, github.Issue{Number: 1, Title: "title", Body: "text", Reason: "completed"})
			return err
		},
		"check":         func() error { _, err := api.Check(ctx, 1); return err },
		"statuses":      func() error { _, err := api.Statuses(ctx, sha); return err },
		"permission":    func() error { _, err := api.MayWrite(ctx, "octocat"); return err },
		"reaction":      func() error { return api.React(ctx, 1, "+1") },
		"workflow runs": func() error { _, err := api.WorkflowRuns(ctx, "performance-pull-request.yml", sha); return err },
		"run again":     func() error { return api.RunAgain(ctx, 1) },
		"checks":        func() error { _, err := api.Checks(ctx, sha, "pipeline"); return err },
		"update check": func() error {
			_, err := api.UpdateCheck(ctx, github.Check{ID: 1, Name: "pipeline", Conclusion: github.Cancelled})
			return err
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d kinds of requests were checked: %v", len(seen), seen)
	}
}
