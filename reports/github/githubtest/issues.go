package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"
)

// maxTitle of an issue, in characters.
const maxTitle = 256

// Issue of the repository. Its comments are those of its number.
type Issue struct {
	Number int
	Author string
	Title  string
	Body   string
	Closed bool
	Reason string
	Labels []string
	// PullRequest marks one that the list of issues holds as well.
	PullRequest bool
}

// Issues are those that there are.
func (s *Server) Issues() []Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.issues)
}

// AddIssue lets anyone open an issue and returns its number.
func (s *Server) AddIssue(i Issue) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	i.Number = int(s.next)
	s.issues = append(s.issues, i)
	s.note()
	return i.Number
}

// CloseIssue closes an issue by hand.
func (s *Server) CloseIssue(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.issues {
		if s.issues[i].Number == number {
			s.issues[i].Closed, s.issues[i].Reason = true, "completed"
		}
	}
}

func issueJSON(i Issue) map[string]any {
	out := map[string]any{
		"number": i.Number, "title": i.Title, "body": i.Body, "state": "open",
		"html_url": fmt.Sprintf("https://github.com/o/r/issues/%d", i.Number),
		"user":     map[string]any{"login": i.Author, "type": accountType(i.Author)},
	}
	if i.Closed {
		out["state"], out["state_reason"] = "closed", i.Reason
	}
	if i.PullRequest {
		out["pull_request"] = map[string]any{"url": "https://api.github.com/repos/o/r/pulls/1"}
	}
	var labels []map[string]any
	for _, l := range i.Labels {
		labels = append(labels, map[string]any{"name": l})
	}
	out["labels"] = labels
	return out
}

func (s *Server) listIssues(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, creator := r.URL.Query().Get("state"), r.URL.Query().Get("creator")
	var all []map[string]any
	for _, i := range s.shown().issues {
		if (creator == "" || i.Author == creator) && (state == "all" || i.Closed == (state == "closed")) {
			all = append(all, issueJSON(i))
		}
	}
	answer(w, http.StatusOK, page(s, w, r, all))
}

// issueRequest is what requests say of an issue.
type issueRequest struct {
	Title  *string  `json:"title"`
	Body   *string  `json:"body"`
	State  string   `json:"state"`
	Reason string   `json:"state_reason"`
	Labels []string `json:"labels"`
}

// issueOf reads a request, or refuses it as GitHub does.
func issueOf(w http.ResponseWriter, r *http.Request) (in issueRequest, ok bool) {
	err := json.NewDecoder(r.Body).Decode(&in)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
	case in.Title != nil && (*in.Title == "" || utf8.RuneCountInString(*in.Title) > maxTitle):
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "title is too long (maximum is 256 characters)")
	case in.Body != nil && utf8.RuneCountInString(*in.Body) > maxBody:
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "body is too long (maximum is 65536 characters)")
	default:
		return in, true
	}
	return in, false
}

func (s *Server) createIssue(w http.ResponseWriter, r *http.Request) {
	in, ok := issueOf(w, r)
	if !ok {
		return
	}
	if in.Title == nil {
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "title is missing")
		return
	}
	i := Issue{Author: s.Viewer, Title: *in.Title, Labels: in.Labels}
	if in.Body != nil {
		i.Body = *in.Body
	}
	i.Number = s.AddIssue(i)
	answer(w, http.StatusCreated, issueJSON(i))
}

func (s *Server) editIssue(w http.ResponseWriter, r *http.Request) {
	in, ok := issueOf(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.issues, func(i Issue) bool { return int64(i.Number) == pathInt(r, "n") })
	if at < 0 {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	i := &s.issues[at]
	if in.Title != nil {
		i.Title = *in.Title
	}
	if in.Body != nil {
		i.Body = *in.Body
	}
	if in.State != "" {
		i.Closed, i.Reason = in.State == "closed", in.Reason
	}
	s.note()
	answer(w, http.StatusOK, issueJSON(*i))
}
