package githubtest

import (
	"net/http"
	"strings"
)

func pullJSON(p PullRequest) object {
	state := map[bool]string{false: "open", true: "closed"}[p.Closed]
	head := object{"sha": p.HeadSHA, "ref": p.HeadBranch}
	if p.HeadRepo != "" {
		head["repo"] = object{"full_name": p.HeadRepo}
	}
	return object{"number": p.Number, "state": state, "head": head}
}

func (s *Server) getPull(r *http.Request) reply {
	if p := find(s.pulls, r, func(p PullRequest) int64 { return int64(p.Number) }); p != nil {
		return ok(pullJSON(*p))
	}
	return notFound
}

func (s *Server) listPulls(r *http.Request) reply {
	owner, branch, _ := strings.Cut(r.URL.Query().Get("head"), ":")
	return page(s, r, s.pulls, func(p PullRequest) bool {
		return !p.Closed && strings.HasPrefix(p.HeadRepo, owner+"/") && p.HeadBranch == branch
	}, pullJSON)
}

// commitPulls ignores commits of forks, as GitHub does.
func (s *Server) commitPulls(r *http.Request) reply {
	base := r.PathValue("owner") + "/" + r.PathValue("repo")
	return page(s, r, s.pulls, func(p PullRequest) bool { return p.HeadSHA == r.PathValue("sha") && p.HeadRepo == base }, pullJSON)
}

func (s *Server) listFiles(r *http.Request) reply {
	return page(s, r, s.files, func(string) bool { return true }, func(f string) object { return object{"filename": f, "status": "modified"} })
}
