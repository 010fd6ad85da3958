package github

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/result"
)

// TestStartIsPostedLater: a GitHub that has a fault when the run begins is informed while the run
// measures, and a run that ends before does not wait for that.
func TestStartIsPostedLater(t *testing.T) {
	const sha = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	for name, tt := range map[string]struct {
		fault githubtest.Fault
		ends  time.Duration // the run
		told  bool
	}{
		"gateway for two minutes": {githubtest.BadGateway, 2 * time.Hour, true},
		"hangs for two minutes":   {githubtest.Hang, 2 * time.Hour, true},
		"the run is short":        {githubtest.BadGateway, time.Second, false},
		"refused":                 {githubtest.Forbidden, 2 * time.Hour, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := githubtest.NewVirtual()
			s.FailAlways("POST check", tt.fault)
			s.FailAlways("POST status", tt.fault)
			api, err := NewClient(Options{URL: s.URL, Token: githubtest.Token, Repo: "o/r", Transport: s.Transport()})
			if err != nil {
				t.Fatal(err)
			}
			p := &run{list: []*Publisher{{
				API: api, Event: Event{Name: "push", Repo: "o/r", SHA: sha, Run: Run{ID: 1, Attempt: 1}, ServerURL: "https://github.com"},
				Settings: Settings{Check: "pipeline", Status: "pipeline"},
			}}}
			began := time.Now()
			p.Start(t.Context())
			if took := time.Since(began); took > startTime+time.Second {
				t.Errorf("%s: the run waits %v", name, took)
			}
			time.AfterFunc(2*time.Minute, func() { s.Recover("POST check", "POST status") })
			time.Sleep(tt.ends)
			began = time.Now()
			p.settled()
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: the end waits %v", name, took)
			}
			if told := len(s.Checks()) == 1 && len(s.Statuses()) == 1; told != tt.told {
				t.Errorf("%s: told %v, want %v: %q", name, told, tt.told, s.Requests())
			}
			time.Sleep(5 * time.Minute) // nothing is left behind
		})
	}
}

// TestInterruptedWhilePosting: a signal that comes while GitHub hangs ends the post in time for results to be kept.
func TestInterruptedWhilePosting(t *testing.T) {
	const sha = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	for name, post := range map[string]func(context.Context, *run){
		"verdict": func(ctx context.Context, r *run) { r.Finish(ctx, &result.Document{}) },
		"failure": func(ctx context.Context, r *run) { r.Abort(ctx, errors.New("no machine")) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := githubtest.NewVirtual()
			api, err := NewClient(Options{URL: s.URL, Token: githubtest.Token, Repo: "o/r", Transport: s.Transport()})
			if err != nil {
				t.Fatal(err)
			}
			p := &run{posted: new(Posted), configuration: func(error) bool { return false }, list: []*Publisher{{
				API: api, Event: Event{Name: "push", Repo: "o/r", SHA: sha, Run: Run{ID: 1, Attempt: 1}, ServerURL: "https://github.com"},
				Settings: Settings{Check: "pipeline", Status: "pipeline"},
			}}}
			ctx, interrupt := context.WithCancel(t.Context())
			p.Start(ctx)
			for _, call := range []string{"GET checks", "POST check", "PATCH check", "POST status", "GET statuses"} {
				s.FailAlways(call, githubtest.Hang)
			}
			const after = 2 * time.Second
			time.AfterFunc(after, interrupt)
			began := time.Now()
			post(ctx, p)
			if took := time.Since(began); took < after || took > after+interruptTime+time.Second {
				t.Errorf("%s: posting took %v", name, took)
			}
		})
	}
}
