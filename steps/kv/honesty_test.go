package kv_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// connection is a way to hand KV over: an engine's version, its connector, the transport
// that is declared.
type connection struct {
	name string
	spec steps.DeploymentSpec
}

// connections are all connectors that the simulator plays over sockets, over the transports they have.
func connections() []connection {
	over := func(connector, transport string) steps.TransferSpec {
		return steps.TransferSpec{Connector: connector, Transport: transport}
	}
	push := steps.TransferSpec{Connector: "nixl", Transport: kv.NVLink, Options: map[string]any{"mode": "push"}}
	multi := steps.TransferSpec{Connector: "multi", Transport: kv.TCP, Config: map[string]any{"connectors": []any{
		map[string]any{"connector": "nixl"}, map[string]any{"connector": "mooncake_store"},
	}}}
	return []connection{
		{"vLLM 0.33 nixl tcp", deployment("vllm", "0.33.0", "nixl", over("nixl", kv.TCP))},
		{"vLLM 0.33 nixl rdma", deployment("vllm", "0.33.0", "nixl", over("nixl", kv.RDMA))},
		{"vLLM 0.33 nixl push nvlink", deployment("vllm", "0.33.0", "nixl", push)},
		{"vLLM 0.33 mooncake tcp", deployment("vllm", "0.33.0", "mooncake", over("mooncake", kv.TCP))},
		{"vLLM 0.33 mooncake rdma", deployment("vllm", "0.33.0", "mooncake", over("mooncake", kv.RDMA))},
		{"vLLM 0.33 mooncake nvlink", deployment("vllm", "0.33.0", "mooncake", over("mooncake", kv.NVLink))},
		{"vLLM 0.14 mooncake tcp", deployment("vllm", "0.14.0", "nixl", over("mooncake", kv.TCP))},
		{"vLLM 0.33 multi tcp", deployment("vllm", "0.33.0", "nixl", multi, "mooncake_master")},
		{"SGLang mooncake tcp", deployment("sglang", "0.5.23", "sglang", over("mooncake", kv.TCP))},
		{"SGLang nixl rdma", deployment("sglang", "0.5.23", "sglang", over("nixl", kv.RDMA))},
	}
}

// The runs of an honest pair, in as many launches.
const (
	honestLaunches = 2
	honestRuns     = 6 // of a launch: over all connections more than 100
)

// No honest pair is accused, whatever the connector, in more than a hundred runs; every lie
// is caught and named. With -v the table is printed.
func TestHonestyOverManyRuns(t *testing.T) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "\nconnection\tplayed\truns\tproved\tunproven\tcontradicted\twhat was said\n")
	runs := 0
	for _, c := range connections() {
		counted := map[string]int{}
		reason := ""
		for range honestLaunches {
			p := launch(t, c.spec, nil)
			for run := range honestRuns {
				proof, failed := p.run(t, run)
				if proof.Status == kv.Contradicted || failed != "" {
					t.Errorf("%s, honest: %s: %s %s\n  %s", c.name, proof.Status, proof.Reason, failed, strings.Join(proof.Evidence, "\n  "))
				}
				counted[proof.Status]++
				runs++
				reason = proof.Reason
			}
		}
		row(w, c.name, "honest", counted, reason)
	}
	for _, lie := range lies() {
		found := false
		for _, c := range connections() {
			if c.name != lie.on {
				continue
			}
			found = true
			p := launch(t, c.spec, map[string]string{lie.member: lie.fail})
			proof, failed := p.run(t, 0)
			said := proof.Reason
			if failed != "" {
				said = "requests failed: " + failed
			}
			named := strings.Contains(said, lie.said) || lie.or != "" && strings.Contains(said, lie.or)
			if !named || failed == "" && proof.Status != kv.Contradicted {
				t.Errorf("%s, %s: %s: %s\nwant %q\n  %s\nprefill:\n%s\ndecode:\n%s", c.name, lie.fail, proof.Status, said, lie.said,
					strings.Join(proof.Evidence, "\n  "), p.logs["prefill"].tail(), p.logs["decode"].tail())
			}
			row(w, c.name, lie.fail, map[string]int{proof.Status: 1}, said)
		}
		if !found {
			t.Errorf("no connection %q", lie.on)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d honest runs%s", runs, &table)
	if runs < 100 {
		t.Errorf("%d honest runs are too few", runs)
	}
}

// lie is a failure to play and what has to be said of it.
type lie struct {
	on, member, fail, said string
	// or is what may be said instead, "" for nothing: where both servers are asked at once it
	// is open which of them fails first.
	or string
}

func lies() []lie {
	var out []lie
	for _, on := range []string{"vLLM 0.33 nixl rdma", "vLLM 0.33 mooncake rdma", "SGLang nixl rdma"} {
		out = append(out, lie{on: on, member: "decode", fail: "transport_fallback", said: "declared RDMA"})
	}
	for _, on := range []string{"vLLM 0.33 nixl tcp", "vLLM 0.33 mooncake rdma", "SGLang mooncake tcp"} {
		out = append(out, lie{on: on, member: "decode", fail: "recompute", said: "prefilled again by itself"})
	}
	for on, failure := range map[string]string{
		"vLLM 0.33 nixl tcp": "KV load failure", "vLLM 0.33 mooncake rdma": "KV load failure", "SGLang mooncake tcp": "KVTransferError",
	} {
		out = append(out, lie{on: on, member: "decode", fail: "handshake_fail", said: failure},
			lie{on: on, member: "prefill", fail: "peer_dies=2", said: "prefill server", or: failure})
	}
	return out
}

func row(w *tabwriter.Writer, name, played string, counted map[string]int, said string) {
	all := counted[kv.Proved] + counted[kv.Unproven] + counted[kv.Contradicted]
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%.100s\n", name, played, all, counted[kv.Proved], counted[kv.Unproven],
		counted[kv.Contradicted], said)
}

