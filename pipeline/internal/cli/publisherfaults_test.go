package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/buildkite/buildkitetest"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/gitlab/gitlabtest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/steps"
)

// link reaches a service: by requests, or by a program of its own.
type link struct {
	http http.RoundTripper
	exec func(context.Context, publish.Program) (string, error)
}

// publishing is a service that runs are published to. What is added to this table is put through TestPublisherFaults.
type publishing struct {
	name string
	// least is the number of requests below which the test shows nothing.
	least int
	// open returns how the service answers, and makes a publisher that reaches it by a link.
	open func(t *testing.T) (answers link, publisher func(link) publish.Run)
}

var publishings = []publishing{
	{"GitHub", 5, openGitHub}, {"GitLab", 5, openGitLab}, {"Buildkite", 4, openBuildkite}, {"a webhook", 1, openWebhook},
}

// TestEveryPublisherIsPutThroughFaults holds the table above against that of the program.
func TestEveryPublisherIsPutThroughFaults(t *testing.T) {
	if len(publishings) != len(allPublishers()) {
		t.Errorf("%d of %d publishers are put through faults: add a row of each to publishings", len(publishings), len(allPublishers()))
	}
}

// faultFile has little to measure, since every fault measures it again. Its head is slower, by a multiple of the margin.
const faultFile = `
server "vllm" "sut" {
  for_each   = { base = "0%", head = "25%" }
  executable = "vllm"
  model      = "tiny"
  simulate {
    profile  = "fast"
    slowdown = each.value
    noise    = "1%"
  }
}
dataset "random" "short" {
  input_len  = 64
  output_len = 4
}
benchmark "b" {
  matrix {
    side = ["base", "head"]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    rate     = 20
    requests = 20
  }
  repeat {
    min = 4
    max = 4
  }
}
baseline "paired" "base" {
  axis  = "side"
  value = "base"
}
gate "latency" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.mean]
  margin    = "5%"
}
`

// faultSHA is the commit that the runs measure.
const faultSHA = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"

// runIn returns the publisher of a run in an environment, with the report blocks of its file.
func runIn(env map[string]string, l link, blocks ...*config.Report) publish.Run {
	a := &app{Streams: Streams{Getenv: func(name string) string { return env[name] }, Log: io.Discard, Err: io.Discard}, transport: l.http,
		runProgram: l.exec, publishers: allPublishers()}
	return a.published(runFlags{post: postFlags{comment: publish.CommentUpdate, check: "pipeline", status: "pipeline/status"}}, blocks,
		func(*publish.Settings) {})
}

func openGitHub(t *testing.T) (link, func(link) publish.Run) {
	t.Helper()
	hub := githubtest.NewVirtual()
	hub.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: faultSHA, HeadRepo: "o/r", HeadBranch: "fix"})
	event := filepath.Join(t.TempDir(), "event.json")
	payload := `{"number":7,"pull_request":{"number":7,"head":{"sha":"` + faultSHA + `","ref":"fix","repo":{"full_name":"o/r"}}}}`
	if err := os.WriteFile(event, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": event, "GITHUB_REPOSITORY": "o/r",
		"GITHUB_RUN_ID": "8123", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_API_URL": hub.URL, "GITHUB_TOKEN": githubtest.Token,
	}
	return link{http: hub.Transport()}, func(l link) publish.Run { return runIn(env, l) }
}

func openGitLab(*testing.T) (link, func(link) publish.Run) {
	env := map[string]string{
		"GITLAB_CI": "true", "CI_API_V4_URL": gitlabtest.URL, "CI_PROJECT_ID": gitlabtest.Project, "CI_COMMIT_SHA": faultSHA,
		"CI_PIPELINE_SOURCE": "merge_request_event", "CI_PIPELINE_ID": "900", "CI_JOB_ID": "1400", "CI_JOB_NAME": "performance: [h100]",
		"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_ID": gitlabtest.Project, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": gitlabtest.Project,
		"PIPELINE_GITLAB_TOKEN": gitlabtest.Token,
	}
	return link{http: gitlabtest.New(faultSHA, "perf/gate.hcl")}, func(l link) publish.Run { return runIn(env, l) }
}

