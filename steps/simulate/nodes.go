package simulate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/timer"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// nodePlan is the part of one process in a server on several nodes.
type nodePlan struct {
	// nodes is the number of nodes, below 2 for a single one.
	nodes int
	// rank of this node, from 0: the first answers.
	rank int
	// rendezvous is the address of the first node, where all join.
	rendezvous string
}

func (p nodePlan) spread() bool { return p.nodes > 1 && p.rendezvous != "" }

// planNodes reads how the server is spread, from the engine's flags or from the script that makes a
// Ray cluster.
func (l *launch) planNodes(argv []string, env func(string) string) error {
	p, stated, err := l.engine.nodes(l)
	if err != nil {
		return err
	}
	if !stated {
		p = nodePlan{nodes: l.settings.Nodes}
		if r, ok := rayOf(argv); ok {
			p.rendezvous = r.address
		}
	}
	if p.nodes > 1 && (p.rank < 0 || p.rank >= p.nodes) {
		return usageError{fmt.Sprintf("argument --node-rank: %d is not below --nnodes, which is %d", p.rank, p.nodes)}
	}
	l.part = p
	l.config.Span = l.span(p, env)
	return nil
}

// span returns how the model's work is spread. Without RDMA devices, or with them turned off,
// collectives use sockets.
func (l *launch) span(p nodePlan, env func(string) string) model.Span {
	if p.nodes < 2 {
		return model.Span{}
	}
	tensor := firstInt(l.args, 1, "--tensor-parallel-size", "--tp-size")
	transport := kv.RDMA
	if n := l.config.Profile.Net; n.HCAs == 0 || env("NCCL_IB_DISABLE") == "1" || strings.EqualFold(env("NCCL_NET"), "socket") {
		transport = kv.TCP
	}
	return model.Span{Nodes: p.nodes, TensorParallel: tensor, Link: transfer.LinkOver(l.config.Profile.Net, transport, 0)}
}

// ray is a node of a Ray cluster.
type ray struct {
	address string
	head    bool
}

// rayOf parses the script that starts a server over Ray: its flags of ray start.
func rayOf(argv []string) (ray, bool) {
	if len(argv) < 3 || argv[0] != "sh" || argv[1] != "-c" || !strings.Contains(argv[2], " start --block ") {
		return ray{}, false
	}
	var r ray
	host, port := "", ""
	for word := range strings.FieldsSeq(argv[2]) {
		word = strings.Trim(word, "'")
		switch name, value, _ := strings.Cut(word, "="); name {
		case "--head":
			r.head = true
		case "--node-ip-address":
			host = value
		case "--port":
			port = value
		case "--address":
			r.address = strings.Trim(value, "'")
		}
	}
	if r.head {
		r.address = net.JoinHostPort(strings.Trim(host, "'"), port)
	}
	return r, r.address != ""
}

// isFollower reports whether a command line starts a process of a server other than its first.
func isFollower(argv []string) bool {
	if r, ok := rayOf(argv); ok {
		return !r.head
	}
	i := slices.Index(argv, "--node-rank")
	return i >= 0 && i+1 < len(argv) && argv[i+1] != "0"
}

// nodes holds the first process's view of the other ones.
type nodes struct {
	plan nodePlan
	log  *logger
	ln   net.Listener
	// lost is closed when a node is gone.
	lost chan struct{}
	once sync.Once

	mu    sync.Mutex
	conns map[int]net.Conn
	over  bool
}

// Messages between the processes.
const (
	wordJoin = "join" // followed by the rank
	wordDie  = "die"
)

// lossSeen is the time until a process notices the loss of another. The other one's last output is
// in its log by then.
const lossSeen = 500 * time.Millisecond

