// Package gitlabtest is a GitLab for tests: the endpoints of one merge request that package gitlab uses, as GitLab's
// documentation of its REST API describes them (doc/api/notes.md, merge_requests.md and users.md of gitlab-org/gitlab) and
// the sources from which it makes its OpenAPI description do (lib/api/notes.rb, lib/api/helpers/notes_helpers.rb,
// lib/api/entities/note.rb; all read in November 2026): members, status codes, texts of errors, paging by X-Next-Page, quick
// actions, the limit of a note, and who may edit it.
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

	"github.com/servegate/pipeline/internal/lazyregexp"
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
	// Hidden notes take their place in a page and are left out of it, so that it is shorter than others.
	Hidden bool
}

// Actions returns the quick actions that notes of the token have carried out: lines such as "/close".
func (s *Server) Actions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.actions)
}

// Hide hides a note.
func (s *Server) Hide(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.notes {
		s.notes[i].Hidden = s.notes[i].Hidden || s.notes[i].ID == id
	}
}

// Server is a GitLab. Its methods are safe for concurrent use.
type Server struct {
	mu       sync.Mutex
	head     string
	files    []string
	notes    []Note
	requests []string
	actions  []string
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
			if codes[0] == http.StatusTooManyRequests {
				answer(w, codes[0], map[string]any{"message": map[string]any{
					"error": "This endpoint has been requested too many times. Try again later."}})
				return
			}
			refuse(w, codes[0], "a fault of the test")
			return
		}
	}
	switch {
	case !ok || r.URL.Host != "gitlab.test":
		unrouted(w, http.StatusNotFound, "404 Not Found")
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
			diffs = append(diffs, map[string]any{"old_path": f, "new_path": f, "diff": "", "a_mode": "100644", "b_mode": "100644",
				"new_file": false, "renamed_file": false, "deleted_file": false, "generated_file": false, "collapsed": false, "too_large": false})
		}
		page(w, r, diffs)
	case rest == "/notes" && r.Method == http.MethodGet:
		var notes []any
		for _, n := range s.notes {
			if n.Hidden {
				notes = append(notes, nil)
				continue
			}
			notes = append(notes, noteJSON(n))
		}
		if r.URL.Query().Get("sort") != "asc" {
			slices.Reverse(notes)
		}
		page(w, r, notes)
	case rest == "/notes" && r.Method == http.MethodPost:
		if body, ok := s.bodyOf(w, r, "body is missing"); ok {
			s.last++
			s.notes = append(s.notes, Note{ID: s.last, Author: Account, Body: body})
			answer(w, http.StatusCreated, noteJSON(s.notes[len(s.notes)-1]))
		}
	case isNote:
		s.note(w, r, id)
	default:
		unrouted(w, http.StatusNotFound, "404 Not Found")
	}
}

// note edits or deletes a note.
func (s *Server) note(w http.ResponseWriter, r *http.Request, id string) {
	number, err := strconv.ParseInt(id, 10, 64)
	i := slices.IndexFunc(s.notes, func(n Note) bool { return n.ID == number })
	switch {
	case err != nil || i < 0:
		refuse(w, http.StatusNotFound, "404 Not found")
	case s.notes[i].Author != Account:
		refuse(w, http.StatusForbidden, "403 Forbidden")
	case r.Method == http.MethodPut:
		if body, ok := s.bodyOf(w, r, "body is empty"); ok {
			s.notes[i].Body = body
			answer(w, http.StatusOK, noteJSON(s.notes[i]))
		}
	case r.Method == http.MethodDelete:
		s.notes = slices.Delete(s.notes, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	default:
		unrouted(w, http.StatusMethodNotAllowed, "405 Not Allowed")
	}
}

// bodyOf reads the body of a note. It refuses one that GitLab would refuse, and carries out its quick actions, which are
// no part of the note. Of a note that has nothing else nothing is kept.
func (s *Server) bodyOf(w http.ResponseWriter, r *http.Request, empty string) (string, bool) {
	var in struct {
		Body string `json:"body"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Body == "" {
		unrouted(w, http.StatusBadRequest, empty)
		return "", false
	}
	if utf8.RuneCountInString(in.Body) > maxNote {
		refuse(w, http.StatusBadRequest, `400 Bad request - Note {note: ["is too long (maximum is 1000000 characters)"]}`)
		return "", false
	}
	s.actions = append(s.actions, quickAction.FindAllString(in.Body, -1)...)
	body := strings.TrimSpace(quickAction.ReplaceAllString(in.Body, ""))
	if body == "" {
		answer(w, http.StatusAccepted, map[string]any{"commands_changes": map[string]any{}, "summary": []string{"Commands applied"}})
		return "", false
	}
	return body, true
}

// quickAction matches a line that GitLab carries out.
var quickAction = lazyregexp.New(`(?m)^[ \t]*/[a-z]\w*.*$`)

func noteJSON(n Note) any {
	const created = "2026-11-27T08:57:14.043Z"
	return map[string]any{
		"id": n.ID, "type": nil, "body": n.Body, "attachment": nil, "system": n.System, "created_at": created, "updated_at": created,
		"author":      map[string]any{"id": 1, "username": n.Author, "name": n.Author, "state": "active", "locked": false, "avatar_url": nil},
		"noteable_id": 1, "noteable_type": "MergeRequest", "noteable_iid": Number, "project_id": 5, //nolint:misspell // GitLab's names
		"resolvable": false, "confidential": false, "internal": false, "imported": false, "commands_changes": map[string]any{},
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
	answer(w, http.StatusOK, slices.DeleteFunc(append([]any{}, all[from:to]...), func(v any) bool { return v == nil }))
}

func answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // to a recorder
}

// refuse answers as GitLab's own code refuses.
func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"message": message})
}

// unrouted answers as the framework below GitLab's code refuses: parameters that are missing, and paths without an endpoint.
func unrouted(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"error": message})
}
