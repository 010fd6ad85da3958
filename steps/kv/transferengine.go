package kv

import "fmt"

// Mooncake's transfer engine. Sources: the transfer engine of August 2026, which ignores the protocol in its
// configuration; for its log, version 0.3: transfer_engine_impl.cpp, topology.cpp, multi_transport.cpp,
// tcp_transport.cpp and rdma_context.cpp.
var (
	// transferEngine uses what it finds unless forced.
	transferEngine = transferEngineWith(map[string][]setting{
		"":     {{"MC_TE_METRIC", "1"}},
		TCP:    {{"MC_FORCE_TCP", "1"}, {"MC_TCP_ENABLE_CONNECTION_POOL", "1"}}, // without the pool, ports run out in TIME_WAIT
		RDMA:   {{"MC_FORCE_HCA", "1"}},
		NVLink: {{"MC_FORCE_MNNVL", "1"}},
	})
	// transferEngineNamed is the same for engines whose flag forces TCP (SGLang's mooncake_tcp).
	transferEngineNamed = transferEngineWith(map[string][]setting{
		"":     {{"MC_TE_METRIC", "1"}},
		TCP:    {{"MC_TCP_ENABLE_CONNECTION_POOL", "1"}},
		RDMA:   {{"MC_FORCE_HCA", "1"}},
		NVLink: {{"MC_FORCE_MNNVL", "1"}},
	})
	// transferEngineV0 dates from 2024 and takes the protocol from its file. Later builds for these releases
	// know the variable.
	transferEngineV0 = transferEngineWith(map[string][]setting{"": {{"MC_TE_METRIC", "1"}}})
)

var transferEngineLines = []Line{
	{Words: []string{"installTransport, type=rdma"}, Says: Signal{Kind: Carried, Transport: RDMA}},
	{Words: []string{"installTransport, type=tcp"}, Says: Signal{Kind: Carried, Transport: TCP}},
	{Words: []string{"RDMA device:"}, Read: rdmaDevice},
	{Words: []string{"Topology discovery complete. Found 0 HCAs"}, Says: Signal{Kind: Excluded, Transport: RDMA}},
	{Words: []string{"No RDMA devices found"}, Says: Signal{Kind: Excluded, Transport: RDMA}},
	{Words: []string{"MC_FORCE_TCP is set"}, Says: Signal{Kind: Carried, Transport: TCP}},
	{Words: []string{"TcpTransport: listen on port"}, Says: Signal{Kind: Carried, Transport: TCP}},
	{Words: []string{"Using NVLink transport"}, Says: Signal{Kind: Carried, Transport: NVLink}},
	{Words: []string{"Transfer Engine Stats", "Throughput:"}, Read: transferEngineStats},
}

func transferEngineWith(settings map[string][]setting) *Library {
	return &Library{
		settings: settings,
		lines:    transferEngineLines,
		hint:     "Mooncake's start-up lines in the servers' logs, or counters of the network devices, would",
		start:    transferEngineStart,
		stats: func(p *Part, log Log, seconds, throughput float64, transfers int) {
			if p.On("MC_TE_METRIC") {
				glog(log, "transfer_engine_impl.cpp:530",
					"[Metrics] Transfer Engine Stats (over last %.0fs): Throughput: %.2f MB/s | Latency Distribution (count=%d)", seconds,
					throughput, transfers)
			}
		},
	}
}

func rdmaDevice(line string) Signal {
	s := Signal{Kind: Carried, Transport: RDMA, Count: 1}
	if d := after(line, "RDMA device:"); deviceName.MatchString(d) {
		s.Devices = []string{d}
	}
	return s
}

func transferEngineStats(line string) Signal {
	if figure(line, "Throughput:") == 0 {
		return Signal{}
	}
	n := figure(line, "count=")
	return Signal{Kind: Moved, Count: max(n, 1)}
}

// transferEngineChoice returns the transport that it uses: one that a variable forces, else RDMA. The protocol
// in its configuration is an echo.
func transferEngineChoice(p *Part) string {
	switch {
	case p.On("MC_FORCE_TCP"):
		return TCP
	case p.On("MC_FORCE_MNNVL"):
		return NVLink
	}
	return RDMA
}

// glog writes a line of Mooncake's C++ logger, which bypasses the engine's.
func glog(log Log, source, format string, args ...any) {
	log.Raw(fmt.Sprintf("I%s %5d %s] %s", log.Now().Format("20060102 15:04:05.000000"), log.PID(), source, fmt.Sprintf(format, args...)))
}

// transferEngineStart writes what it finds at its start.
func transferEngineStart(p *Part, log Log) {
	devices := p.deviceNames()
	glog(log, "transfer_engine_impl.cpp:44", "Transfer Engine starting. Server: %s, Metadata: P2PHANDSHAKE", p.Host)
	switch {
	case p.Transport == RDMA:
		glog(log, "transfer_engine_impl.cpp:110", "Topology discovery complete. Found %d HCAs.", len(devices))
		glog(log, "multi_transport.cpp:180", "installTransport, type=rdma")
		for _, d := range devices {
			glog(log, "rdma_context.cpp:125", "RDMA device: %s, LID: 0, GID: (GID_Index 3) 00:00:00:00:00:00:00:00:00:00:ff:ff:0a:00:00:01", d)
		}
	case p.Transport == NVLink:
		glog(log, "transfer_engine_impl.cpp:126", "Using NVLink transport (forced or no HCA detected)")
	case p.On("MC_FORCE_TCP"):
		glog(log, "transfer_engine_impl.cpp:118", "MC_FORCE_TCP is set, using TCP transport only")
		glog(log, "tcp_transport.cpp:299", "TcpTransport: listen on port %d", 15428)
	default:
		glog(log, "transfer_engine_impl.cpp:110", "Topology discovery complete. Found 0 HCAs.")
		if p.Claim == RDMA {
			glog(log, "topology.cpp:68", "No RDMA devices found, check your device installation")
		}
		glog(log, "multi_transport.cpp:180", "installTransport, type=tcp")
		glog(log, "tcp_transport.cpp:299", "TcpTransport: listen on port %d", 15428)
	}
}