func openBuildkite(*testing.T) (link, func(link) publish.Run) {
	agent := buildkitetest.New()
	env := map[string]string{
		"BUILDKITE": "true", "BUILDKITE_JOB_ID": "0190", "BUILDKITE_COMMIT": faultSHA, "BUILDKITE_PULL_REQUEST": "7",
		"BUILDKITE_REPO": "git@github.com:o/r.git", "BUILDKITE_PULL_REQUEST_REPO": "git@github.com:o/r.git", "BUILDKITE_LABEL": "perf h100",
	}
	return link{exec: agent.Exec}, func(l link) publish.Run { return runIn(env, l) }
}

func openWebhook(*testing.T) (link, func(link) publish.Run) {
	env := map[string]string{"PIPELINE_WEBHOOK": "https://hooks.example/T0/B0"}
	answers := roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return answered(r, http.StatusOK, strings.NewReader("ok")), err
	})
	block := &config.Report{Addr: "report.webhook.chat", Kind: "webhook", Options: map[string]string{"url_env": "PIPELINE_WEBHOOK"}}
	return link{http: answers}, func(l link) publish.Run { return runIn(env, l, block) }
}

// roundTrip answers requests by a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fault is what becomes of a request instead of its answer.
type fault struct {
	name string
	do   func(*http.Request, http.RoundTripper) (*http.Response, error)
}

func answered(r *http.Request, status int, body io.Reader) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r,
	}
}

var faults = []fault{
	{"an answer that breaks off", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text[:len(text)/2]), broken{}))
		return resp, nil
	}},
	{"neither an answer nor an error", func(*http.Request, http.RoundTripper) (*http.Response, error) { return nil, nil }},
	{"an answer without a body", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		resp := answered(r, http.StatusOK, strings.NewReader(""))
		resp.Body = nil
		return resp, nil
	}},
	{"no connection", func(*http.Request, http.RoundTripper) (*http.Response, error) {
		return nil, errors.New("connection refused")
	}},
	{"status 500", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return answered(r, http.StatusInternalServerError, strings.NewReader("<html>")), nil
	}},
	{"no end", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}},
	{"no JSON", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return answered(r, http.StatusOK, strings.NewReader("\x00<html>{{{")), nil
	}},
	{"JSON of nothing", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return answered(r, http.StatusOK, strings.NewReader("null")), nil
	}},
	{"a list of nothing", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return answered(r, http.StatusOK, strings.NewReader("[null]")), nil
	}},
	{"JSON of another kind", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return answered(r, http.StatusOK, strings.NewReader(`{"id":"x","check_runs":7,"data":[]}`)), nil
	}},
	{"a panic", func(*http.Request, http.RoundTripper) (*http.Response, error) { panic("index out of range") }},
}

// broken is a connection that breaks.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// programFaults are the faults of a program, by the names of the faults of requests. Those without one print what the
// request answers.
var programFaults = map[string]func(context.Context, func() (string, error)) (string, error){
	"an answer that breaks off": func(_ context.Context, next func() (string, error)) (string, error) {
		text, err := next()
		return text[:len(text)/2], err
	},
	"neither an answer nor an error": func(context.Context, func() (string, error)) (string, error) { return "", nil },
	"an answer without a body":       func(context.Context, func() (string, error)) (string, error) { return "\n", nil },
	"no connection":                  func(context.Context, func() (string, error)) (string, error) { return "", steps.ErrNotStarted },
	"status 500": func(context.Context, func() (string, error)) (string, error) {
		return "fatal", errors.New("exit status 1")
	},
	"no end": func(ctx context.Context, _ func() (string, error)) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	},
	"a panic": func(context.Context, func() (string, error)) (string, error) { panic("index out of range") },
}

