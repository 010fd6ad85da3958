package gitlab_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/reports/gitlab"
	"github.com/servegate/pipeline/reports/gitlab/gitlabtest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/publishtest"
	"github.com/servegate/pipeline/reports/result"
)

// environment returns the variables of a job of a merge request pipeline, as GitLab's documentation lists them.
func environment(set ...string) func(string) string {
	env := map[string]string{
		"GITLAB_CI": "true", "CI_API_V4_URL": gitlabtest.URL, "CI_PROJECT_ID": "5", "CI_PROJECT_PATH": "team/llm",
		"CI_PROJECT_URL": "https://gitlab.test/team/llm", "CI_COMMIT_SHA": publishtest.SHA, "CI_DEFAULT_BRANCH": "trunk",
		"CI_PIPELINE_SOURCE": "merge_request_event", "CI_PIPELINE_ID": "900", "CI_JOB_ID": "14000000001", "CI_JOB_NAME": "performance",
		"CI_JOB_URL":           "https://gitlab.test/team/llm/-/jobs/14000000001",
		"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_ID": "5", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "5",
		"CI_MERGE_REQUEST_PROJECT_URL": "https://gitlab.test/team/llm", "CI_MERGE_REQUEST_SOURCE_PROJECT_URL": "https://gitlab.test/team/llm",
		"CI_MERGE_REQUEST_PROJECT_PATH": "team/llm", "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "team/llm",
		"CI_MERGE_REQUEST_DIFF_BASE_SHA": publishtest.Later, "PIPELINE_GITLAB_TOKEN": gitlabtest.Token,
	}
	for i := 0; i < len(set); i += 2 {
		env[set[i]] = set[i+1]
	}
	return func(name string) string { return env[name] }
}

func publisher(s *gitlabtest.Server, set ...string) publish.Publisher {
	return gitlab.New(publish.Job{Getenv: environment(set...), Transport: s, Mask: func(text string) string {
		return strings.ReplaceAll(text, "hunter2", "***")
	}})
}

var update = []publish.Settings{{Comment: publish.CommentUpdate}}

func post(t *testing.T, s *gitlabtest.Server, doc *result.Document, set ...string) publish.Posted {
	t.Helper()
	return publisher(s, set...).Post(t.Context(), doc, update)
}

// own returns the notes of the token's account.
func own(s *gitlabtest.Server) []gitlabtest.Note {
	var out []gitlabtest.Note
	for _, n := range s.Notes() {
		if n.Author == gitlabtest.Account {
			out = append(out, n)
		}
	}
	return out
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// TestOneNote: a pipeline after another edits the note, wherever it stands in a long conversation. A note of somebody
// else with our marker stays as it is.
func TestOneNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gitlabtest.New(publishtest.SHA, "perf/gate.hcl")
		posted := post(t, s, publishtest.Document(result.Regression, 2))
		if len(posted.Warnings)+len(posted.Notes) > 0 || posted.CommentURL != "https://gitlab.test/team/llm/-/merge_requests/7#note_1" {
			t.Errorf("%+v", posted)
		}
		first := own(s)[0]
		contains(t, first.Body, "### ❌ Performance: 2 of 2 gates regressed", "This merge request changes what judges it: `perf/gate.hcl`",
			"[`perf/gate.hcl:10`](https://gitlab.test/team/llm/-/blob/"+publishtest.SHA+"/perf/gate.hcl#L10-14)",
			"against base [`2b3c4d5`](https://gitlab.test/team/llm/-/commit/"+publishtest.Later+")",
			"[artifacts](https://gitlab.test/team/llm/-/jobs/14000000001/artifacts/browse)")
		if strings.Contains(first.Body, "/pipeline run") {
			t.Error("offers commands that nothing carries out on GitLab")
		}
		s.Add("mallory", first.Body)
		for i := range 150 {
			if id := s.Add("alice", "Looks good."); i%2 == 0 {
				s.Hide(id) // pages with fewer notes than were asked for are not the last ones
			}
		}
		post(t, s, publishtest.Document(result.Pass, 2), "CI_PIPELINE_ID", "901", "CI_JOB_ID", "14000000002")
		if all := own(s); len(all) != 1 || all[0].ID != first.ID || !strings.Contains(all[0].Body, "✅") {
			t.Errorf("%d notes: %+v", len(all), all)
		}
		// An older pipeline that ends late writes nothing.
		late := post(t, s, publishtest.Document(result.Regression, 2))
		if len(late.Notes) != 1 || !strings.Contains(own(s)[0].Body, "✅") {
			t.Errorf("%+v", late)
		}
		if s.Notes()[1].Body != first.Body {
			t.Error("the note of somebody else was edited")
		}
	})
}

