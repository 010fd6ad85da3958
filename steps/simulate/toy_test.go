package simulate

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/kv"
)

// toyEngine is an engine that no other file knows: vLLM's flags and defaults under another
// command, with a route and a log of its own.
type toyEngine struct{ vllm }

func (toyEngine) name() string { return "toy" }

func (toyEngine) commandLine(argv []string) ([]string, bool) { return serveCommand(argv, "toy", "toy") }

func (toyEngine) quirks() quirks { return quirks{lists: kv.VLLM} }

func (toyEngine) ready(s *Server, _ time.Duration) { s.log.raw("the toy is ready") }

func (toyEngine) routes(s *Server, mux *http.ServeMux) {
	mux.HandleFunc("GET /toy", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s.launch.model) })
}

// TestToyEngine: an engine is one value. With one row more it is played in virtual time and
// behind a socket.
func TestToyEngine(t *testing.T) {
	p := Simulator{engines: append(engines(), toyEngine{})}
	argv := []string{"toy", "serve", "m", "--max-num-seqs", "3"}
	var log strings.Builder
	v, err := p.StartVirtual(argv, nil, &log)
	if err != nil || v.Node.Config.MaxSeqs != 3 || !strings.Contains(log.String(), "simulated toy") ||
		!strings.Contains(log.String(), "the toy is ready") {
		t.Fatalf("%v\n%s", err, log.String())
	}
	l, err := p.launch(argv, Settings{Engine: "toy"}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(l, Options{Env: func(string) string { return "" }})
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()
	if status, body := fetch(t, ts, http.MethodGet, "/toy", ""); status != http.StatusOK || body != "m" {
		t.Errorf("status %d: %s", status, body)
	}
	if _, err := (Simulator{}).StartVirtual(argv, nil, io.Discard); err == nil {
		t.Error("it is played without its row")
	}
}
