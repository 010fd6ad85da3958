package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/reports/github"
)

// checksFile lists the check runs that this job has begun, one name a line as JSON, for
// the step that cleans up after a run that was killed. "" outside of a job.
func (a *app) checksFile() string {
	temp := a.Getenv("RUNNER_TEMP")
	if temp == "" || a.Getenv("GITHUB_ACTIONS") != "true" {
		return ""
	}
	return filepath.Join(temp, "pipeline-checks")
}

// noteCheck remembers a check run. If that fails, a killed run leaves it in progress.
func noteCheck(file, name string) {
	if file == "" || name == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_ = json.NewEncoder(f).Encode(name)
	_ = f.Close()
}

// abandonChecks ends the check runs that are still in progress.
func (a *app) abandonChecks(ctx context.Context) {
	f, err := os.Open(a.checksFile())
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
		a.warn("check runs are left as they are: " + err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for s := bufio.NewScanner(f); s.Scan(); {
		var name string
		if json.Unmarshal(s.Bytes(), &name) != nil {
			continue
		}
		p := &github.Publisher{API: api, Event: event, Settings: github.Settings{Check: name}}
		for _, w := range p.Abandon(ctx) {
			a.warn(w)
		}
	}
}