// TestMatrix: the jobs of a matrix and parallel jobs share the note, also when they end at once. A retried job
// replaces its own section.
func TestMatrix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gitlabtest.New(publishtest.SHA)
		job := func(id, name string, verdict result.Verdict, set ...string) {
			doc := publishtest.Document(verdict, 1)
			doc.RunID = id
			if got := post(t, s, doc, append(set, "CI_JOB_ID", id, "CI_JOB_NAME", name)...); len(got.Warnings) > 0 {
				t.Errorf("%s: %q", name, got.Warnings)
			}
		}
		var others sync.WaitGroup
		others.Go(func() { job("101", "measure: [h100, 2]", result.Pass) })
		others.Go(func() { job("102", "measure: [h200, 2]", result.Regression) })
		job("103", "measure 1/3", result.Pass, "CI_NODE_INDEX", "1", "CI_NODE_TOTAL", "3")
		others.Wait()
		if len(own(s)) != 1 {
			t.Fatalf("%d notes", len(own(s)))
		}
		contains(t, own(s)[0].Body, "1 of 3 jobs failed, 2 passed", "`h100, 2`", "`h200, 2`", "`1/3`")
		job("104", "measure: [h200, 2]", result.Pass)
		contains(t, own(s)[0].Body, "3 of 3 jobs passed")
	})
}

// TestFaults: what GitLab refuses is a warning with advice; a lost or limited request is tried again; no second note is
// written.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		fail  string
		codes []int
		notes int
		warns string
	}{
		"limited once":        {"POST", []int{429}, 1, ""},
		"down for the list":   {"GET /projects/5/merge_requests/7/notes", []int{502, 502}, 1, ""},
		"no right to write":   {"POST", []int{403}, 0, "the role Reporter"},
		"an invalid token":    {"notes", []int{401}, 0, "not valid (any more)"},
		"unknown account":     {"GET /user", []int{403}, 1, ""},
		"unknown head, files": {"GET /projects/5/merge_requests/7/diffs", []int{404}, 1, ""},
		"a server that fails": {"POST", []int{500, 500, 500, 500, 500, 500, 500, 500}, 0, "GitLab answered 500"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := gitlabtest.New(publishtest.SHA)
			s.Fail(tt.fail, tt.codes...)
			got := post(t, s, publishtest.Document(result.Pass, 1))
			if len(own(s)) != tt.notes || (tt.warns == "") != (len(got.Warnings) == 0) {
				t.Errorf("%s: %d notes, %q", name, len(own(s)), got.Warnings)
			}
			if tt.warns != "" {
				contains(t, strings.Join(got.Warnings, "\n"), tt.warns)
			}
		})
	}
}

