package kv_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/router"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/vllm"
)

// The whole way: a layout's processes are played by the simulator behind our router, and
// what they leave behind is judged. Honest pairs are never accused, lies always.
func TestSimulatedPairs(t *testing.T) {
	transport := func(connector, transport string) steps.TransferSpec {
		return steps.TransferSpec{Connector: connector, Transport: transport}
	}
	for _, tt := range []struct {
		name     string
		spec     steps.DeploymentSpec
		fail     string // of the decode server
		want     string
		inReason string
	}{
		{name: "nixl tcp", spec: deployment("vllm", "0.33.0", "nixl", transport("nixl", kv.TCP)), want: kv.Proved},
		{name: "nixl rdma", spec: deployment("vllm", "", "nixl", transport("nixl", kv.RDMA)), want: kv.Proved},
		{name: "mooncake rdma", spec: deployment("vllm", "0.33.0", "mooncake", transport("mooncake", kv.RDMA)), want: kv.Proved},
		{name: "mooncake tcp", spec: deployment("vllm", "0.33.0", "mooncake", transport("mooncake", kv.TCP)), want: kv.Proved},
		{name: "sglang tcp", spec: deployment("sglang", "", "sglang", transport("mooncake", kv.TCP)), want: kv.Proved},
		{name: "nixl push nvlink", spec: deployment("vllm", "0.33.0", "nixl", steps.TransferSpec{Connector: "nixl", Transport: kv.NVLink,
			Options: map[string]any{"mode": "push"}}), want: kv.Proved},
		{name: "mooncake nvlink", spec: deployment("vllm", "0.33.0", "mooncake", transport("mooncake", kv.NVLink)), want: kv.Proved},
		{name: "mooncake two-phase", spec: deployment("vllm", "0.14.0", "nixl", transport("mooncake", kv.TCP)), want: kv.Proved},
		{name: "multi", spec: deployment("vllm", "0.33.0", "nixl", steps.TransferSpec{Connector: "multi", Transport: kv.TCP,
			Config: map[string]any{"connectors": []any{map[string]any{"connector": "nixl"}, map[string]any{"connector": "mooncake_store"}}}},
			"mooncake_master"), want: kv.Proved},
		{name: "sglang nixl", spec: deployment("sglang", "0.5.23", "sglang", transport("nixl", kv.RDMA)), want: kv.Proved},

		{name: "mooncake fallback", fail: "transport_fallback", spec: deployment("vllm", "0.33.0", "mooncake", transport("mooncake", kv.RDMA)),
			want: kv.Contradicted, inReason: "declared RDMA"},
		{name: "nixl fallback", fail: "transport_fallback", spec: deployment("vllm", "0.33.0", "nixl", transport("nixl", kv.RDMA)),
			want: kv.Contradicted, inReason: "declared RDMA"},
		{name: "mooncake recompute", fail: "recompute", spec: deployment("vllm", "0.33.0", "mooncake", transport("mooncake", kv.RDMA)),
			want: kv.Contradicted, inReason: "prefilled again by itself"},
		{name: "nixl recompute", fail: "recompute", spec: deployment("vllm", "0.33.0", "nixl", transport("nixl", "")), want: kv.Contradicted,
			inReason: "prefilled again by itself"},
		{name: "sglang recompute", fail: "recompute", spec: deployment("sglang", "", "sglang", transport("mooncake", kv.TCP)),
			want: kv.Contradicted, inReason: "prefilled again by itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := launch(t, tt.spec, map[string]string{"decode": tt.fail}).prove(t)
			t.Logf("%s: %s", p.Status, p.Reason)
			if p.Status != tt.want || !strings.Contains(p.Reason, tt.inReason) {
				t.Errorf("%s: %s\nwant %s, %q\nevidence:\n  %s", p.Status, p.Reason, tt.want, tt.inReason, strings.Join(p.Evidence, "\n  "))
			}
		})
	}
}

