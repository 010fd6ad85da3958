package kv_test

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// toy is a connector that no other file knows.
var toy = kv.Connector{
	Name: "toy", Doc: "A toy.", Transports: []string{kv.TCP, kv.RDMA},
	Lines: []kv.Line{{Words: []string{"the toy is wound up over tcp"}, Says: kv.Signal{Kind: kv.Carried, Transport: kv.TCP}}},
	Forms: []kv.Form{{
		Engine: kv.VLLM, From: "0.20", Class: "ToyConnector", Protocols: []string{"nixl"},
		Ports: func(m *kv.Member) ([]kv.PortNeed, error) {
			n, err := m.Need(kv.PortKV, 1, 0, "TOY_PORT")
			return []kv.PortNeed{n}, err
		},
		Config: func(w *kv.Writer) {
			w.SetEnv("TOY_PORT", w.Port(kv.PortKV).String())
			w.Extra["toy_host"] = w.Host()
		},
		Play: kv.Play{
			Exchange: kv.ByAnswer, Push: true,
			Resolve: func(p *kv.Part) error {
				p.Listen, p.Transport = net.JoinHostPort(p.Extra["toy_host"].(string), p.Env("TOY_PORT")), kv.TCP
				return nil
			},
			Start:   func(p *kv.Part, log kv.Log) { log.Raw("the toy is wound up over " + p.Transport) },
			Metrics: []kv.Metric{{Name: "vllm:toy_bytes", Help: "Bytes of the toy.", Of: kv.TransferSizes}},
		},
	}},
}

// TestToyConnector: a connector is one value. With one row more, the language has its block,
// its processes are rendered, the router speaks its protocol, the simulator plays it behind
// sockets and in virtual time, and a run is proved by its log and its counters.
func TestToyConnector(t *testing.T) {
	connectors := append(kv.Connectors(), toy)
	if !slices.ContainsFunc(connectors.Transfers(), func(k steps.Kind) bool { return k.Name == "toy" }) {
		t.Fatal("the language does not know it")
	}
	over := func(transport string) steps.DeploymentSpec {
		return deployment("vllm", "0.33.0", "nixl", steps.TransferSpec{Connector: "toy", Transport: transport})
	}
	p := launchOf(t, connectors, over(kv.TCP), nil)
	if proof := p.prove(t); proof.Status != kv.Proved || !strings.Contains(proof.Reason, "over TCP") {
		t.Errorf("%+v", proof)
	}
	resp, err := http.Get(p.ends["prefill"].BaseURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil ||
		!strings.Contains(string(text), "vllm:toy_bytes_count{engine=\"0\",model_name=\"sut\"} 4.0") {
		t.Errorf("the metrics lack the toy's, %v:\n%s", err, text)
	}
	if proof := launchOf(t, connectors, over(kv.RDMA), nil).prove(t); proof.Status != kv.Contradicted {
		t.Errorf("TCP passes for RDMA: %+v", proof)
	}

	argv := []string{"vllm", "serve", "m", "--kv-transfer-config",
		`{"kv_connector":"ToyConnector","kv_role":"kv_consumer","kv_connector_extra_config":{"toy_host":"127.0.0.1"}}`}
	env := func(name string) string { return map[string]string{"TOY_PORT": "7000"}[name] }
	v, err := simulate.Simulator{Connectors: connectors}.StartVirtual(argv, env, io.Discard)
	if err != nil || v.Node.Transfer.Way != model.Fetched {
		t.Errorf("in virtual time: %+v, %v", v, err)
	}
	if _, err := (simulate.Simulator{}).StartVirtual(argv, env, io.Discard); err == nil {
		t.Error("it is played without its row")
	}
	if _, err := kv.Connectors().NewLayout(over(kv.TCP)); err == nil || !strings.Contains(err.Error(), "unknown kv_transfer toy") {
		t.Errorf("without its row: %v", err)
	}
}
