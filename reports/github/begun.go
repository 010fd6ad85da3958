package github

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
)

// begun records a check run and a commit status that this job has started, as one line of the file.
type begun struct {
	Check  string `json:"check,omitempty"`
	Status string `json:"status,omitempty"`
	ID     string `json:"id,omitempty"` // of the publisher
}

// begunFile returns the file, in JSON lines, of the check runs and statuses that this job has
// started. The step that cleans up after a killed run reads it. It returns "" outside a job.
func begunFile(getenv func(string) string) string {
	temp := getenv("RUNNER_TEMP")
	if temp == "" || getenv("GITHUB_ACTIONS") != "true" {
		return ""
	}
	return filepath.Join(temp, "pipeline-begun")
}

// noteBegun records what is started. If that fails, a killed run leaves it in progress.
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

// Clean implements publish.Publisher: it ends the check runs and statuses that are still in
// progress.
func (j *job) Clean(ctx context.Context) []string {
	f, err := os.Open(begunFile(j.Getenv))
	if err != nil {
		return nil // none was started
	}
	defer func() { _ = f.Close() }() // opened for reading
	event, err := ReadEvent(j.Getenv)
	if err != nil {
		return nil // without an event none was started
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
