package simulate

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// group is a server of two processes in this test's own process.
type group struct {
	address string
	logs    [2]*syncBuffer
	ends    [2]chan int
	cancel  context.CancelFunc
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// startGroup starts both processes, the follower first: it waits.
func startGroup(t *testing.T, fail ...string) *group {
	t.Helper()
	ports, startup := freePorts(t, 2), 0.01
	meet, port := ports[0], ports[1]
	ctx, cancel := context.WithCancel(t.Context())
	g := &group{address: "127.0.0.1:" + port, cancel: cancel}
	for _, rank := range []int{1, 0} {
		argv := []string{"vllm", "serve", "m", "--nnodes", "2", "--node-rank", strconv.Itoa(rank), "--master-addr", "127.0.0.1",
			"--master-port", meet, "--tensor-parallel-size", "2"}
		if rank == 0 {
			argv = append(argv, "--host", "127.0.0.1", "--port", port)
		} else {
			argv = append(argv, "--headless")
		}
		settings := Settings{Version: "0.33.0", StartupSeconds: &startup, Fail: fail}
		env := func(string) string { return "" }
		l, err := Simulator{}.launch(argv, settings, env)
		if err != nil {
			t.Fatal(err)
		}
		g.logs[rank], g.ends[rank] = &syncBuffer{}, make(chan int, 1)
		s := newServer(l, Options{Env: env, Log: g.logs[rank]})
		go func() {
			if rank == 0 {
				g.ends[rank] <- s.run(ctx)
				return
			}
			g.ends[rank] <- follow(ctx, l.part.rendezvous, rank, s.log)
		}()
	}
	t.Cleanup(cancel)
	return g
}

func (g *group) ended(t *testing.T, rank int) int {
	t.Helper()
	select {
	case code := <-g.ends[rank]:
		return code
	// real time: servers behind sockets start and end
	case <-time.After(time.Minute):
		t.Fatalf("node %d does not end:\n%s", rank, g.logs[rank])
		return 0
	}
}

func (g *group) until(t *testing.T, rank int, text string) {
	t.Helper()
	// real time: servers behind sockets start and end
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	// real time: servers behind sockets start and end
	late := time.After(time.Minute)
	for !strings.Contains(g.logs[rank].String(), text) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("node %d never says %q:\n%s", rank, text, g.logs[rank])
		}
	}
}

func TestNodesMeetAndEndTogether(t *testing.T) {
	g := startGroup(t)
	g.until(t, 0, "Application startup complete")
	g.until(t, 0, "node 1 joined from 127.0.0.1")
	g.cancel()
	if head, other := g.ended(t, 0), g.ended(t, 1); head != 0 || other != 0 {
		t.Errorf("told to end, they end with %d and %d\n%s", head, other, g.logs[1])
	}
}

// The node that dies says why; the first notices, says which it was, and ends.
func TestNodesShareTheirFate(t *testing.T) {
	g := startGroup(t, "node_dies=1")
	g.until(t, 0, "Application startup complete")
	conn, err := net.Dial("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	body := `{"model":"m","prompt":"a b c","max_tokens":4}`
	if _, err := conn.Write([]byte("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body)); err != nil {
		t.Fatal(err)
	}
	if head, other := g.ended(t, 0), g.ended(t, 1); head != 1 || other != 1 {
		t.Errorf("they end with %d and %d", head, other)
	}
	if text := g.logs[1].String(); !strings.Contains(text, "illegal memory access") {
		t.Errorf("node 1 says\n%s", text)
	}
	if text := g.logs[0].String(); !strings.Contains(text, "connection to node 1 at 127.0.0.1") ||
		strings.Contains(text, "illegal memory access") {
		t.Errorf("node 0 says\n%s", text)
	}
}

func TestNodePlans(t *testing.T) {
	plan := func(argv []string, nodes int) (nodePlan, error) {
		l, err := Simulator{}.launch(argv, Settings{Version: map[bool]string{true: "0.5.23", false: "0.33.0"}[argv[0] == "python3"],
			Nodes: nodes}, func(string) string { return "" })
		if err != nil {
			return nodePlan{}, err
		}
		return l.part, nil
	}
	vllm := func(more ...string) []string { return append([]string{"vllm", "serve", "m"}, more...) }
	sglang := func(more ...string) []string {
		return append([]string{"python3", "-m", "sglang.launch_server", "--model-path", "m"}, more...)
	}
	for name, tt := range map[string]struct {
		argv  []string
		nodes int
		want  nodePlan
		err   string
	}{
		"one": {argv: vllm(), want: nodePlan{}},
		"vLLM": {argv: vllm("--nnodes", "3", "--node-rank", "2", "--master-addr", "h", "--master-port", "5", "--headless"),
			want: nodePlan{3, 2, "h:5"}},
		"not headless": {argv: vllm("--nnodes", "2", "--node-rank", "1"), err: "--headless"},
		"beyond":       {argv: vllm("--nnodes", "2", "--node-rank", "2", "--headless"), err: "is not below --nnodes"},
		"SGLang":       {argv: sglang("--nnodes", "2", "--node-rank", "1", "--dist-init-addr", "h:5"), want: nodePlan{2, 1, "h:5"}},
		"no meeting":   {argv: sglang("--nnodes", "2"), err: "--dist-init-addr"},
		"Ray's head": {argv: append([]string{"sh", "-c", "ray start --block --node-ip-address=10.0.0.1 --head --port=6379 & exec \"$@\"",
			"sh"}, vllm()...), nodes: 2, want: nodePlan{2, 0, "10.0.0.1:6379"}},
		"another shell": {argv: append([]string{"sh", "-c", "exec \"$@\"", "sh"}, vllm()...), want: nodePlan{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := plan(tt.argv, tt.nodes)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// In virtual time the first process has the whole server's model, and the others nothing
// to do.
func TestNodesInVirtualTime(t *testing.T) {
	argv := []string{"vllm", "serve", "Qwen/Qwen2-7B-Instruct", "--nnodes", "2", "--node-rank", "0", "--master-addr", "h",
		"--tensor-parallel-size", "2", "--max-model-len", "4096"}
	env := func(name string) string {
		return map[string]string{SettingsEnv: `{"version":"0.33.0","profile":"a10"}`, "NCCL_IB_DISABLE": "1"}[name]
	}
	v, err := Simulator{}.StartVirtual(argv, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := v.Node.Config.Span; s.Nodes != 2 || s.TensorParallel != 2 || s.Link != v.Node.Config.Profile.Net.TCP {
		t.Errorf("the model is spread as %+v", s)
	}
	worker := []string{"sh", "-c",
		"until ray health-check --address h:1 >/dev/null 2>&1; do sleep 1; done; exec ray start --block --node-ip-address=w --address=h:1"}
	for _, tt := range []struct {
		argv []string
		want bool
	}{
		{argv, false},
		{[]string{"vllm", "serve", "m", "--nnodes", "2", "--node-rank", "1", "--headless"}, true},
		{worker, true},
		{append([]string{"sh", "-c", "ray start --block --node-ip-address=h --head --port=1 & exec", "sh"}, argv...), false},
		{[]string{"vllm", "serve", "m"}, false},
	} {
		if got := IsService(tt.argv); got != tt.want {
			t.Errorf("%v stands beside another: %t", tt.argv, got)
		}
	}
}
