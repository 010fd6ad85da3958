package githubtest

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Token is the token that the server accepts.
const Token = "ghs_0123456789abcdefghijklmnopqrstuvwxyz"

// Bot is the account of the token.
const Bot = "github-actions[bot]"

// Server is a fake GitHub with one repository, of any name.
type Server struct {
	*httptest.Server
	// Viewer is the account that writes; Bot by default.
	Viewer string
	// Page is the largest number of entries in a page of a list.
	Page int
	// Before is called with the operation of each request, on the goroutine that serves it.
	Before func(op string)
	// Now is the clock of the server, that of the machine if nil. Answers have its date.
	Now func() time.Time
	// Lag is the delay of lists of comments, check runs and issues.
	Lag time.Duration
	// NoGraphQL refuses GraphQL, as some proxies and servers do.
	NoGraphQL bool

	mux      http.Handler
	mu       sync.Mutex
	faults   map[string][]Fault
	always   map[string]Fault
	requests []string
	next     int64
	comments []Comment
	checks   []Check
	statuses []Status
	pulls    []PullRequest
	files    []string
	issues   []Issue
	locked   bool
	runs     []WorkflowRun
	rights   map[string]string
	// past holds earlier states, for lists that lag.
	past []moment
}

// PullRequest is a pull request of the repository.
type PullRequest struct {
	Number     int
	Closed     bool
	HeadSHA    string
	HeadRepo   string // "owner/name"
	HeadBranch string
}

// Comment is a comment of any conversation.
type Comment struct {
	ID     int64
	Number int
	Author string
	Body   string
	Hidden bool
}

// Check is a check run.
type Check struct {
	ID          int64        `json:"id"`
	Name        string       `json:"name"`
	SHA         string       `json:"head_sha"`
	ExternalID  string       `json:"external_id"`
	Status      string       `json:"status"`
	Conclusion  string       `json:"conclusion,omitempty"`
	DetailsURL  string       `json:"details_url"`
	HTMLURL     string       `json:"html_url"`
	Title       string       `json:"-"`
	Summary     string       `json:"-"`
	Annotations []Annotation `json:"-"`
	// Completed is when it got its conclusion.
	Completed time.Time `json:"-"`
}

// Annotation is an annotation of a check run.
type Annotation struct {
	Path    string `json:"path"`
	Start   int    `json:"start_line"`
	End     int    `json:"end_line"`
	Level   string `json:"annotation_level"`
	Title   string `json:"title"`
	Message string `json:"message"`
}