func deployment(engine, version, protocol string, t steps.TransferSpec, services ...string) steps.DeploymentSpec {
	d := steps.DeploymentSpec{
		Addr: "deployment.d", Transfer: &t,
		Router: &steps.RouterSpec{Protocol: protocol, Prefill: []string{"prefill"}, Decode: []string{"decode"}},
	}
	for _, name := range []string{"prefill", "decode"} {
		d.Members = append(d.Members, steps.Member{Name: name, Spec: steps.ServerSpec{
			Addr: "deployment.d.server." + name, Engine: engine, Version: version, Model: "org/m", ServedName: "sut",
		}})
	}
	for _, kind := range services {
		d.Services = append(d.Services, steps.ServiceSpec{Name: kind, Kind: kind})
	}
	return d
}

// pair is a deployment that runs inside the test.
type pair struct {
	connectors kv.Table
	spec       steps.DeploymentSpec
	layout     *kv.Layout
	router     *router.Router
	logs       map[string]*buffer
	ends       map[string]steps.Endpoint
}

var engines = map[string]steps.Engine{"vllm": vllm.New(), "sglang": sglang.New()}

// launch starts a deployment in the layout's order. fail are failures to play, by member.
func launch(t *testing.T, spec steps.DeploymentSpec, fail map[string]string) *pair {
	t.Helper()
	return launchOf(t, kv.Connectors(), spec, fail)
}

