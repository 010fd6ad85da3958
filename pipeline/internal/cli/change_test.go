package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFork: a job runs code that is not merged only where it is known that it takes
// nothing with it. What an event does not say counts against it.
func TestFork(t *testing.T) {
	const (
		own     = `{"number":7,"pull_request":{"number":7,"base":{"ref":"main"},"head":{"repo":{"full_name":"o/r"}}}}`
		foreign = `{"number":7,"pull_request":{"number":7,"head":{"repo":{"full_name":"stranger/r"}}}}`
		deleted = `{"number":7,"pull_request":{"number":7,"head":{"repo":null}}}`
		comment = `{"issue":{"number":7,"pull_request":{"url":"x"}}}`
		issue   = `{"issue":{"number":7}}`
		queue   = `{"merge_group":{"head_ref":"refs/heads/gh-readonly-queue/main/pr-7-0123abc","base_ref":"refs/heads/main"}}`
		ran     = `{"workflow_run":{"event":"pull_request","head_repository":{"full_name":"o/r"}}}`
		pushed  = `{"workflow_run":{"event":"push","head_repository":{"full_name":"o/r"}}}`
		strange = `{"workflow_run":{"event":"push","head_repository":{"full_name":"stranger/r"}}}`
	)
	tests := []struct {
		event, payload string
		// Whether the event may run on a machine of GitHub's and on one of the project's own.
		hosted, own bool
	}{
		{"", "", true, true},
		{"push", `{}`, true, true},
		{"schedule", "", true, true},
		{"workflow_dispatch", `{"inputs":{}}`, true, true},
		{"pull_request", own, true, true},
		{"pull_request", foreign, true, false},
		{"pull_request", deleted, true, false},
		{"pull_request", `{}`, true, false},
		{"pull_request", `{"number":7,"pull_request":null}`, true, false},
		{"pull_request", "no JSON", true, false},
		{"pull_request", "", true, false},
		{"pull_request_review", own, true, true},
		{"pull_request_review", foreign, true, false},
		{"pull_request_review_comment", foreign, true, false},
		{"pull_request_review_comment", deleted, true, false},
		{"merge_group", queue, true, true},
		{"merge_group", `{"merge_group":{"head_ref":"refs/heads/mine","base_ref":"refs/heads/main"}}`, true, false},
		{"merge_group", `{}`, true, false},
		{"merge_group", foreign, true, false},
		{"pull_request", queue, true, false},
		{"issue_comment", issue, true, true},
		{"issue_comment", comment, false, false},
		{"issue_comment", "", false, false},
		{"pull_request_target", own, false, false},
		{"workflow_run", ran, false, false},
		{"workflow_run", `{}`, false, false},
		{"workflow_run", strange, false, false},
		{"workflow_run", pushed, true, true},
		{"check_run", own, false, false},
		{"an event of next year", foreign, false, false},
	}
	for _, tt := range tests {
		path := ""
		if tt.payload != "" {
			path = filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(path, []byte(tt.payload), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for runner, want := range map[string]bool{"github-hosted": tt.hosted, "self-hosted": tt.own, "": tt.own, "GitHub-hosted?": tt.own} {
			env := map[string]string{"GITHUB_EVENT_NAME": tt.event, "GITHUB_EVENT_PATH": path, "GITHUB_REPOSITORY": "o/r",
				"RUNNER_ENVIRONMENT": runner}
			a := &app{Streams: Streams{Getenv: func(name string) string { return env[name] }}, publishers: allPublishers()}
			if err := a.trusted(); (err == nil) != want {
				t.Errorf("event %q with %q on runner %q: %v, want it to run: %v", tt.event, tt.payload, runner, err, want)
			}
			env["PIPELINE_ACTION_ALLOW_UNTRUSTED"] = "true"
			if err := a.trusted(); err != nil {
				t.Errorf("event %q, allowed: %v", tt.event, err)
			}
		}
	}
}
