package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/reports/github"
)

// begun is a check run and a commit status that this job has begun, as the file of them
// names them.
type begun struct {
	Check  string `json:"check,omitempty"`
	Status string `json:"status,omitempty"`
	ID     string `json:"id,omitempty"` // of the publisher
}

// begunFile lists what this job has begun on GitHub, as JSON lines, for the step that cleans
// up after a run that was killed. "" outside of a job.
func (a *app) begunFile() string {
	temp := a.Getenv("RUNNER_TEMP")
	if temp == "" || a.Getenv("GITHUB_ACTIONS") != "true" {
		return ""
	}
	return filepath.Join(temp, "pipeline-begun")
}

// noteBegun remembers what is begun. If that fails, a killed run leaves it in progress.
func noteBegun(file string, s github.Settings, id string) {
	if file == "" || s.Check == "" && s.Status == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_ = json.NewEncoder(f).Encode(begun{s.Check, s.Status, id})
	_ = f.Close()
}

// abandon ends the check runs and the statuses that are still under way.
func (a *app) abandon(ctx context.Context) {
	f, err := os.Open(a.begunFile())
	if err != nil {
		return // none was begun
	}
	defer func() { _ = f.Close() }() // opened for reading
	event, err := github.ReadEvent(a.Getenv)
	if err != nil {
		return // then none was begun, either
	}
	api, err := github.NewClient(github.OptionsFromEnv(a.Getenv, event.Repo))
	if err != nil {
		a.warn("check runs and statuses are left as they are: " + err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	leg := a.leg()
	for s := bufio.NewScanner(f); s.Scan(); {
		var b begun
		if json.Unmarshal(s.Bytes(), &b) != nil {
			continue
		}
		p := &github.Publisher{API: api, Event: event, Settings: github.Settings{Check: b.Check, Status: b.Status, Leg: leg}, ID: b.ID}
		for _, w := range p.Abandon(ctx) {
			a.warn(w)
		}
	}
}
