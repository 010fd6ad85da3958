package kv

import (
	"cmp"
	"net"
	"strconv"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// nixl covers vLLM and SGLang. NixlPushConnector's first release, 0.24 (vllm-project/vllm#35264), is inferred
// from the date. Servers that vLLM itself spreads over nodes came with #23691 (0.12); since then the first node
// serves the handshakes of all ranks.
var nixl = Connector{
	Name: "nixl", Doc: "NIXL: vLLM's NixlConnector and SGLang's nixl backend, over UCX.",
	Transports: []string{TCP, RDMA, NVLink},
	Options: []steps.Attr{
		{Name: "mode", Type: cty.String, Enum: enum.Of(pull, push), Doc: "Who moves the blocks: pull, the default, lets the decode server read " +
			"them; push lets the prefill server write them (vLLM 0.24 or later)."},
	},
	Forms: []Form{
		{Engine: VLLM, From: "0.9", Class: "NixlConnector", Protocols: []string{"nixl"}, Nodes: "0.12", Library: ucx, Ports: sideChannel,
			Config: nixlConfig, Play: nixlPlay(false)},
		{Engine: VLLM, From: "0.24", Class: "NixlPushConnector", Push: true, Protocols: []string{"nixl"}, Nodes: "0.24", Library: ucx,
			Ports: sideChannel, Config: nixlConfig, Play: nixlPlay(true)},
		{Engine: VLLM, From: "0.24", Class: "NixlPullConnector", Unlisted: true, Library: ucx, Play: nixlPlay(false)},
		{Engine: SGLang, From: "0.4.6", Class: "nixl", Protocols: []string{"sglang"}, Announce: PortBootstrap, Nodes: "0.4.6", Library: ucx,
			Ports: sglangBootstrap, Play: Play{
				Exchange: ByRoom, Push: true,
				Resolve: func(p *Part) error {
					transport, devices := ucxChoice(p)
					p.Transport = transport
					if len(devices) > 0 {
						p.Devices = devices // UCX's own variable overrides the flag
					}
					return nil
				},
			}},
	},
	// vLLM 0.9 to 0.33, nixl connector.
	Lines: []Line{
		{Words: []string{"NIXL transfer failure"}, Says: Signal{Kind: Failed}},
		{Words: []string{"NIXL compatibility hash mismatch"}, Says: Signal{Kind: Failed}},
	},
}

func sideChannel(m *Member) ([]PortNeed, error) {
	return one(m.Need(PortSideChannel, m.Ranks(), 0, "VLLM_NIXL_SIDE_CHANNEL_PORT"))
}

func nixlConfig(w *Writer) {
	failLoads(w)
	w.SetEnv("VLLM_NIXL_SIDE_CHANNEL_HOST", w.Host())
	w.SetEnv("VLLM_NIXL_SIDE_CHANNEL_PORT", w.Port(PortSideChannel).String())
}

func nixlPlay(push bool) Play {
	return Play{
		Exchange: ByAnswer, Push: push,
		Resolve: func(p *Part) error {
			port, err := p.envPort("VLLM_NIXL_SIDE_CHANNEL_PORT", 5600)
			p.Listen = net.JoinHostPort(cmp.Or(p.Env("VLLM_NIXL_SIDE_CHANNEL_HOST"), "localhost"), strconv.Itoa(port))
			p.Transport, p.Devices = ucxChoice(p)
			return err
		},
		Start: func(_ *Part, log Log) {
			log.Engine("INFO", "nixl_connector.py:58", "NIXL is available")
			log.Engine("INFO", "nixl_connector.py:905", "Initializing NIXL wrapper")
		},
		LoadFailed: Message{"nixl_connector.py:1750", "NIXL transfer failure: request %d: %v"},
		Metrics: []Metric{
			{Name: "vllm:nixl_xfer_time_seconds", Help: "Histogram of transfer duration for NIXL KV Cache transfers.", Of: TransferSeconds},
			{Name: "vllm:nixl_bytes_transferred", Help: "Histogram of bytes transferred per NIXL KV Cache transfers.", Of: TransferSizes},
			{Name: "vllm:nixl_num_failed_transfers_total", Help: "Number of failed NIXL KV Cache transfers.", Of: FailedTransfers},
			{Name: "vllm:nixl_num_kv_expired_reqs_total", Help: "Number of requests that had their KV expire.", Of: ExpiredRequests},
		},
	}
}