// Status is a status of a commit.
type Status struct {
	SHA         string `json:"-"`
	State       string `json:"state"`
	Context     string `json:"context"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

// New starts a server on the loopback interface.
func New() *Server {
	s := NewVirtual()
	s.Server = httptest.NewServer(s.dated())
	return s
}

// NewVirtual returns a server that is only reached through its Transport. It has no socket to wait
// for, so that virtual time passes (testing/synctest).
func NewVirtual() *Server {
	s := &Server{Server: &httptest.Server{URL: "http://127.0.0.1"}, Viewer: Bot, Page: 100, faults: map[string][]Fault{},
		always: map[string]Fault{}, rights: map[string]string{}, next: 1000}
	mux := http.NewServeMux()
	repo := "/repos/{owner}/{repo}/"
	for pattern, h := range map[string]struct {
		op     string
		answer handler
	}{
		"GET " + repo + "issues/{n}/comments":             {"GET comments", s.listComments},
		"POST " + repo + "issues/{n}/comments":            {"POST comments", s.saveComment},
		"PATCH " + repo + "issues/comments/{id}":          {"PATCH comment", s.saveComment},
		"DELETE " + repo + "issues/comments/{id}":         {"DELETE comment", s.deleteComment},
		"GET " + repo + "pulls/{n}":                       {"GET pull", s.getPull},
		"GET " + repo + "pulls":                           {"GET pulls", s.listPulls},
		"GET " + repo + "commits/{sha}/pulls":             {"GET commit pulls", s.commitPulls},
		"GET " + repo + "pulls/{n}/files":                 {"GET files", s.listFiles},
		"POST " + repo + "check-runs":                     {"POST check", s.saveCheck},
		"PATCH " + repo + "check-runs/{id}":               {"PATCH check", s.saveCheck},
		"GET " + repo + "commits/{sha}/check-runs":        {"GET checks", s.listChecks},
		"GET " + repo + "check-runs/{id}":                 {"GET check", s.getCheck},
		"GET " + repo + "commits/{sha}/status":            {"GET statuses", s.listStatuses},
		"GET /user":                                       {"GET user", s.getUser},
		"GET " + repo + "collaborators/{user}/permission": {"GET permission", s.getPermission},
		"GET " + repo + "actions/workflows/{file}/runs":   {"GET runs", s.listRuns},
		"POST " + repo + "actions/runs/{id}/rerun":        {"POST rerun", s.rerun},
		"POST " + repo + "issues/comments/{id}/reactions": {"POST reaction", s.react},
		"POST " + repo + "statuses/{sha}":                 {"POST status", s.createStatus},
		"GET " + repo + "issues":                          {"GET issues", s.listIssues},
		"POST " + repo + "issues":                         {"POST issues", s.saveIssue},
		"PATCH " + repo + "issues/{n}":                    {"PATCH issue", s.saveIssue},
		"POST /graphql":                                   {"POST graphql", s.graphql},
	} {
		mux.HandleFunc(pattern, s.wrap(h.op, h.answer))
	}
	s.mux = mux
	return s
}

// with calls do while no request is answered.
func (s *Server) with(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// Fail makes the next requests of an operation fail, such as "POST comments".
func (s *Server) Fail(op string, faults ...Fault) {
	s.with(func() { s.faults[op] = append(s.faults[op], faults...) })
}

// FailAlways makes all requests of an operation fail.
func (s *Server) FailAlways(op string, f Fault) { s.with(func() { s.always[op] = f }) }

// Recover ends FailAlways.
func (s *Server) Recover(ops ...string) {
	s.with(func() { maps.DeleteFunc(s.always, func(op string, _ Fault) bool { return slices.Contains(ops, op) }) })
}

// Lock locks the conversations.
func (s *Server) Lock() { s.with(func() { s.locked = true }) }

// AddPullRequest opens a pull request.
func (s *Server) AddPullRequest(p PullRequest) { s.with(func() { s.pulls = append(s.pulls, p) }) }

// MoveHead changes the head of a pull request.
func (s *Server) MoveHead(number int, sha string) {
	s.with(func() {
		s.pulls[slices.IndexFunc(s.pulls, func(p PullRequest) bool { return p.Number == number })].HeadSHA = sha
	})
}

// SetFiles sets the files that pull requests change.
func (s *Server) SetFiles(files ...string) { s.with(func() { s.files = files }) }

// AddComment adds a comment by any author and returns its id.
func (s *Server) AddComment(number int, author, body string) (id int64) {
	s.with(func() { id = s.addComment(number, author, body).ID })
	return id
}

// EditComment edits a comment as a maintainer; its author stays.
func (s *Server) EditComment(id int64, body string) {
	s.with(func() {
		s.comments[slices.IndexFunc(s.comments, func(c Comment) bool { return c.ID == id })].Body = body
	})
}

// listed copies one of the lists.
func listed[T any](s *Server, list *[]T) (out []T) {
	s.with(func() { out = slices.Clone(*list) })
	return out
}

// Comments returns the comments.
func (s *Server) Comments() []Comment { return listed(s, &s.comments) }

// Checks returns the check runs.
func (s *Server) Checks() []Check { return listed(s, &s.checks) }

// Statuses returns the statuses that were written, in order.
func (s *Server) Statuses() []Status { return listed(s, &s.statuses) }

// Issues returns the issues.
func (s *Server) Issues() []Issue { return listed(s, &s.issues) }

// Runs returns the workflow runs.
func (s *Server) Runs() []WorkflowRun { return listed(s, &s.runs) }

// Requests returns the requested operations.
func (s *Server) Requests() []string { return listed(s, &s.requests) }

// object is a JSON object of an answer.
type object = map[string]any

// page returns one page of the entries that keep accepts, as answers show them, with a link to the
// next.
func page[T any](s *Server, r *http.Request, all []T, keep func(T) bool, show func(T) object) reply {
	shown := []object{}
	for _, one := range all {
		if keep(one) {
			shown = append(shown, show(one))
		}
	}
	at, _ := strconv.Atoi(r.URL.Query().Get("page"))
	per, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	if per <= 0 || per > s.Page {
		per = s.Page
	}
	out := reply{status: http.StatusOK}
	from := min(max(at-1, 0)*per, len(shown))
	to := min(from+per, len(shown))
	if to < len(shown) {
		query := r.URL.Query()
		query.Set("page", strconv.Itoa(max(at, 1)+1))
		out.header = map[string]string{"Link": fmt.Sprintf("<%s%s?%s>; rel=\"next\"", s.URL, r.URL.Path, query.Encode())}
	}
	out.body = shown[from:to]
	return out
}

// within puts a page into a member of an object.
func (a reply) within(member string) reply {
	a.body = object{member: a.body}
	return a
}

// find returns the element of a list with the number in the path, nil if there is none.
func find[T any](list []T, r *http.Request, id func(T) int64) *T {
	name := "id"
	if r.PathValue(name) == "" {
		name = "n"
	}
	i := slices.IndexFunc(list, func(one T) bool { return id(one) == pathInt(r, name) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func pathInt(r *http.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.PathValue(name), 10, 64)
	return n
}

// account returns the author of something.
func account(login string) object {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return object{"login": login, "type": kind}
}
