package simulate

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// transportLines writes what connectors and their libraries say of the transport when
// they start: what they are told (an echo) and what they found.
func (g *logger) transportLines(k *kvSide) {
	p := k.plan
	switch {
	case p.family == familyFiles, p.family == familyDummy:
		return
	case p.connector == "PyNcclConnector", p.family == familyP2P:
		g.ncclLines(k)
	case strings.HasPrefix(p.connector, "Nixl"), p.connector == "nixl", strings.HasPrefix(p.connector, "LMCache"):
		g.ucxLines(k)
	default:
		g.mooncakeLines(k)
	}
}

// glog writes a line of Mooncake's C++ logger, which does not pass through the engine's.
func (g *logger) glog(source, format string, args ...any) {
	g.raw("I%s %5d %s] %s", g.now().Format("20060102 15:04:05.000000"), g.pid, source, fmt.Sprintf(format, args...))
}

// mooncakeLines are those of transfer_engine_impl.cpp and topology.cpp.
func (g *logger) mooncakeLines(k *kvSide) {
	p := k.plan
	if p.connector == "MooncakeConnector" && p.family != familyV0 {
		g.core("INFO", "mooncake_connector.py:512", "The Mooncake Transfer Engine is using %s as its protocol.", p.claim)
	}
	devices := p.deviceNames(k.link)
	g.glog("transfer_engine_impl.cpp:44", "Transfer Engine starting. Server: %s, Metadata: %s", g.l.host, orElse(p.metadata, "P2PHANDSHAKE"))
	switch {
	case p.transport == transportRDMA:
		g.glog("transfer_engine_impl.cpp:110", "Topology discovery complete. Found %d HCAs.", len(devices))
		g.glog("multi_transport.cpp:180", "installTransport, type=rdma")
		for _, d := range devices {
			g.glog("rdma_context.cpp:125", "RDMA device: %s, LID: 0, GID: (GID_Index 3) 00:00:00:00:00:00:00:00:00:00:ff:ff:0a:00:00:01", d)
		}
	case p.transport == transportNVLink:
		g.glog("transfer_engine_impl.cpp:126", "Using NVLink transport (forced or no HCA detected)")
	case p.on("MC_FORCE_TCP"):
		g.glog("transfer_engine_impl.cpp:118", "MC_FORCE_TCP is set, using TCP transport only")
		g.glog("tcp_transport.cpp:299", "TcpTransport: listen on port %d", 15428)
	default:
		g.glog("transfer_engine_impl.cpp:110", "Topology discovery complete. Found 0 HCAs.")
		if p.claim == transportRDMA {
			g.glog("topology.cpp:68", "No RDMA devices found, check your device installation")
		}
		g.glog("multi_transport.cpp:180", "installTransport, type=tcp")
		g.glog("tcp_transport.cpp:299", "TcpTransport: listen on port %d", 15428)
	}
}

// ucxLines are what UCX says of the lanes that it made.
func (g *logger) ucxLines(k *kvSide) {
	p := k.plan
	if strings.HasPrefix(p.connector, "Nixl") {
		g.core("INFO", "nixl_connector.py:58", "NIXL is available")
		g.core("INFO", "nixl_connector.py:905", "Initializing NIXL wrapper")
	}
	lane := "tcp/eth0"
	switch p.transport {
	case transportRDMA:
		var lanes []string
		for _, d := range p.deviceNames(k.link) {
			if !strings.Contains(d, ":") {
				d += ":1"
			}
			lanes = append(lanes, "rc_mlx5/"+d)
		}
		lane = strings.Join(lanes, " ")
	case transportNVLink:
		lane = "cuda_ipc/cuda"
	}
	g.raw("[%d.%06d] [sim:%d:0] ucp_context.c:2339 UCX  INFO  ucp_context_0 inter-node cfg#2 rma(%s) am(%s)", g.now().Unix(), g.now().Nanosecond()/1000, g.pid, lane, lane)
}

