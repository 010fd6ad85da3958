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

func (s *Server) addComment(number int, author, body string) Comment {
	s.next++
	c := Comment{ID: s.next, Number: number, Author: author, Body: body}
	s.comments = append(s.comments, c)
	s.note()
	return c
}

func commentID(c Comment) int64 { return c.ID }

func commentJSON(c Comment) object {
	return object{
		"id": c.ID, "node_id": fmt.Sprintf("IC_%d", c.ID), "body": c.Body, "user": account(c.Author),
		"html_url": fmt.Sprintf("https://github.com/o/r/pull/%d#issuecomment-%d", c.Number, c.ID),
	}
}

func (s *Server) listComments(r *http.Request) reply {
	return page(s, r, s.shown().comments, func(c Comment) bool { return int64(c.Number) == pathInt(r, "n") }, commentJSON)
}

// saveComment creates a comment, or edits the one in the path.
func (s *Server) saveComment(r *http.Request) reply {
	var in struct {
		Body string `json:"body"`
	}
	c := find(s.comments, r, commentID)
	edit := r.Method == http.MethodPatch
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case err != nil || in.Body == "":
		return invalid("Body cannot be blank")
	case utf8.RuneCountInString(in.Body) > maxBody:
		return invalid("Body is too long (maximum is 65536 characters)")
	case edit && c == nil:
		return notFound
	case s.locked:
		return refuse(http.StatusForbidden, "Unable to create or update comment because issue is locked.")
	case edit:
		c.Body = in.Body
		s.note()
		return ok(commentJSON(*c))
	}
	return created(commentJSON(s.addComment(int(pathInt(r, "n")), s.Viewer, in.Body)))
}

func (s *Server) deleteComment(r *http.Request) reply {
	if find(s.comments, r, commentID) == nil {
		return notFound
	}
	s.comments = slices.DeleteFunc(s.comments, func(c Comment) bool { return c.ID == pathInt(r, "id") })
	s.note()
	return reply{status: http.StatusNoContent}
}

// graphql supports the viewer and the hiding of comments.
func (s *Server) graphql(r *http.Request) reply {
	var in struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case err != nil:
		return refuse(http.StatusBadRequest, "Problems parsing JSON")
	case s.NoGraphQL:
		return notFound
	case strings.Contains(in.Query, "viewer{login}"):
		return ok(object{"data": object{"viewer": object{"login": s.Viewer}}})
	}
	for i := range s.comments {
		if strings.Contains(in.Query, "minimizeComment") && in.Variables["id"] == fmt.Sprintf("IC_%d", s.comments[i].ID) {
			s.comments[i].Hidden = true
			return ok(object{"data": object{}})
		}
	}
	return ok(object{"errors": []object{{"message": "Could not resolve to a node"}}})
}

// getUser returns users; an app installation is not a user.
func (s *Server) getUser(*http.Request) reply {
	if account(s.Viewer)["type"] == "Bot" {
		return refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	return ok(account(s.Viewer))
}
