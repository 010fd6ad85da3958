// Package gitlabtest is a GitLab for tests: the endpoints of one merge request that package gitlab uses, as GitLab's
// documentation of its REST API describes them (doc/api/notes.md, merge_requests.md and users.md of gitlab-org/gitlab,
// read in November 2026): members, status codes, paging by X-Next-Page, the limit of a note, and who may edit it.
package gitlabtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The account of the token, its project and its merge request.
const (
	Token   = "glpat-test"
	Account = "project_5_bot_0a1b2c"
	URL     = "https://gitlab.test/api/v4"
	Project = "5"
	Number  = 7
)

// maxNote is GitLab's limit of a note, in characters.
const maxNote = 1_000_000

// Note is a note of the merge request.
type Note struct {
	ID     int64
	Author string
	Body   string
	System bool
}

// Server is a GitLab. Its methods are safe for concurrent use.
type Server struct {
	mu       sync.Mutex
	head     string
	files    []string
	notes    []Note
	requests []string
	// fail holds the answers of the next requests whose line contains the key.
	fail map[string][]int
	last int64
}

// New returns a GitLab with a merge request whose head is a commit.
func New(head string, files ...string) *Server {
	return &Server{head: head, files: files, fail: map[string][]int{}}
}

// Add adds a note of somebody.
func (s *Server) Add(author, body string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.notes = append(s.notes, Note{ID: s.last, Author: author, Body: body})
	return s.last
}

// Notes returns the notes, the oldest first.
func (s *Server) Notes() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// Requests returns the requests so far: "POST /projects/5/merge_requests/7/notes".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Fail answers the next requests whose method and path contain a text with these status codes.
func (s *Server) Fail(text string, codes ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[text] = append(s.fail[text], codes...)
}

// RoundTrip implements http.RoundTripper, without a network.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	s.serve(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v4")
	line := r.Method + " " + path
	s.requests = append(s.requests, line)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	for text, codes := range s.fail {
		if strings.Contains(line, text) && len(codes) > 0 {
			s.fail[text] = codes[1:]
			refuse(w, codes[0], "a fault of the test")
			return
		}
	}
	switch {
	case !ok || r.URL.Host != "gitlab.test":
		refuse(w, http.StatusNotFound, "404 Not Found")
	case r.Header.Get("Private-Token") != Token:
		refuse(w, http.StatusUnauthorized, "401 Unauthorized")
	case path == "/user":
		answer(w, http.StatusOK, map[string]any{"id": 40, "username": Account, "bot": true, "state": "active"})
	default:
		s.mergeRequest(w, r, path)
	}
}

// mergeRequest answers the requests about the merge request.
func (s *Server) mergeRequest(w http.ResponseWriter, r *http.Request, path string) {
	rest, ok := strings.CutPrefix(path, fmt.Sprintf("/projects/%s/merge_requests/%d", Project, Number))
	id, isNote := strings.CutPrefix(rest, "/notes/")
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "404 Project Not Found")
	case rest == "" && r.Method == http.MethodGet:
		answer(w, http.StatusOK, map[string]any{"id": 1, "iid": Number, "sha": s.head, "state": "opened"})
	case rest == "/diffs" && r.Method == http.MethodGet:
		var diffs []any
		for _, f := range s.files {
			diffs = append(diffs, map[string]any{"old_path": f, "new_path": f, "diff": ""})
		}
		page(w, r, diffs)
	case rest == "/notes" && r.Method == http.MethodGet:
		var notes []any
		for _, n := range s.notes {
			notes = append(notes, noteJSON(n))
		}
		if r.URL.Query().Get("sort") != "asc" {
			slices.Reverse(notes)
		}
		page(w, r, notes)
	case rest == "/notes" && r.Method == http.MethodPost:
		if body, ok := bodyOf(w, r); ok {
			s.last++
			s.notes = append(s.notes, Note{ID: s.last, Author: Account, Body: body})
			answer(w, http.StatusCreated, noteJSON(s.notes[len(s.notes)-1]))
		}
	case isNote:
		s.note(w, r, id)
	default:
		refuse(w, http.StatusNotFound, "404 Not Found")
	}
}

// note edits or deletes a note.
func (s *Server) note(w http.ResponseWriter, r *http.Request, id string) {
	number, err := strconv.ParseInt(id, 10, 64)
	i := slices.IndexFunc(s.notes, func(n Note) bool { return n.ID == number })
	switch {
	case err != nil || i < 0:
		refuse(w, http.StatusNotFound, "404 Note Not Found")
	case s.notes[i].Author != Account:
		refuse(w, http.StatusForbidden, "403 Forbidden")
	case r.Method == http.MethodPut:
		if body, ok := bodyOf(w, r); ok {
			s.notes[i].Body = body
			answer(w, http.StatusOK, noteJSON(s.notes[i]))
		}
	case r.Method == http.MethodDelete:
		s.notes = slices.Delete(s.notes, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusMethodNotAllowed, "405 Not Allowed")
	}
}

// bodyOf reads the body of a note. It refuses one that GitLab would refuse.
func bodyOf(w http.ResponseWriter, r *http.Request) (string, bool) {
	var in struct {
		Body string `json:"body"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Body == "" {
		refuse(w, http.StatusBadRequest, "body is missing")
		return "", false
	}
	if utf8.RuneCountInString(in.Body) > maxNote {
		refuse(w, http.StatusBadRequest, "400 Bad request - Note is too long (maximum is 1000000 characters)")
		return "", false
	}
	return in.Body, true
}

func noteJSON(n Note) any {
	return map[string]any{
		"id": n.ID, "body": n.Body, "author": map[string]any{"id": 1, "username": n.Author}, "system": n.System,
		"noteable_type": "MergeRequest", "noteable_iid": Number, "created_at": "2026-11-27T08:57:14Z", //nolint:misspell // GitLab's names
	}
}

// page answers one page of a list.
func page(w http.ResponseWriter, r *http.Request, all []any) {
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	if size < 1 {
		size = 20
	}
	number, size = max(number, 1), min(size, 100)
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		w.Header().Set("X-Next-Page", strconv.Itoa(number+1))
	}
	answer(w, http.StatusOK, append([]any{}, all[from:to]...))
}

func answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // to a recorder
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"message": message})
}
