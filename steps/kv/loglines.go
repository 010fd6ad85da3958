package kv

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Shared memory carries what is declared as no transport: it only ever contradicts.
const sharedMemory = "shared memory"

// signal is what a line of a server's log says of its transfers.
type signal struct {
	kind signalKind
	// transport that carried data, for carried; that cannot, for excluded.
	transport string
	devices   []string
	// count of what happened: transfers, tokens; 1 where the line counts nothing.
	count float64
}

type signalKind int

const (
	noSignal   signalKind = iota
	carried               // data goes, or went, over transport
	excluded              // transport is not to be had on this machine
	echo                  // the configuration repeated, no evidence
	moved                 // KV arrived or left
	recomputed            // a decode server computes a prompt that it should have received
	failed                // a transfer failed
)

// matcher recognises a line. All of its words are in the line, in any order; then read,
// where there is one, looks closer.
type matcher struct {
	words []string
	says  signal
	read  func(line string) signal
	// local lines are evidence only of a server with one GPU: else they can be about the
	// traffic between its own GPUs.
	local bool
}

// matchers in the order of trial. Sources: the programs' own at the releases named.
var matchers = []matcher{
	// Mooncake transfer engine 0.3, transfer_engine_impl.cpp, topology.cpp,
	// multi_transport.cpp, tcp_transport.cpp, rdma_context.cpp.
	{words: []string{"installTransport, type=rdma"}, says: signal{kind: carried, transport: RDMA}},
	{words: []string{"installTransport, type=tcp"}, says: signal{kind: carried, transport: TCP}},
	{words: []string{"RDMA device:"}, read: mooncakeDevice},
	{words: []string{"Topology discovery complete. Found 0 HCAs"}, says: signal{kind: excluded, transport: RDMA}},
	{words: []string{"No RDMA devices found"}, says: signal{kind: excluded, transport: RDMA}},
	{words: []string{"MC_FORCE_TCP is set"}, says: signal{kind: carried, transport: TCP}},
	{words: []string{"TcpTransport: listen on port"}, says: signal{kind: carried, transport: TCP}},
	{words: []string{"Using NVLink transport"}, says: signal{kind: carried, transport: NVLink}},
	{words: []string{"Transfer Engine Stats", "Throughput:"}, read: mooncakeStats},
	// vLLM 0.13 to 0.33, mooncake_connector.py: it repeats mooncake_protocol, which the
	// transfer engine ignores.
	{words: []string{"The Mooncake Transfer Engine is using"}, says: signal{kind: echo}},

	// UCX 1.18 with UCX_LOG_LEVEL=info, ucp_ep.c: the lanes of an endpoint. Those of rma
	// carry the blocks; am and tag are control messages.
	{words: []string{"cfg#", "rma"}, read: ucxLanes},

	// NCCL 2.27 with NCCL_DEBUG=INFO, transport/*.cc.
	{words: []string{"NCCL INFO", "via NET/IB"}, says: signal{kind: carried, transport: RDMA}},
	{words: []string{"NCCL INFO", "via NET/Socket"}, says: signal{kind: carried, transport: TCP}},
	{words: []string{"NCCL INFO", "via P2P/"}, says: signal{kind: carried, transport: NVLink}, local: true},
	{words: []string{"NCCL INFO", "via SHM"}, says: signal{kind: carried, transport: sharedMemory}, local: true},
	{words: []string{"NCCL INFO", "NET/IB : No device found"}, says: signal{kind: excluded, transport: RDMA}},

	// vLLM 0.10 to 0.33, kv_connector/v1/metrics.py.
	{words: []string{"KV Transfer metrics:"}, read: transferMetrics},
	// vLLM 0.8.5 to 0.33, example_connector.py and shared_storage_connector.py.
	{words: []string{"Inject KV cache of"}, read: injected},
	// vLLM 0.6.4 to 0.10 with VLLM_LOGGING_LEVEL=DEBUG, simple_connector.py; the store's
	// connector of these releases warns of the second.
	{words: []string{"Successfully received all KVs and hidden states"}, says: signal{kind: moved}},
	{words: []string{"Failed to receive all KVs and hidden states"}, says: signal{kind: recomputed}},
	// vLLM 0.13 to 0.33: the request is served without transfer.
	{words: []string{"will not utilize KVTransfer"}, says: signal{kind: recomputed}},
	{words: []string{"Missing transfer_id in kv_transfer_params"}, says: signal{kind: recomputed}},
	// vLLM 0.9 to 0.33, nixl and mooncake connectors.
	{words: []string{"NIXL transfer failure"}, says: signal{kind: failed}},
	{words: []string{"NIXL compatibility hash mismatch"}, says: signal{kind: failed}},
	{words: []string{"pulling kv_caches for", "failed"}, says: signal{kind: failed}},
	{words: []string{"Timeout waiting for P side ready"}, says: signal{kind: failed}},
	// SGLang 0.5, disaggregation/decode.py, prefill.py and mooncake/conn.py.
	{words: []string{"Failed to get kvcache from prefill instance"}, says: signal{kind: failed}},
	{words: []string{"transfer failed for request rank"}, says: signal{kind: failed}},
	{words: []string{"KVTransferError"}, says: signal{kind: failed}},
}