// gather waits for the other nodes of a server.
func (s *Server) gather(ctx context.Context) error {
	p, g := s.launch.part, s.log
	if !p.spread() {
		return nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", p.rendezvous)
	if err != nil {
		g.core("ERROR", "core.py:708",
			"torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. %v", err)
		s.launch.engine.coreFailed(s)
		return errStart
	}
	link := s.launch.config.Span.Link
	g.core("INFO", "parallel_state.py:1325", "world size of %d nodes meets at %s", p.nodes, p.rendezvous)
	g.raw("simulated: collectives between the nodes take %s and %.1f GB/s", link.Latency, link.Bandwidth*float64(max(link.NICs, 1))/1e9)
	s.nodes = &nodes{plan: p, log: g, ln: ln, lost: make(chan struct{}), conns: map[int]net.Conn{}}
	stop := context.AfterFunc(ctx, s.nodes.close)
	defer stop()
	for s.nodes.joined() < p.nodes-1 {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		s.nodes.take(conn)
	}
	return nil
}

func (n *nodes) joined() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}

// take reads the message of a joining node. It disconnects clients that are not a node, such as a
// scanner.
func (n *nodes) take(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	line, err := bufio.NewReader(conn).ReadString('\n')
	rank, bad := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), wordJoin+" "))
	n.mu.Lock()
	defer n.mu.Unlock()
	if rank == 0 { // of a Ray cluster, which numbers nodes in order of arrival
		rank = len(n.conns) + 1
	}
	if err != nil || bad != nil || rank < 1 || rank >= n.plan.nodes || n.conns[rank] != nil || n.over {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	n.conns[rank] = conn
	n.log.core("INFO", "parallel_state.py:1325", "node %d joined from %s", rank, conn.RemoteAddr())
	go n.watch(rank, conn)
}

// watch detects the loss of a node.
func (n *nodes) watch(rank int, conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1)) // nodes send nothing more
	n.mu.Lock()
	over := n.over
	n.mu.Unlock()
	if over {
		return
	}
	n.once.Do(func() {
		time.Sleep(lossSeen)
		n.log.core("ERROR", "multiproc_executor.py:230", "connection to node %d at %s is closed, shutting down executor", rank, conn.RemoteAddr())
		close(n.lost)
	})
}

// watchLoss calls lost when a node is lost.
func (n *nodes) watchLoss(ctx context.Context, lost func()) {
	select {
	case <-n.lost:
		lost()
	case <-ctx.Done():
	}
}

// die makes the last node end in the middle of its work.
func (n *nodes) die() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if conn := n.conns[n.plan.nodes-1]; conn != nil {
		_, _ = fmt.Fprintln(conn, wordDie)
	}
}

// close releases the other nodes.
func (n *nodes) close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
	_ = n.ln.Close()
	for _, conn := range n.conns {
		_ = conn.Close()
	}
}

// follow runs a process other than the first: it waits for the first, joins, and ends on a signal,
// or when the first is gone.
func follow(ctx context.Context, rendezvous string, rank int, log *logger) int {
	log.core("INFO", "parallel_state.py:1325", "node %d joins %s", rank, rendezvous)
	conn, err := dialHead(ctx, rendezvous)
	if err != nil {
		return 0 // stopped while waiting
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "%s %d\n", wordJoin, rank); err != nil && ctx.Err() == nil {
		log.core("ERROR", "core.py:720", "the first node at %s is gone: %v", rendezvous, err)
		return 1
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	switch {
	case ctx.Err() != nil:
		log.core("INFO", "launcher.py:110", "node %d: shutting down", rank)
		return 0
	case err == nil && strings.TrimSpace(line) == wordDie:
		log.core("ERROR", "core.py:720", "torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
		return 1
	}
	if timer.Sleep(ctx, lossSeen) != nil {
		return 0
	}
	log.core("ERROR", "core.py:720", "connection to the first node at %s is closed, shutting down", rendezvous)
	return 1
}

// dialHead retries until the first node listens.
func dialHead(ctx context.Context, rendezvous string) (net.Conn, error) {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", rendezvous)
		if err == nil {
			return conn, nil
		}
		if timer.Sleep(ctx, dialPause) != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// dialPause is the time between two attempts to reach the first node.
const dialPause = 50 * time.Millisecond
