package github_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/publishtest"
)

const (
	sha   = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	later = "2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e"
)

// clock counts what is slept.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

func (c *clock) slept() time.Duration { return c.Now().Sub(newClock().now) }

// pullRequest is the usual event: run 8123 measured the head of pull request 7.
func pullRequest() github.Event {
	return github.Event{
		Name: "pull_request", Repo: "o/r", SHA: sha, Number: 7, HeadRepo: "o/r", HeadBranch: "fix", Workflow: "perf",
		Run: github.Run{ID: 8123, Attempt: 1}, ServerURL: "https://github.com",
	}
}

// fake is a GitHub with the pull request of that event.
func fake(t *testing.T) *githubtest.Server {
	t.Helper()
	s := githubtest.New()
	t.Cleanup(s.Close)
	s.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: "o/r", HeadBranch: "fix"})
	return s
}

// publisher posts to a fake by its clock.
func publisher(t *testing.T, s *githubtest.Server, c *clock, e github.Event, set github.Settings) *github.Publisher {
	t.Helper()
	api, err := github.NewClient(github.Options{URL: s.URL, Token: githubtest.Token, Repo: e.Repo, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	return &github.Publisher{API: api, Event: e, Settings: set, Clock: c}
}

// everything is one of each.
func everything() github.Settings {
	return github.Settings{Comment: publish.CommentUpdate, Check: "pipeline", Status: "pipeline/perf"}
}

// document returns a result with one verdict on a number of gates.
var document = publishtest.Document

// mine are the comments that carry a marker and are the bot's.
func mine(s *githubtest.Server) []githubtest.Comment {
	var out []githubtest.Comment
	for _, c := range s.Comments() {
		if c.Author == s.Viewer && strings.HasPrefix(c.Body, "<!-- pipeline:report v1 ") {
			out = append(out, c)
		}
	}
	return out
}

// one demands that exactly one comment is there and returns it.
func one(t *testing.T, s *githubtest.Server) githubtest.Comment {
	t.Helper()
	own := mine(s)
	if len(own) != 1 {
		t.Fatalf("%d comments, want 1: %+v", len(own), own)
	}
	return own[0]
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}