// run sends the requests of one run, with prompts of its own, and judges what they left
// behind. failed is what a request failed with.
func (p *pair) run(t *testing.T, n int) (proof kv.Proof, failed string) {
	t.Helper()
	const requests, words = 4, 600
	from := map[string]int{}
	for name, log := range p.logs {
		from[name] = strings.Count(log.String(), "\n")
	}
	e := kv.Evidence{
		Transfer: *p.spec.Transfer, Engine: p.spec.Members[0].Spec.Engine, Version: p.spec.Members[0].Spec.Version, Simulated: true,
	}
	before := p.counters(t)
	for i := range requests {
		tokens, err := p.try(t, n*requests+i, words)
		if err != "" {
			failed = err
			continue
		}
		e.Requests++
		e.PromptTokens += tokens
	}
	after := p.counters(t)
	for _, m := range p.spec.Members {
		e.Members = append(e.Members, kv.MemberEvidence{
			Name: m.Name, Role: p.layout.Role(m.Name), GPUs: 1, Before: before[m.Name], After: after[m.Name],
			Log: strings.Split(p.logs[m.Name].String(), "\n"), RunFrom: from[m.Name],
		})
	}
	return kv.Prove(e), failed
}

// counters of the members that answer.
func (p *pair) counters(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	out := map[string]map[string]float64{}
	for name, ep := range p.ends {
		if o, err := engines[p.spec.Members[0].Spec.Engine].Capabilities().Observer.Observe(t.Context(), ep); err == nil {
			out[name] = o.Counters
		}
	}
	return out
}

// try sends one request and returns the tokens of its prompt, or how it failed.
func (p *pair) try(t *testing.T, i, words int) (tokens float64, failed string) {
	t.Helper()
	ids := make([]int, words)
	for j := range ids {
		ids[j] = 100 + (i*words+j)%20000
	}
	body, err := json.Marshal(map[string]any{"model": "sut", "prompt": ids, "max_tokens": 4, "ignore_eos": true})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	w := &answer{header: http.Header{}, status: http.StatusOK}
	p.router.ServeHTTP(w, req)
	var out struct {
		Usage struct {
			Prompt float64 `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal(w.body.Bytes(), &out); err != nil || w.status != http.StatusOK || out.Usage.Prompt == 0 {
		return 0, fmt.Sprintf("status %d: %s", w.status, strings.Join(strings.Fields(w.body.String()), " "))
	}
	return out.Usage.Prompt, ""
}
