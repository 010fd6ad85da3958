package cli

import (
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
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
			api, err := github.NewClient(github.Options{URL: s.URL, Token: githubtest.Token, Repo: "o/r", Transport: s.Transport()})
			if err != nil {
				t.Fatal(err)
			}
			p := &publishers{list: []*github.Publisher{{
				API: api, Event: github.Event{Name: "push", Repo: "o/r", SHA: sha, Run: github.Run{ID: 1, Attempt: 1}, ServerURL: "https://github.com"},
				Settings: github.Settings{Check: "pipeline", Status: "pipeline"},
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

// TestReproduction: a shell reads the command back as it was given.
func TestReproduction(t *testing.T) {
	var f runFlags
	f.config.vars = []string{"base=vllm:v1", "note=it's $(rm -rf /) `x` \"y\"", "empty="}
	f.plan.only, f.plan.repeat = []string{"rate=8", "chat *"}, 6
	got := reproduction(f, []string{"perf/gate.hcl"})
	words, ok := strings.CutPrefix(got, "pipeline run ")
	if !ok {
		t.Fatal(got)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s|' "+words).Output()
	want := "--var|base=vllm:v1|--var|note=it's $(rm -rf /) `x` \"y\"|--var|empty=|--only|rate=8|--only|chat *|--repeat|6|perf/gate.hcl|"
	if err != nil || string(out) != want {
		t.Errorf("%s\nis read as %s\nwant       %s", got, out, want)
	}
}