// launchOf does the same with other connectors.
func launchOf(t *testing.T, connectors kv.Table, spec steps.DeploymentSpec, fail map[string]string) *pair {
	t.Helper()
	layout, err := connectors.NewLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	ports, release := take(t, layout)
	rendered, err := layout.Render(kv.Assigned{Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	release()
	p := &pair{connectors: connectors, spec: spec, layout: layout, logs: map[string]*buffer{}, ends: map[string]steps.Endpoint{}}
	for _, wave := range layout.Order() {
		for _, name := range wave {
			p.start(t, name, rendered, ports, fail[name])
		}
		for _, name := range wave {
			p.await(t, name, rendered, ports)
		}
	}
	return p
}

// take reserves ports of the loopback address by listening on them: below those that the tests of other packages take at
// the same time, and from another one on than most other runs of these tests.
func take(t *testing.T, layout *kv.Layout) (ports map[kv.Port]int, release func()) {
	t.Helper()
	var held []net.Listener
	ports, err := assign(layout.Ports(), 4000+os.Getpid()%32*200, 11999, func(port int) bool {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			held = append(held, l)
		}
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ports, func() {
		for _, l := range held {
			l.Close()
		}
	}
}

func (p *pair) start(t *testing.T, name string, r *kv.Rendered, ports map[kv.Port]int, fail string) {
	t.Helper()
	if i := slices.IndexFunc(r.Services, func(s kv.Service) bool { return s.Name == name }); i >= 0 {
		p.play(t, name, slices.Concat(r.Services[i].Program, r.Services[i].Args), nil)
		return
	}
	i := slices.IndexFunc(p.spec.Members, func(m steps.Member) bool { return m.Name == name })
	if i < 0 {
		p.route(t, *r.Router)
		return
	}
	member, extra := p.spec.Members[i].Spec, r.Members[name]
	process, err := engines[member.Engine].Render(extra.Apply(member), "127.0.0.1",
		steps.PortNumber(ports[kv.Port{Process: name, Purpose: kv.PortHTTP}]))
	if err != nil {
		t.Fatal(err)
	}
	settings := simulate.Settings{Version: member.Version, TimeScale: 20}
	if fail != "" {
		settings.Fail = []string{fail}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{simulate.SettingsEnv: string(text)}
	for _, v := range process.Env {
		env[v.Name] = v.Value
	}
	for _, f := range extra.Files {
		env[f.EnvVar] = filepath.Join(t.TempDir(), f.Name)
		if err := os.WriteFile(env[f.EnvVar], f.Content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.ends[name] = steps.Endpoint{BaseURL: fmt.Sprintf("http://127.0.0.1:%d", process.Port), Model: "sut"}
	p.play(t, name, process.Argv, env)
}

// play runs a process of the simulator until the test ends.
func (p *pair) play(t *testing.T, name string, argv []string, env map[string]string) {
	t.Helper()
	log, done := &buffer{}, make(chan struct{})
	p.logs[name] = log
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		simulate.Simulator{Connectors: p.connectors}.Main(ctx, argv, func(name string) string { return env[name] }, log, log)
	}()
	t.Cleanup(func() { stop(); <-done })
}

func (p *pair) route(t *testing.T, r kv.Router) {
	t.Helper()
	backends := func(list []kv.Backend) (out []router.Backend) {
		for _, b := range list {
			words := b.URL + ",name=" + b.Name
			if b.Bootstrap != "" {
				words += ",bootstrap=" + b.Bootstrap
			}
			if b.KV != "" {
				words += ",kv=" + b.KV
			}
			parsed, err := router.ParseBackend(words)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, parsed)
		}
		return out
	}
	made, err := router.New(router.Config{
		Protocol: r.Protocol, Prefill: backends(r.Prefill), Decode: backends(r.Decode), AllowRecompute: r.NoParams, Simulated: true,
		Log: func(line string) { t.Log("router: " + line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	p.router = made
}

// await waits until a process is ready.
func (p *pair) await(t *testing.T, name string, r *kv.Rendered, ports map[kv.Port]int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// real time: a server behind a socket starts
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var err error
		if ep, ok := p.ends[name]; ok {
			// A half of a pair serves no request of its own.
			_, _, err = engines[p.spec.Members[0].Spec.Engine].Ready(ctx, ep, steps.Readiness{NoCanary: true})
		} else if i := slices.IndexFunc(r.Services, func(s kv.Service) bool { return s.Name == name }); i >= 0 {
			err = answers(ctx, ports[r.Services[i].ReadyPort], r.Services[i].ReadyPath)
		}
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v\n%s", name, err, p.logs[name].tail())
		}
	}
}

// answers looks at a service as a launcher does.
func answers(ctx context.Context, port int, path string) error {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if path == "" {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			c.Close()
		}
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

// prove sends a few requests through the router and judges what is left behind.
func (p *pair) prove(t *testing.T) kv.Proof {
	t.Helper()
	const requests, words = 4, 600
	before := p.observe(t)
	tokens := 0.0
	for i := range requests {
		tokens += p.complete(t, i, words)
	}
	after := p.observe(t)
	e := kv.Evidence{
		Connectors: p.connectors,
		Transfer:   *p.spec.Transfer, Engine: p.spec.Members[0].Spec.Engine, Version: p.spec.Members[0].Spec.Version,
		Requests: requests, PromptTokens: tokens, Simulated: true,
	}
	for _, m := range p.spec.Members {
		e.Members = append(e.Members, kv.MemberEvidence{
			Name: m.Name, Role: p.layout.Role(m.Name), GPUs: 1,
			Before: before[m.Name], After: after[m.Name], Log: strings.Split(p.logs[m.Name].String(), "\n"),
		})
	}
	return kv.Prove(e)
}

// complete sends one request and returns the tokens of its prompt.
func (p *pair) complete(t *testing.T, i, words int) float64 {
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
		t.Fatalf("status %d: %s\nprefill:\n%s\ndecode:\n%s", w.status, w.body.String(), p.logs["prefill"].tail(), p.logs["decode"].tail())
	}
	return out.Usage.Prompt
}

func (p *pair) observe(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	out := map[string]map[string]float64{}
	for name, ep := range p.ends {
		o, err := engines[p.spec.Members[0].Spec.Engine].Capabilities().Observer.Observe(t.Context(), ep)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = o.Counters
	}
	return out
}

// answer is a response in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
func (a *answer) Flush()                      {}

// buffer can be written and read at once.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// tail is the end of a log, for messages.
func (b *buffer) tail() string {
	text := b.String()
	return text[max(0, len(text)-3000):]
}