// faulty lets a fault happen to one request, and to all after it where it lasts.
type faulty struct {
	next  link
	fault fault
	at    int
	lasts bool
	seen  int
}

// due reports whether the fault happens to the next request.
func (f *faulty) due() bool {
	f.seen++
	n := f.seen - 1
	return n == f.at || f.lasts && n > f.at
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.due() {
		return f.fault.do(r, f.next.http)
	}
	return f.next.http.RoundTrip(r)
}

func (f *faulty) exec(ctx context.Context, p publish.Program) (string, error) {
	next := func() (string, error) { return f.next.exec(ctx, p) }
	if !f.due() {
		return next()
	}
	if do := programFaults[f.fault.name]; do != nil {
		return do(ctx, next)
	}
	return "\x00<html>{{{[null]\npipeline:0:0\n", nil
}

// measured carries a red session out in virtual time and returns its exit status, and a digest of the result and the
// evidence without what is warned of.
func measured(t *testing.T, file, out string, publisher publish.Run) (code int, evidence string) {
	t.Helper()
	j := newBaseJudge(t, "")
	a, said := j.app()
	cfg, err := a.load(configFlags{}, []string{file})
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	p, err := a.plan(cfg, planFlags{simulate: "virtual", timeScale: 1}, []string{file})
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	opt := a.sessionOptions(runFlags{out: out}, p, nil)
	opt.Views, opt.Publisher, opt.Redactor, opt.Random = nil, publisher, a.redact, strings.NewReader(strings.Repeat("x", 1000))
	opt.Now = func() time.Time { return time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC) }
	res, err := session.Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	doc := *res.Document
	doc.Warnings = nil
	if err := json.NewEncoder(h).Encode(doc); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(out, "records"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %x\n", strings.TrimPrefix(path, out), sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return doc.ExitCode, fmt.Sprintf("%x", h.Sum(nil))
}

// TestPublisherFaults lets each fault happen to all requests to a service, and to one of them: without -full, each fault to
// some. Verdict, exit status and evidence must equal those of a run that publishes nothing.
func TestPublisherFaults(t *testing.T) {
	j := newBaseJudge(t, faultFile)
	file := filepath.Join(j.dir, "base.pipeline.hcl")
	var want string
	synctest.Test(t, func(t *testing.T) {
		var code int
		if code, want = measured(t, file, filepath.Join(t.TempDir(), "out"), nil); code != exitRegression {
			t.Fatalf("nothing is published: exit status %d", code)
		}
	})
	for _, service := range publishings {
		t.Run(service.name, func(t *testing.T) {
			t.Parallel() // each works in folders of its own
			service.withFaults(t, file, want)
		})
	}
}

// withFaults holds runs that publish to a service with faults to the evidence of one that publishes nothing.
func (p publishing) withFaults(t *testing.T, file, want string) {
	t.Helper()
	requests := 0
	run := func(name string, f faulty) {
		synctest.Test(t, func(t *testing.T) {
			answers, publisher := p.open(t)
			f.next = answers
			code, got := measured(t, file, filepath.Join(t.TempDir(), "out"), publisher(link{&f, f.exec}))
			if code != exitRegression || got != want {
				t.Errorf("%s: exit status %d, the same evidence: %t", name, code, got == want)
			}
			requests = max(requests, f.seen)
		})
	}
	run("no fault", faulty{at: -1})
	if requests < p.least {
		t.Fatalf("asked %d times: the test shows nothing", requests)
	}
	last := requests
	for i, fault := range faults {
		for at := range last {
			if !*full && last > 1 && (i+at)%6 > 0 {
				continue
			}
			run(fmt.Sprintf("%s for request %d", fault.name, at), faulty{fault: fault, at: at})
		}
		run(fault.name+" for every request", faulty{fault: fault, lasts: true})
	}
}
