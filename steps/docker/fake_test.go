package docker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

const fakeImage = "sha256:1111"

// fakeDaemon speaks as much of Docker's API as the launcher uses, and records it.
type fakeDaemon struct {
	host string

	mu       sync.Mutex
	requests []string          // METHOD PATH?QUERY
	creates  []json.RawMessage // bodies
	headers  []http.Header     // of pulls
	builds   [][]byte          // contexts
	// images that exist, by name.
	images map[string]bool
	// fail answers requests whose METHOD PATH begins with the key by an error.
	fail map[string]string
	// output of the container; brokenAfter cuts the first answer to logs after so many bytes.
	output      string
	brokenAfter int
	// deaf containers end on SIGKILL only, undead ones never.
	deaf, undead bool
	ended        chan struct{}
	exitCode     int
	oom          bool
	removed      bool
	lists        map[string]string // answers to lists, by path
	// events are the answers to requests for events, line by line; one that is closed breaks off.
	events chan chan string
}

func newFake(t *testing.T) *fakeDaemon {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "d.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeDaemon{host: "unix://" + socket, images: map[string]bool{"engine:v1": true}, fail: map[string]string{},
		ended: make(chan struct{})}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: f}}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return f
}

// launcher for the fake, with short waits.
func (f *fakeDaemon) launcher(t *testing.T, opt Options) *Launcher {
	t.Helper()
	opt.Host = f.host
	if opt.RunID == "" {
		opt.RunID = "r1"
	}
	opt.Poll = time.Millisecond
	l, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	l.random = func() string { return "0a1b2c3d" }
	return l
}

// simple is a process that the fake's image can run.
func simple(t *testing.T) steps.Process {
	t.Helper()
	port, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return steps.Process{
		Name: "server.vllm.sut", Argv: []string{"vllm", "serve", "m"}, Host: "0.0.0.0", Port: port,
		StopSignal: "TERM", StopGrace: time.Hour, Container: &steps.ContainerSpec{Image: "engine:v1"},
	}
}

func (f *fakeDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.URL.RequestURI())
	for prefix, message := range f.fail {
		if strings.HasPrefix(r.Method+" "+r.URL.Path, prefix) {
			f.mu.Unlock()
			answer(w, http.StatusInternalServerError, map[string]string{"message": message})
			return
		}
	}
	f.mu.Unlock()
	switch path := r.URL.Path; {
	case path == "/_ping":
	case path == "/events" && f.events != nil:
		f.serveEvents(w, r)
	case path == "/version":
		answer(w, 200, map[string]string{"ApiVersion": "1.41"})
	case path == "/build":
		f.mu.Lock()
		f.builds = append(f.builds, body)
		f.images[r.URL.Query().Get("t")] = true
		f.mu.Unlock()
		answer(w, 200, map[string]string{"stream": "Step 1/1\n"})
	case f.lists[path] != "":
		fmt.Fprint(w, f.lists[path])
	case strings.HasPrefix(path, "/images/"):
		f.serveImages(w, r)
	case strings.HasPrefix(path, "/containers/"):
		f.serveContainers(w, r, body)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		answer(w, 404, map[string]string{"message": "no " + path})
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (f *fakeDaemon) serveImages(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if q := r.URL.Query(); r.URL.Path == "/images/create" {
		separator := ":"
		if strings.HasPrefix(q.Get("tag"), "sha256:") {
			separator = "@"
		}
		f.images[q.Get("fromImage")+separator+q.Get("tag")] = true
		f.headers = append(f.headers, r.Header)
		answer(w, 200, map[string]string{"status": "Pull complete"})
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/images/"), "/json")
	if !f.images[name] {
		answer(w, 404, map[string]string{"message": "No such image: " + name})
		return
	}
	answer(w, 200, map[string]any{"Id": fakeImage, "RepoDigests": []string{"other@sha256:33", parseReference(name).repository + "@sha256:22"}})
}

func (f *fakeDaemon) serveContainers(w http.ResponseWriter, r *http.Request, body []byte) {
	switch action := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; {
	case r.Method == http.MethodDelete:
		f.mu.Lock()
		f.removed = true
		f.mu.Unlock()
		f.end()
		answer(w, 404, map[string]string{"message": "No such container"})
	case action == "create":
		f.mu.Lock()
		f.creates = append(f.creates, body)
		f.mu.Unlock()
		answer(w, 201, map[string]string{"Id": "c1"})
	case action == "start":
		w.WriteHeader(http.StatusNoContent)
	case action == "kill":
		signal := r.URL.Query().Get("signal")
		if !f.undead && (!f.deaf || signal == "SIGKILL") {
			f.end()
		}
		w.WriteHeader(http.StatusNoContent)
	case action == "wait":
		select {
		case <-f.ended:
			answer(w, 200, map[string]int{"StatusCode": f.exitCode})
		case <-r.Context().Done():
		}
	case action == "logs":
		f.serveLogs(w, r)
	case action == "json":
		answer(w, 200, map[string]any{"Id": "c1", "State": map[string]any{"ExitCode": f.exitCode, "OOMKilled": f.oom},
			"HostConfig": map[string]any{"Memory": 8 << 30}})
	}
}

func (f *fakeDaemon) serveEvents(w http.ResponseWriter, r *http.Request) {
	lines := make(chan string)
	w.(http.Flusher).Flush()
	f.events <- lines
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, line+"\n")
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// serveLogs writes the output in frames of one byte, on both streams in turn.
func (f *fakeDaemon) serveLogs(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	output := f.output
	if f.brokenAfter > 0 {
		output, f.brokenAfter = output[:f.brokenAfter], 0
	}
	broken := len(output) < len(f.output)
	f.mu.Unlock()
	for i := range len(output) {
		var head [8]byte
		head[0] = byte(1 + i%2)
		binary.BigEndian.PutUint32(head[4:], 1)
		w.Write(append(head[:], output[i]))
	}
	w.(http.Flusher).Flush()
	if broken {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Query().Get("follow") == "1" {
		select {
		case <-f.ended:
		case <-r.Context().Done():
		}
	}
}

func (f *fakeDaemon) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ended:
	default:
		close(f.ended)
	}
}

// seen returns the recorded requests that contain a text.
func (f *fakeDaemon) seen(text string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, r := range f.requests {
		if strings.Contains(r, text) {
			out = append(out, r)
		}
	}
	return out
}
