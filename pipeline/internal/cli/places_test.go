package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
)

// paper is a place that nothing but this file knows: what a server's command line says stands
// on paper, and a server with answers of its own listens in its stead.
type paper struct {
	place.Base
	mu      sync.Mutex
	started []string
	opened  int
	closed  int
}

func (p *paper) kind() place.Kind {
	return place.Kind{
		Name:  "paper",
		Takes: func(_ place.Options, process place.Process) bool { return process.Spec.Executable[0] == "paper" },
		New:   func(place.Options) (place.Place, error) { return p, nil },
	}
}

func (p *paper) Open(context.Context) error { p.opened++; return nil }

func (p *paper) Close(context.Context) error { p.closed++; return nil }

func (p *paper) Check(t place.Target) (found []error) {
	for _, process := range t.Processes {
		if process.Spec.Node > 0 {
			found = append(found, errors.New("paper has one sheet"))
		}
	}
	return found
}

func (*paper) GPUs(place.Target, place.Process) place.GPUs { return place.GPUs{} }

func (p *paper) Assign(_ place.Target, process place.Process, _ []string) (place.Slot, error) {
	return place.Slot{Spec: process.Spec, Launcher: p}, nil
}

// Capabilities implements steps.Launcher.
func (*paper) Capabilities() steps.LauncherCapabilities { return steps.LauncherCapabilities{} }

// Start implements steps.Launcher.
func (p *paper) Start(_ context.Context, process steps.Process, _ io.Writer) (steps.Server, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(process.Host, strconv.Itoa(process.Port)))
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = append(p.started, strings.Join(process.Argv, " "))
	s := &sheet{Server: http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute}, url: "http://" + l.Addr().String(),
		done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_ = s.Serve(l)
	}()
	return s, nil
}

// answer serves what an OpenAI server must, with four words to every prompt.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		return
	}
	var asked struct{ Stream bool }
	_ = json.NewDecoder(r.Body).Decode(&asked)
	if !asked.Stream {
		fmt.Fprint(w, `{"choices":[{"text":"a b c d"}],"usage":{"completion_tokens":4,"prompt_tokens":64}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for range 4 {
		fmt.Fprint(w, "data: {\"choices\":[{\"text\":\" a\"}]}\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}\n\ndata: "+
		"{\"choices\":[],\"usage\":{\"completion_tokens\":4,\"prompt_tokens\":64}}\n\ndata: [DONE]\n\n")
}

type sheet struct {
	http.Server
	url  string
	done chan struct{}
}

func (s *sheet) BaseURL() string                      { return s.url }
func (s *sheet) Done() <-chan struct{}                { return s.done }
func (s *sheet) ExitState() string                    { return "put away" }
func (s *sheet) Stop(context.Context) error           { return s.Close() }
func (*sheet) Capabilities() steps.ServerCapabilities { return steps.ServerCapabilities{} }

// A place that is only in the table is planned, checked, opened, measured in and closed.
func TestPlaceIsOneRow(t *testing.T) {
	t.Chdir(t.TempDir())
	file, _, _ := strings.Cut(toyPipeline, `baseline "paired"`)
	file = file[:strings.Index(file, `server "vllm"`)] + `
server "openai" "sut" {
  for_each   = { base = "1", head = "2" }
  executable = ["paper", each.value]
  model      = "m"
}
` + strings.ReplaceAll(file[strings.Index(file, `dataset "random"`):], "server.vllm.", "server.openai.")
	if err := os.WriteFile("toy.pipeline.hcl", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &paper{}
	run := toyRunner(t, func(a *app) { a.places = append([]place.Kind{p.kind()}, a.places...) })
	run(exitOK, "plan", "toy.pipeline.hcl")
	run(exitOK, "run", "--repeat", "1", "--out", "out", "toy.pipeline.hcl")
	// A run that a busy machine voids is measured again.
	if len(p.started) < 2 || !strings.HasPrefix(p.started[0], "paper 1 --host 127.0.0.1 --port ") {
		t.Errorf("started %q", p.started)
	}
	if p.opened != 1 || p.closed == 0 {
		t.Errorf("opened %d times and closed %d times", p.opened, p.closed)
	}
	if err := os.WriteFile("toy.pipeline.hcl", []byte(strings.Replace(file, `model      = "m"`, "model = \"m\"\n node = 1", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if said := run(exitUsage, "validate", "toy.pipeline.hcl"); !strings.Contains(said, "Paper has one sheet.") {
		t.Errorf("validate says %s", said)
	}
}
