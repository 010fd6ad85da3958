// Package dockertest has a Docker daemon for tests.
package dockertest

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

// ImageID identifies every image of the daemon.
const ImageID = "sha256:1111"

// Daemon speaks as much of Docker's API as the launcher uses, and records it.
type Daemon struct {
	Host string

	Mu       sync.Mutex
	Requests []string          // METHOD PATH?QUERY
	Creates  []json.RawMessage // bodies
	Vanished string            // the ID of a container that is listed and not there
	Headers  []http.Header     // of pulls
	Builds   [][]byte          // contexts
	// Images that exist, by name.
	Images map[string]bool
	// Fail answers requests whose METHOD PATH begins with the key by an error.
	Fail map[string]string
	// Output of the container; BrokenAfter cuts the first answer to logs after so many bytes.
	Output      string
	BrokenAfter int
	// Deaf containers end on SIGKILL only, Undead ones never.
	Deaf, Undead bool
	Ended        chan struct{}
	ExitCode     int
	OOM          bool
	Removed      bool
	Lists        map[string]string // answers to lists, by path
	// Events are the answers to requests for events, line by line; one that is closed breaks off.
	Events chan chan string
}

// New starts a daemon, which ends with the test.
func New(t *testing.T) *Daemon {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "d.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	f := &Daemon{Host: "unix://" + socket, Images: map[string]bool{"engine:v1": true}, Fail: map[string]string{},
		Ended: make(chan struct{})}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: f}}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return f
}

// Process returns a process that the daemon's image can run.
func Process(t *testing.T) steps.Process {
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

func (f *Daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.Mu.Lock()
	f.Requests = append(f.Requests, r.Method+" "+r.URL.RequestURI())
	for prefix, message := range f.Fail {
		if strings.HasPrefix(r.Method+" "+r.URL.Path, prefix) {
			f.Mu.Unlock()
			answer(w, http.StatusInternalServerError, map[string]string{"message": message})
			return
		}
	}
	f.Mu.Unlock()
	switch path := r.URL.Path; {
	case path == "/_ping":
	case path == "/events" && f.Events != nil:
		f.serveEvents(w, r)
	case path == "/version":
		answer(w, 200, map[string]string{"ApiVersion": "1.41"})
	case path == "/build":
		f.Mu.Lock()
		f.Builds = append(f.Builds, body)
		f.Images[r.URL.Query().Get("t")] = true
		f.Mu.Unlock()
		answer(w, 200, map[string]string{"stream": "Step 1/1\n"})
	case f.Lists[path] != "":
		fmt.Fprint(w, f.Lists[path])
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
	_ = json.NewEncoder(w).Encode(v) // a client that is gone, here and below
}

func (f *Daemon) serveImages(w http.ResponseWriter, r *http.Request) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if q := r.URL.Query(); r.URL.Path == "/images/create" {
		separator := ":"
		if strings.HasPrefix(q.Get("tag"), "sha256:") {
			separator = "@"
		}
		f.Images[q.Get("fromImage")+separator+q.Get("tag")] = true
		f.Headers = append(f.Headers, r.Header)
		answer(w, 200, map[string]string{"status": "Pull complete"})
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/images/"), "/json")
	if !f.Images[name] {
		answer(w, 404, map[string]string{"message": "No such image: " + name})
		return
	}
	answer(w, 200, map[string]any{"Id": ImageID, "RepoDigests": []string{"other@sha256:33", repository(name) + "@sha256:22"}})
}

// repository returns the name of an image without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if tag := strings.LastIndexByte(image, ':'); tag > strings.LastIndexByte(image, '/') {
		image = image[:tag]
	}
	return image
}

func (f *Daemon) serveContainers(w http.ResponseWriter, r *http.Request, body []byte) {
	switch action := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; {
	case r.Method == http.MethodDelete:
		f.Mu.Lock()
		f.Removed = true
		f.Mu.Unlock()
		f.End()
		answer(w, 404, map[string]string{"message": "No such container"})
	case action == "create":
		f.Mu.Lock()
		f.Creates = append(f.Creates, body)
		f.Mu.Unlock()
		answer(w, 201, map[string]string{"Id": "c1"})
	case action == "start":
		w.WriteHeader(http.StatusNoContent)
	case action == "kill":
		signal := r.URL.Query().Get("signal")
		if !f.Undead && (!f.Deaf || signal == "SIGKILL") {
			f.End()
		}
		w.WriteHeader(http.StatusNoContent)
	case action == "wait":
		select {
		case <-f.Ended:
			answer(w, 200, map[string]int{"StatusCode": f.ExitCode})
		case <-r.Context().Done():
		}
	case action == "logs":
		f.serveLogs(w, r)
	case action == "json" && f.Vanished != "" && strings.HasPrefix(r.URL.Path, "/containers/"+f.Vanished+"/"):
		answer(w, 404, map[string]string{"message": "No such container: " + f.Vanished})
	case action == "json":
		answer(w, 200, map[string]any{"Id": "c1", "State": map[string]any{"ExitCode": f.ExitCode, "OOMKilled": f.OOM},
			"HostConfig": map[string]any{"Memory": 8 << 30}})
	}
}

func (f *Daemon) serveEvents(w http.ResponseWriter, r *http.Request) {
	lines := make(chan string)
	w.(http.Flusher).Flush()
	f.Events <- lines
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, line+"\n")
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// serveLogs writes the output in frames of one byte, on both streams in turn.
func (f *Daemon) serveLogs(w http.ResponseWriter, r *http.Request) {
	f.Mu.Lock()
	output := f.Output
	if f.BrokenAfter > 0 {
		output, f.BrokenAfter = output[:f.BrokenAfter], 0
	}
	broken := len(output) < len(f.Output)
	f.Mu.Unlock()
	for i := range len(output) {
		var head [8]byte
		head[0] = byte(1 + i%2)
		binary.BigEndian.PutUint32(head[4:], 1)
		_, _ = w.Write(append(head[:], output[i]))
	}
	w.(http.Flusher).Flush()
	if broken {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Query().Get("follow") == "1" {
		select {
		case <-f.Ended:
		case <-r.Context().Done():
		}
	}
}

// End ends the container.
func (f *Daemon) End() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	select {
	case <-f.Ended:
	default:
		close(f.Ended)
	}
}

// Seen returns the recorded requests that contain a text.
func (f *Daemon) Seen(text string) []string {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	var out []string
	for _, r := range f.Requests {
		if strings.Contains(r, text) {
			out = append(out, r)
		}
	}
	return out
}