// maxLine bounds what is looked at of one line; no line that says something is longer.
const maxLine = 4096

// readLine returns what a line says. gpus is how many GPUs the server has, 0 if not known.
func readLine(line string, gpus int) signal {
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	for _, m := range matchers {
		if slices.ContainsFunc(m.words, func(w string) bool { return !strings.Contains(line, w) }) {
			continue
		}
		if m.local && gpus > 1 {
			return signal{}
		}
		s := m.says
		if m.read != nil {
			s = m.read(line)
		}
		if m.read == nil && s.count == 0 {
			s.count = 1
		}
		return s
	}
	return signal{}
}

// after is the word behind a text, up to a separator.
func after(line, text string) string {
	_, rest, ok := strings.Cut(line, text)
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " ")
	if i := strings.IndexAny(rest, " ,;|)"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// figure is the number behind a text, 0 if there is none. Figures of a log are not trusted.
func figure(line, text string) float64 {
	x, err := strconv.ParseFloat(after(line, text), 64)
	if err != nil || !(x >= 0) || x > 1e18 {
		return 0
	}
	return x
}

func mooncakeDevice(line string) signal {
	s := signal{kind: carried, transport: RDMA, count: 1}
	if d := after(line, "RDMA device:"); deviceName.MatchString(d) {
		s.devices = []string{d}
	}
	return s
}

func mooncakeStats(line string) signal {
	if figure(line, "Throughput:") == 0 {
		return signal{}
	}
	n := figure(line, "count=")
	return signal{kind: moved, count: max(n, 1)}
}

func transferMetrics(line string) signal {
	if n := figure(line, "Num successful transfers="); n > 0 {
		return signal{kind: moved, count: n}
	}
	return signal{}
}

func injected(line string) signal {
	if n := figure(line, "Inject KV cache of"); n > 0 {
		return signal{kind: moved, count: n}
	}
	return signal{}
}

var ucxGroup = regexp.MustCompile(`\brma[a-z_]*\(([^)]*)\)`)

// ucxLanes reads "… inter-node cfg#2 rma(rc_mlx5/mlx5_0:1) am(tcp/eth0)".
func ucxLanes(line string) signal {
	if strings.Contains(line, "self cfg#") {
		return signal{} // to itself
	}
	lanes := map[string][]string{}
	for _, group := range ucxGroup.FindAllStringSubmatch(line, -1) {
		for lane := range strings.FieldsSeq(group[1]) {
			name, device, _ := strings.Cut(lane, "/")
			if t := ucxTransport(name); t != "" {
				lanes[t] = append(lanes[t], device)
			}
		}
	}
	// The fastest lane takes the bulk.
	for _, t := range []string{NVLink, RDMA, TCP, sharedMemory} {
		if devices, ok := lanes[t]; ok {
			s := signal{kind: carried, transport: t, count: 1}
			for _, d := range devices {
				if d, _, _ = strings.Cut(d, ":"); t == RDMA && deviceName.MatchString(d) {
					s.devices = append(s.devices, d)
				}
			}
			return s
		}
	}
	return signal{}
}

// ucxTransport is what a UCX transport is made of. Copies between host and GPU of one
// machine (cuda_copy, gdr_copy) are on every path and say nothing.
func ucxTransport(name string) string {
	switch {
	case strings.HasPrefix(name, "rc_"), strings.HasPrefix(name, "dc_"), strings.HasPrefix(name, "ud_"), name == "srd":
		return RDMA
	case strings.HasPrefix(name, "cuda_ipc"):
		return NVLink
	case name == "tcp":
		return TCP
	case slices.Contains([]string{"sysv", "posix", "cma", "knem", "xpmem"}, name):
		return sharedMemory
	}
	return ""
}