// ncclLines are those of NCCL_DEBUG=INFO when two ranks connect.
func (g *logger) ncclLines(k *kvSide) {
	p := k.plan
	if !p.on("NCCL_DEBUG") {
		return
	}
	rank, peer := 0, 1
	if p.consumes {
		rank, peer = 1, 0
	}
	prefix := fmt.Sprintf("sim:%d:%d [0] NCCL INFO ", g.pid, g.pid)
	switch p.transport {
	case transportRDMA:
		devices := p.deviceNames(k.link)
		g.raw("%sNET/IB : Using [0]%s:1/RoCE [RO]; OOB eth0:127.0.0.1<0>", prefix, strings.Join(devices, ":1/RoCE [1]"))
		for i := range devices {
			g.raw("%sChannel %02d/0 : %d[0] -> %d[0] [send] via NET/IB/%d/GDRDMA", prefix, i, rank, peer, i)
		}
	case transportNVLink:
		g.raw("%sChannel 00/0 : %d[0] -> %d[1] via P2P/CUMEM", prefix, rank, peer)
	default:
		g.raw("%sNET/Socket : Using [0]eth0:127.0.0.1<0>", prefix)
		g.raw("%sChannel 00/0 : %d[0] -> %d[0] [send] via NET/Socket/0", prefix, rank, peer)
	}
}

// loadFailed writes a failed transfer in the words of the connector.
func (g *logger) loadFailed(k *kvSide, request int, err error) {
	switch {
	case g.l.engine == engineSGLang:
		g.api("ERROR", "", "Decode transfer failed for request rank=0 decode_req.req.rid='%d': KVTransferError: Failed to get kvcache from prefill instance, it might be dead: %v", request, err)
	case strings.HasPrefix(k.plan.connector, "Nixl"):
		g.core("ERROR", "nixl_connector.py:1750", "NIXL transfer failure: request %d: %v", request, err)
	default:
		g.core("ERROR", "mooncake_connector.py:620", "pulling kv_caches for request %d failed: %v", request, err)
	}
}

// received tells, before V1 and at the level of debugging, how a step got its KV.
func (g *logger) received(k *kvSide, all bool) {
	switch {
	case k.plan.env("VLLM_LOGGING_LEVEL") != "DEBUG":
	case all:
		g.core("DEBUG", "simple_connector.py:309", "[rank0]: Successfully received all KVs and hidden states, skip model forwarding.")
	default:
		g.core("DEBUG", "simple_connector.py:301", "[rank0]: Failed to receive all KVs and hidden states, redo model forwarding.")
	}
}

// deviceNames are the configured devices, or those that a machine with as many ports has.
func (p *kvPlan) deviceNames(l model.Link) []string {
	if len(p.devices) > 0 {
		return p.devices
	}
	var names []string
	for i := range max(l.NICs, 1) {
		names = append(names, fmt.Sprintf("mlx5_%d", i))
	}
	return names
}

// receivedV0 is what simple_connector.py says of each prompt before V1: all that there is
// about transfers, and only at debug level.
func (g *logger) receivedV0(k *kvSide, all bool) {
	if !strings.EqualFold(k.plan.env("VLLM_LOGGING_LEVEL"), "DEBUG") {
		return
	}
	if all {
		g.core("DEBUG", "simple_connector.py:309", "[rank0]: Successfully received all KVs and hidden states, skip model forwarding.")
		return
	}
	g.core("DEBUG", "simple_connector.py:303", "[rank0]: Failed to receive all KVs and hidden states, redo model forwarding.")
}

// transferStats writes vLLM's periodic line on transfers, and Mooncake's own.
func (g *logger) transferStats(k *kvSide, seconds float64) {
	window, failed, expired := k.counters.takeWindow()
	if len(window) == 0 || k.launch.legacy && !k.plan.on("MC_TE_METRIC") {
		return
	}
	bytes, took := 0.0, 0.0
	var each []float64
	for _, t := range window {
		bytes, took = bytes+t.bytes, took+t.took.Seconds()
		each = append(each, 1e3*t.took.Seconds())
	}
	n, mb := float64(len(window)), bytes/(1<<20)
	throughput := mb / max(took, 1e-9)
	if !k.launch.legacy && (k.plan.family == familyNIXL || k.plan.family == familyMooncake) {
		g.api("INFO", "metrics.py:100", "KV Transfer metrics: Num successful transfers=%d, Avg xfer time (ms)=%.3f, P90 xfer time (ms)=%.3f, Avg MB per transfer=%.3f, Throughput (MB/s)=%.3f, Num failed transfers=%d, Num KV expired reqs=%d",
			len(window), 1e3*took/n, p90(each), mb/n, throughput, failed, expired)
	}
	if k.plan.on("MC_TE_METRIC") && strings.HasPrefix(k.plan.connector, "Mooncake") {
		g.glog("transfer_engine_impl.cpp:530", "[Metrics] Transfer Engine Stats (over last %.0fs): Throughput: %.2f MB/s | Latency Distribution (count=%d)", seconds, throughput, len(window))
	}
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
