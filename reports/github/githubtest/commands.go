package githubtest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
)

// WorkflowRun is a run of a workflow.
type WorkflowRun struct {
	ID         int64
	Attempt    int
	File       string
	Event      string
	SHA        string
	Status     string
	Conclusion string
}

// AddRun adds a run of a workflow.
func (s *Server) AddRun(r WorkflowRun) { s.with(func() { s.runs = append(s.runs, r) }) }

// SetPermission gives a user a permission, named as in the API.
func (s *Server) SetPermission(user, permission string) {
	s.with(func() { s.rights[user] = permission })
}

// getPermission returns "read" for other users: the repository is public.
func (s *Server) getPermission(r *http.Request) reply {
	return ok(object{"permission": cmp.Or(s.rights[r.PathValue("user")], "read")})
}

func (s *Server) listRuns(r *http.Request) reply {
	return page(s, r, s.runs, func(one WorkflowRun) bool {
		return one.File == r.PathValue("file") && one.SHA == r.URL.Query().Get("head_sha")
	}, func(one WorkflowRun) object {
		return object{"id": one.ID, "run_attempt": one.Attempt, "event": one.Event, "head_sha": one.SHA, "status": one.Status,
			"conclusion": one.Conclusion}
	}).within("workflow_runs")
}

func (s *Server) rerun(r *http.Request) reply {
	one := find(s.runs, r, func(o WorkflowRun) int64 { return o.ID })
	switch {
	case one == nil:
		return notFound
	case one.Status != "completed":
		return refuse(http.StatusForbidden, "This workflow is already running")
	}
	one.Attempt++
	one.Status, one.Conclusion = "queued", ""
	return created(object{})
}

func (s *Server) react(r *http.Request) reply {
	var in struct {
		Content string `json:"content"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !slices.Contains([]string{"+1", "-1", "confused", "eyes"}, in.Content) {
		return invalid("content")
	}
	return created(object{"id": 1, "content": in.Content})
}