// TestNothingOfTheRunIsCarriedOut: texts of a run form neither a quick action nor a mention, and no secret is shown.
func TestNothingOfTheRunIsCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gitlabtest.New(publishtest.SHA)
		doc := publishtest.Document(result.Regression, 1)
		doc.File = "/close\n/merge\nhunter2"
		doc.Gates[0].Decisions[0].Label = "x\n/approve\n@everyone"
		doc.Warnings = []string{"log:\n/label ~done\n  /unassign\nhunter2"}
		post(t, s, doc)
		if done := s.Actions(); len(done) > 0 {
			t.Errorf("carried out: %q", done)
		}
		for line := range strings.Lines(own(s)[0].Body) {
			if bare := strings.TrimLeft(line, " \t>"); strings.HasPrefix(bare, "/") {
				t.Errorf("a quick action: %q", line)
			}
			if strings.Contains(line, "@everyone") || strings.Contains(line, "hunter2") {
				t.Errorf("a mention or a secret: %q", line)
			}
		}
	})
}

// TestTrust: who runs what with which rights, and where nothing can be posted.
func TestTrust(t *testing.T) {
	fork := []string{"CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "99", "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "mallory/llm"}
	for name, tt := range map[string]struct {
		set              []string
		rights           publish.Rights
		unmerged, usable bool
		refused          string
	}{
		"merge request":       {nil, publish.RightsOfChange, true, true, ""},
		"fork, in the parent": {fork, publish.RightsOfChange, true, true, "comes from a fork"},
		"fork, in the fork":   {append(fork, "CI_PROJECT_ID", "99"), publish.RightsOfChange, true, false, ""},
		"a fork that is gone": {[]string{"CI_MERGE_REQUEST_SOURCE_PROJECT_ID", ""}, publish.RightsOfChange, true, true, "comes from a fork"},
		"push": {[]string{"CI_PIPELINE_SOURCE", "push", "CI_MERGE_REQUEST_IID", ""}, publish.RightsOfMembers, false,
			false, ""},
		"schedule": {[]string{"CI_PIPELINE_SOURCE", "schedule", "CI_MERGE_REQUEST_IID", ""}, publish.RightsOfMembers, false,
			false, ""},
		"a source of tomorrow": {[]string{"CI_PIPELINE_SOURCE", "dream", "CI_MERGE_REQUEST_IID", ""}, publish.RightsUnknown, true, false,
			"dream"},
		"request of another host": {[]string{"CI_PIPELINE_SOURCE", "external_pull_request_event", "CI_MERGE_REQUEST_IID", ""},
			publish.RightsUnknown, true, false, "external"},
		"no token":     {[]string{"PIPELINE_GITLAB_TOKEN", ""}, publish.RightsOfChange, true, false, ""},
		"in the clear": {[]string{"CI_API_V4_URL", "http://gitlab.test/api/v4"}, publish.RightsOfChange, true, false, ""},
		"no commit":    {[]string{"CI_COMMIT_SHA", "main; rm -rf"}, publish.RightsUnknown, true, false, "safe"},
	} {
		p := publisher(gitlabtest.New(publishtest.SHA), tt.set...)
		c := p.Change()
		if c.Rights != tt.rights || c.Unmerged != tt.unmerged || (p.Usable() == nil) != tt.usable {
			t.Errorf("%s: %+v, usable: %v", name, c, p.Usable())
		}
		if (c.Refused != nil) != (tt.refused != "") || c.Refused != nil && !strings.Contains(c.Refused.Error(), tt.refused) {
			t.Errorf("%s: refused: %v", name, c.Refused)
		}
	}
}

// TestRunIsBounded: a GitLab that hangs does not hold the run longer than its limit, and a simulated run posts nothing.
func TestRunIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gitlabtest.New(publishtest.SHA)
		p := publisher(s)
		simulated := p.Run(publish.RunOptions{Settings: update, Simulated: true})
		contains(t, strings.Join(simulated.Start(t.Context()), ""), "the run is simulated")
		if w := simulated.Finish(t.Context(), publishtest.Document(result.Pass, 1)); len(w) > 0 || len(s.Requests()) > 0 {
			t.Errorf("%q, %q", w, s.Requests())
		}
		if w := p.Run(publish.RunOptions{Settings: update}).Abort(t.Context(), errors.New("no GPU")); len(w) > 0 {
			t.Errorf("%q", w)
		}
	})
}
