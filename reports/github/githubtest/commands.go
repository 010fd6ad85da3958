package githubtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// WorkflowRun is a run of a workflow.
type WorkflowRun struct {
	ID         int64  `json:"id"`
	Attempt    int    `json:"run_attempt"`
	File       string `json:"-"`
	Event      string `json:"event"`
	SHA        string `json:"head_sha"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
}

// AddRun adds a run of a workflow.
func (s *Server) AddRun(r WorkflowRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, r)
}

// Runs are those of workflows.
func (s *Server) Runs() []WorkflowRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs)
}

// SetPermission gives a user a permission, as the API names it.
func (s *Server) SetPermission(user, permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rights == nil {
		s.rights = map[string]string{}
	}
	s.rights[user] = permission
}

// Reactions are those to comments, "ID CONTENT".
func (s *Server) Reactions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reactions)
}

// getPermission says "none" or "read" of everybody in a public repository.
func (s *Server) getPermission(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"permission": cmp.Or(s.rights[r.PathValue("user")], "read")})
}

func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []WorkflowRun{}
	for _, one := range s.runs {
		if one.File == r.PathValue("file") && one.SHA == r.URL.Query().Get("head_sha") {
			all = append(all, one)
		}
	}
	answer(w, http.StatusOK, map[string]any{"total_count": len(all), "workflow_runs": page(s, w, r, all)})
}

func (s *Server) rerun(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.runs, func(o WorkflowRun) bool { return o.ID == pathInt(r, "id") })
	switch {
	case i < 0:
		refuse(w, http.StatusNotFound, "Not Found")
	case s.runs[i].Status != "completed":
		refuse(w, http.StatusForbidden, "This workflow is already running")
	default:
		s.runs[i].Attempt++
		s.runs[i].Status, s.runs[i].Conclusion = "queued", ""
		answer(w, http.StatusCreated, map[string]any{})
	}
}

func (s *Server) react(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Content string `json:"content"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !slices.Contains([]string{"+1", "-1", "confused", "eyes"}, in.Content) {
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reactions = append(s.reactions, fmt.Sprintf("%d %s", pathInt(r, "id"), in.Content))
	answer(w, http.StatusCreated, map[string]any{"id": 1, "content": in.Content})
}
