package github

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
)

// begun is a check run and a commit status that this job has begun, as the file of them
// names them.
type begun struct {
	Check  string `json:"check,omitempty"`
	Status string `json:"status,omitempty"`
	ID     string `json:"id,omitempty"` // of the publisher
}

// begunFile names the file of what this job has begun, as JSON lines, for the step that cleans
// up after a run that was killed. "" outside of a job.
func begunFile(getenv func(string) string) string {
	temp := getenv("RUNNER_TEMP")
	if temp == "" || getenv("GITHUB_ACTIONS") != "true" {
		return ""
	}
	return filepath.Join(temp, "pipeline-begun")
}

// noteBegun remembers what is begun. If that fails, a killed run leaves it in progress.
func noteBegun(file string, s Settings, id string) {
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

// Clean implements publish.Publisher: it ends the check runs and the statuses that are still under way.
func (j *job) Clean(ctx context.Context) []string {
	f, err := os.Open(begunFile(j.Getenv))
	if err != nil {
		return nil // none was begun
	}
	defer func() { _ = f.Close() }() // opened for reading
	event, err := ReadEvent(j.Getenv)
	if err != nil {
		return nil // then none was begun, either
	}
	api, err := NewClient(j.options(event.Repo))
	if err != nil {
		return []string{"check runs and statuses are left as they are: " + err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	leg := j.leg()
	var warnings []string
	for s := bufio.NewScanner(f); s.Scan(); {
		var b begun
		if json.Unmarshal(s.Bytes(), &b) != nil {
			continue
		}
		p := &Publisher{API: api, Event: event, Settings: Settings{Check: b.Check, Status: b.Status, Leg: leg}, ID: b.ID}
		warnings = append(warnings, p.Abandon(ctx)...)
	}
	return warnings
}
