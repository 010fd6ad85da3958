package githubtest

import (
	"net/http"
	"strings"
)

func pullJSON(p PullRequest) map[string]any {
	state := "open"
	if p.Closed {
		state = "closed"
	}
	head := map[string]any{"sha": p.HeadSHA, "ref": p.HeadBranch}
	if p.HeadRepo != "" {
		head["repo"] = map[string]any{"full_name": p.HeadRepo}
	}
	return map[string]any{"number": p.Number, "state": state, "head": head}
}

// selected answers with the pull requests that a function keeps.
func (s *Server) selected(w http.ResponseWriter, r *http.Request, keep func(PullRequest) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []map[string]any
	for _, p := range s.pulls {
		if keep(p) {
			all = append(all, pullJSON(p))
		}
	}
	answer(w, http.StatusOK, page(s, w, r, all))
}

func (s *Server) getPull(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pulls {
		if int64(p.Number) == pathInt(r, "n") {
			answer(w, http.StatusOK, pullJSON(p))
			return
		}
	}
	refuse(w, http.StatusNotFound, "Not Found")
}

func (s *Server) listPulls(w http.ResponseWriter, r *http.Request) {
	owner, branch, _ := strings.Cut(r.URL.Query().Get("head"), ":")
	s.selected(w, r, func(p PullRequest) bool {
		return !p.Closed && strings.HasPrefix(p.HeadRepo, owner+"/") && p.HeadBranch == branch
	})
}

// commitPulls knows no commits of forks, as GitHub does not.
func (s *Server) commitPulls(w http.ResponseWriter, r *http.Request) {
	base := r.PathValue("owner") + "/" + r.PathValue("repo")
	s.selected(w, r, func(p PullRequest) bool { return p.HeadSHA == r.PathValue("sha") && p.HeadRepo == base })
}

func (s *Server) listFiles(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []map[string]any
	for _, f := range s.files {
		all = append(all, map[string]any{"filename": f, "status": "modified"})
	}
	answer(w, http.StatusOK, page(s, w, r, all))
}
