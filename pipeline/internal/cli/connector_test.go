package cli

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/kv"
)

// toyConnector is a connector that nothing but this file knows.
var toyConnector = kv.Connector{
	Name: "toy", Doc: "A toy that hands KV over.", Transports: []string{kv.TCP},
	Forms: []kv.Form{{
		Engine: kv.VLLM, From: "0.20", Class: "ToyConnector", Protocols: []string{"nixl"},
		Ports: func(m *kv.Member) ([]kv.PortNeed, error) {
			n, err := m.Need(kv.PortKV, 1, 0, "TOY_PORT")
			return []kv.PortNeed{n}, err
		},
		Config: func(w *kv.Writer) { w.SetEnv("TOY_PORT", w.Port(kv.PortKV).String()) },
		Play: kv.Play{Exchange: kv.ByAnswer, Push: true, Resolve: func(p *kv.Part) error {
			p.Listen, p.Transport = net.JoinHostPort("127.0.0.1", p.Env("TOY_PORT")), kv.TCP
			return nil
		}},
	}},
}

const toyPair = `
deployment "pair" {
  server "vllm" "prefill" {
    executable = "vllm"
    model      = "m"
    version    = "0.33.0"
  }
  server "vllm" "decode" {
    executable = "vllm"
    model      = "m"
    version    = "0.33.0"
  }
  kv_transfer "toy" {
    transport = "tcp"
  }
  router "nixl" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}
dataset "random" "d" {
  input_len  = 256
  output_len = 4
}
benchmark "b" {
  target  = deployment.pair
  dataset = dataset.random.d
  load {
    rate     = 10
    requests = 20
  }
  repeat {
    max = 1
  }
}
`

// A connector that is only in the table is decoded, documented, planned and carried out by a
// whole run.
func TestConnectorIsOneRow(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("pair.pipeline.hcl", []byte(toyPair), 0o600); err != nil {
		t.Fatal(err)
	}
	run := toyRunner(t, func(a *app) { a.connectors = append(a.connectors, toyConnector) })
	if got := run(exitOK, "plan", "pair.pipeline.hcl"); !strings.Contains(got, "deployment.pair") {
		t.Errorf("the plan:\n%s", got)
	}
	run(exitOK, "run", "pair.pipeline.hcl", "--simulate=virtual", "--out", "out")
	if got := run(exitOK, "schema"); !strings.Contains(got, "A toy that hands KV over.") {
		t.Error("the schema does not list the connector")
	}
	if got := toyRunner(t, func(*app) {})(exitUsage, "run", "pair.pipeline.hcl", "--simulate=virtual", "--out",
		"without"); !strings.Contains(got, "toy") {
		t.Errorf("without its row: %s", got)
	}
}
