package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load/mock"
	"github.com/servegate/pipeline/steps/serverblock"
)

// toyAddress is the variable that makes the test binary a server of the toy engine.
const toyAddress = "PIPELINE_TEST_TOY_ADDRESS"

func init() {
	addr := os.Getenv(toyAddress)
	if addr == "" {
		return
	}
	l, err := net.Listen("tcp", addr)
	if err == nil {
		err = mock.New(mock.Schedule{First: time.Millisecond, Gap: time.Millisecond}).Serve(context.Background(), l)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1) //nolint:forbidigo // this process is the toy server
}

// toyEngine is an engine that nothing but this file knows.
type toyEngine struct{ program string }

func (toyEngine) kind() steps.Kind {
	return steps.Kind{Block: "server", Name: "toy", Doc: "A server of the test binary.", Schema: serverblock.Schema()}
}

func (e toyEngine) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	addr := net.JoinHostPort(host, port.String())
	return steps.Process{
		Name: spec.Addr, Argv: []string{e.program}, Env: []steps.EnvVar{{Name: toyAddress, Value: addr}},
		Host: host, Port: port.Number(), StopSignal: "TERM", StopGrace: time.Second,
	}, nil
}

func (toyEngine) Ready(ctx context.Context, ep steps.Endpoint, _ steps.Readiness) (string, bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ep.BaseURL+"/truth", nil)
	if err != nil {
		return "", false, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return "starting", false, err
	}
	return "ready", answer.StatusCode == http.StatusOK, answer.Body.Close()
}

func (toyEngine) Reset(context.Context, steps.Endpoint) error { return steps.ErrNoReset }
func (toyEngine) Describe(context.Context, steps.Endpoint) (map[string]string, error) {
	return map[string]string{"version": "1.2.3-toy"}, nil
}
func (toyEngine) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{} }

func (toyEngine) Classify([]string) (class, evidence string) { return "unknown", "" }
func (toyEngine) Endpoints() []string                        { return []string{"completions"} }

// An engine that is only in the table is decoded, documented, launched and measured.
func TestEngineIsOneRow(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("toy.pipeline.hcl", []byte(`
server "toy" "s" {
  executable = "toy"
  model      = "toy"
}
dataset "random" "d" {
  input_len  = 16
  output_len = 4
}
benchmark "b" {
  target  = server.toy.s
  dataset = dataset.random.d
  load {
    rate     = 100
    requests = 10
  }
  repeat {
    max = 1
  }
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	e := toyEngine{program}
	run := toyRunner(t, func(a *app) { a.servers = append(a.servers, server{e.kind(), e}) })
	run(exitOK, "run", "toy.pipeline.hcl", "--out", "out")
	results, err := os.ReadFile(filepath.Join("out", "results.json"))
	if err != nil || !strings.Contains(string(results), "1.2.3-toy") {
		t.Errorf("the results do not say what was measured: %v", err)
	}
	if got := run(exitOK, "schema", "server", "toy"); !strings.Contains(got, "A server of the test binary.") {
		t.Errorf("schema: %s", got)
	}
}
