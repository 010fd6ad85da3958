package router

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
)

// routes returns the endpoints of the router.
func (r *Router) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathCompletions, r.generate)
	mux.HandleFunc("POST "+pathChat, r.generate)
	if r.protocol.generate {
		mux.HandleFunc("POST "+pathGenerate, r.generate)
	}
	// All servers answer these alike; the first decode server answers.
	for _, path := range []string{
		"GET /v1/models", "GET /version", "POST /tokenize", "POST /detokenize", "POST /v1/tokenize", "POST /v1/detokenize",
		"GET /server_info", "GET /get_server_info", "GET /model_info", "GET /get_model_info",
	} {
		mux.HandleFunc(path, r.forward)
	}
	for _, path := range []string{"/reset_prefix_cache", "/flush_cache"} {
		mux.HandleFunc("POST "+path, r.toAll)
	}
	mux.HandleFunc("GET /health", r.health)
	mux.HandleFunc("GET /router/stats", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, r.Stats()) })
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		writeError(w, http.StatusNotFound, "not_found", "a router of protocol "+r.protocol.name+" has no "+req.Method+" "+req.URL.Path)
	})
	return mux
}

// forward sends a request to the first decode server.
func (r *Router) forward(w http.ResponseWriter, req *http.Request) {
	x := &exchange{r: r, w: w, req: req, path: req.URL.Path, decode: r.decode[0]}
	x.ctx, x.cancel = context.WithCancelCause(req.Context())
	defer x.cancel(nil)
	f := x.pass()
	switch {
	case f == nil, f.answered:
	case x.committed, errors.Is(f, errClientGone):
		panic(http.ErrAbortHandler)
	default:
		f.write(w)
	}
}

// pass sends the request unchanged.
func (x *exchange) pass() *failure {
	var body []byte
	if x.req.Method == http.MethodPost {
		if f := x.read(); f != nil {
			return f
		}
		body = x.body
	}
	header := http.Header{}
	copyHeader(header, x.req.Header)
	resp, err := x.r.send(x.ctx, x.decode, x.req.Method, x.path, x.req.URL.RawQuery, header, body)
	if err != nil {
		return exchangeError(x.ctx, x.decode, err, classClosed)
	}
	return x.relay(resp, nil)
}

// MemberState holds a server's answer to a request that was sent to all servers.
type MemberState struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	URL     string `json:"url"`
	Healthy bool   `json:"healthy"`
	// Status of the answer, 0 if there is none.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// askAll calls ask for every member at once and waits for all.
func (r *Router) askAll(ctx context.Context, ask func(context.Context, *member) (int, error)) []MemberState {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeouts.Probe, errTimeout)
	defer cancel()
	all := r.all()
	states := make([]MemberState, len(all))
	var wg sync.WaitGroup
	for i, m := range all {
		wg.Go(func() {
			s := MemberState{Name: m.Name, Role: m.role, URL: m.base.Redacted()}
			status, err := ask(ctx, m)
			s.Status, s.Healthy = status, err == nil && status/100 == 2
			if err != nil {
				s.Error = exchangeError(ctx, m, err, classClosed).err.Error()
			}
			states[i] = s
		})
	}
	wg.Wait()
	return states
}

// members checks the health of every server. A prefill server of Mooncake is healthy only once its bootstrap
// server knows its engines.
func (r *Router) members(ctx context.Context) []MemberState {
	return r.askAll(ctx, func(ctx context.Context, m *member) (int, error) {
		status, err := r.probe(ctx, m, http.MethodGet, "/health", "", nil)
		if err == nil && status/100 == 2 && r.protocol.name == Mooncake && m.role == rolePrefill {
			_, err = r.engines(ctx, m)
		}
		return status, err
	})
}

// probe sends a request to one member and drops the body of its answer.
func (r *Router) probe(ctx context.Context, m *member, method, path, query string, header http.Header) (int, error) {
	to := http.Header{}
	copyHeader(to, header)
	resp, err := r.send(ctx, m, method, path, query, to, nil)
	if err != nil {
		return 0, err
	}
	if _, err := readAll(resp); err != nil && !errors.Is(err, errTooLong) {
		return 0, err
	}
	return resp.StatusCode, nil
}

type memberList struct {
	Healthy bool          `json:"healthy"`
	Members []MemberState `json:"members"`
}

func listed(states []MemberState) memberList {
	l := memberList{Healthy: true, Members: states}
	for _, s := range states {
		l.Healthy = l.Healthy && s.Healthy
	}
	return l
}

// health returns 200 only if every server is healthy.
func (r *Router) health(w http.ResponseWriter, req *http.Request) {
	l := listed(r.members(req.Context()))
	status := http.StatusOK
	if !l.Healthy {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, l)
}

// toAll sends a request without a body to every server; for example, all caches must be reset. If a server
// returns an error, the answer has the status of the first such server, as a single server's answer would.
func (r *Router) toAll(w http.ResponseWriter, req *http.Request) {
	states := r.askAll(req.Context(), func(ctx context.Context, m *member) (int, error) {
		return r.probe(ctx, m, req.Method, req.URL.Path, req.URL.RawQuery, req.Header)
	})
	for _, s := range states {
		switch {
		case s.Healthy:
		case s.Status == 0:
			w.Header().Set(headerFailed, s.Name)
			writeError(w, http.StatusBadGateway, classUnreachable, s.Role+" server "+strconv.Quote(s.Name)+": "+s.Error)
			return
		default:
			w.Header().Set(headerFailed, s.Name)
			writeError(w, s.Status, classStatus, s.Role+" server "+strconv.Quote(s.Name)+" answered "+strconv.Itoa(s.Status)+" "+
				http.StatusText(s.Status))
			return
		}
	}
	writeJSON(w, http.StatusOK, listed(states))
}
