package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxBody of a comment, in characters.
const maxBody = 65536

func (s *Server) commentJSON(c Comment) map[string]any {
	return map[string]any{
		"id": c.ID, "node_id": fmt.Sprintf("IC_%d", c.ID), "body": c.Body,
		"html_url": fmt.Sprintf("https://github.com/o/r/pull/%d#issuecomment-%d", c.Number, c.ID),
		"user":     map[string]any{"login": c.Author, "type": accountType(c.Author)},
	}
}

func (s *Server) listComments(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []map[string]any
	for _, c := range s.shown().comments {
		if int64(c.Number) == pathInt(r, "n") {
			all = append(all, s.commentJSON(c))
		}
	}
	answer(w, http.StatusOK, page(s, w, r, all))
}

// body reads the body of a comment, or refuses it as GitHub does.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (string, bool) {
	var in struct {
		Body *string `json:"body"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Body == nil || *in.Body == "" {
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "Body cannot be blank")
		return "", false
	}
	if utf8.RuneCountInString(*in.Body) > maxBody {
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "Body is too long (maximum is 65536 characters)")
		return "", false
	}
	return *in.Body, true
}

func (s *Server) createComment(w http.ResponseWriter, r *http.Request) {
	text, ok := s.body(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locked {
		refuse(w, http.StatusForbidden, "Unable to create comment because issue is locked.")
		return
	}
	s.next++
	c := Comment{ID: s.next, Number: int(pathInt(r, "n")), Author: s.Viewer, Body: text}
	s.comments = append(s.comments, c)
	s.note()
	answer(w, http.StatusCreated, s.commentJSON(c))
}

func (s *Server) editComment(w http.ResponseWriter, r *http.Request) {
	text, ok := s.body(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.comments, func(c Comment) bool { return c.ID == pathInt(r, "id") })
	switch {
	case i < 0:
		refuse(w, http.StatusNotFound, "Not Found")
	case s.locked:
		refuse(w, http.StatusForbidden, "Unable to update comment because issue is locked.")
	default:
		s.comments[i].Body = text
		s.note()
		answer(w, http.StatusOK, s.commentJSON(s.comments[i]))
	}
}

func (s *Server) deleteComment(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.comments)
	s.comments = slices.DeleteFunc(s.comments, func(c Comment) bool { return c.ID == pathInt(r, "id") })
	if len(s.comments) == before {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	s.note()
	w.WriteHeader(http.StatusNoContent)
}

// graphql knows the viewer and the hiding of comments.
func (s *Server) graphql(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.NoGraphQL {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	if strings.Contains(in.Query, "viewer{login}") {
		answer(w, http.StatusOK, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": s.Viewer}}})
		return
	}
	for i := range s.comments {
		if strings.Contains(in.Query, "minimizeComment") && in.Variables["id"] == fmt.Sprintf("IC_%d", s.comments[i].ID) {
			s.comments[i].Hidden = true
			answer(w, http.StatusOK, map[string]any{"data": map[string]any{}})
			return
		}
	}
	answer(w, http.StatusOK, map[string]any{"errors": []any{map[string]any{"message": "Could not resolve to a node"}}})
}

// getUser knows users; an installation of an app is none.
func (s *Server) getUser(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if accountType(s.Viewer) == "Bot" {
		refuse(w, http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	answer(w, http.StatusOK, map[string]any{"login": s.Viewer, "type": "User"})
}
