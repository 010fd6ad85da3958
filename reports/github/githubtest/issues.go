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

// Issue is an issue of the repository. Its comments have its number.
type Issue struct {
	Number int
	Author string
	Title  string
	Body   string
	Closed bool
	Reason string
	Labels []string
	// PullRequest marks a pull request, which the list of issues also contains.
	PullRequest bool
}

// AddIssue opens an issue by any author and returns its number.
func (s *Server) AddIssue(i Issue) (number int) {
	s.with(func() { number = s.addIssue(i).Number })
	return number
}

func (s *Server) addIssue(i Issue) Issue {
	s.next++
	i.Number = int(s.next)
	s.issues = append(s.issues, i)
	s.note()
	return i
}

// CloseIssue closes an issue by hand.
func (s *Server) CloseIssue(number int) {
	s.with(func() {
		i := &s.issues[slices.IndexFunc(s.issues, func(i Issue) bool { return i.Number == number })]
		i.Closed, i.Reason = true, "completed"
	})
}

func issueJSON(i Issue) object {
	labels := []object{}
	for _, l := range i.Labels {
		labels = append(labels, object{"name": l})
	}
	out := object{
		"number": i.Number, "title": i.Title, "body": i.Body, "state": "open", "labels": labels, "user": account(i.Author),
		"html_url": fmt.Sprintf("https://github.com/o/r/issues/%d", i.Number),
	}
	if i.Closed {
		out["state"], out["state_reason"] = "closed", i.Reason
	}
	if i.PullRequest {
		out["pull_request"] = object{"url": "https://api.github.com/repos/o/r/pulls/1"}
	}
	return out
}

func (s *Server) listIssues(r *http.Request) reply {
	state, creator := r.URL.Query().Get("state"), r.URL.Query().Get("creator")
	return page(s, r, s.shown().issues, func(i Issue) bool {
		return (creator == "" || i.Author == creator) && (state == "all" || i.Closed == (state == "closed"))
	}, issueJSON)
}

// saveIssue creates an issue, or edits the one in the path.
func (s *Server) saveIssue(r *http.Request) reply {
	var in struct {
		Title  *string  `json:"title"`
		Body   *string  `json:"body"`
		State  string   `json:"state"`
		Reason string   `json:"state_reason"`
		Labels []string `json:"labels"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	answer := ok
	i := find(s.issues, r, func(i Issue) int64 { return int64(i.Number) })
	switch create := r.Method == http.MethodPost; {
	case !create && i == nil:
		return notFound
	case create && in.Title == nil:
		return invalid("title is missing")
	case in.Title != nil && (*in.Title == "" || utf8.RuneCountInString(*in.Title) > maxTitle):
		return invalid("title is too long (maximum is 256 characters)")
	case in.Body != nil && utf8.RuneCountInString(*in.Body) > maxBody:
		return invalid("body is too long (maximum is 65536 characters)")
	case create:
		s.addIssue(Issue{Author: s.Viewer, Labels: in.Labels})
		i, answer = &s.issues[len(s.issues)-1], created
	}
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
	return answer(issueJSON(*i))
}
