package kv

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"strconv"

	"github.com/servegate/pipeline/steps"
)

// mooncake sends straight from the prefill server to the decode server. MooncakeConnector returned for the V1
// engine with vllm-project/vllm#24718 (0.13). It used NIXL's protocol until #31034 (0.16) added the bootstrap
// server. SGLang's mooncake_tcp is sgl-project/sglang#26346. It sets MC_FORCE_TCP=1 and passes no device, which
// distinguishes it from earlier releases.
var mooncake = Connector{
	Name: "mooncake", Doc: "Mooncake transfer engine, from the prefill server straight to the decode server. vLLM's of 0.6.4 to 0.8 needs " +
		"service etcd or metadata.",
	Transports: []string{TCP, RDMA, NVLink},
	Forms: []Form{
		{Engine: VLLM, From: "0.6.4", To: "0.8", Class: "MooncakeConnector", Protocols: []string{"v0"}, Services: []string{"etcd", "metadata"},
			Buffer: true, Pair: true, Library: transferEngineV0, Ports: pipePort, Config: mooncakeV0Config, Play: Play{
				Exchange: LookupBuffer, Resolve: resolveMooncakeV0,
			}},
		{Engine: VLLM, From: "0.13", To: "0.15", Class: "MooncakeConnector", Protocols: []string{"nixl"}, Library: transferEngine,
			Ports: mooncakeSideChannel, Config: mooncakeConfig, Play: Play{
				Exchange: ByAnswer, Push: true, Start: mooncakeStart,
				Resolve: func(p *Part) error {
					port, err := resolveMooncake(p)
					if p.Produces {
						p.Listen = net.JoinHostPort(p.Host, strconv.Itoa(port))
					}
					return err
				},
			}},
		{Engine: VLLM, From: "0.16", Class: "MooncakeConnector", Protocols: []string{"mooncake"}, Announce: PortBootstrap, Nodes: "0.16",
			Library: transferEngine, Ports: mooncakeBootstrap, Config: mooncakeConfig, Play: Play{
				Exchange: ByTransferID, Push: true, Start: mooncakeStart,
				Resolve: func(p *Part) error {
					port, err := resolveMooncake(p)
					if p.Produces {
						p.Bootstrap, p.Listen = net.JoinHostPort(p.Host, strconv.Itoa(port)), net.JoinHostPort(p.Host, "0")
					}
					return err
				},
				Metrics: []Metric{
					{Name: "vllm:mooncake_xfer_time_seconds", Help: "Histogram of transfer duration for Mooncake KV Cache transfers.",
						Of: TransferSeconds, Role: steps.RoleProducer},
					{Name: "vllm:mooncake_bytes_transferred", Help: "Histogram of bytes transferred per Mooncake KV Cache transfer.", Of: TransferSizes,
						Role: steps.RoleProducer},
					{Name: "vllm:mooncake_num_failed_transfers_total", Help: "Number of failed Mooncake KV Cache transfers.", Of: FailedSends,
						Role: steps.RoleProducer},
					{Name: "vllm:mooncake_num_failed_recvs_total", Help: "Number of failed Mooncake KV Cache receives.", Of: FailedLoads,
						Role: steps.RoleConsumer},
				},
			}},
		{Engine: SGLang, From: "0.4.6", To: "0.5.22", Class: "mooncake", Protocols: []string{"sglang"}, Announce: PortBootstrap, Nodes: "0.4.6",
			DeviceFlag: true, Library: transferEngine, Ports: sglangBootstrap, Config: mooncakePool, Play: mooncakeSGLang},
		{Engine: SGLang, From: "0.5.23", Class: "mooncake", ClassTCP: "mooncake_tcp", Protocols: []string{"sglang"}, Announce: PortBootstrap,
			Nodes: "0.5.23", DeviceFlag: true, Library: transferEngineNamed, Ports: sglangBootstrap, Config: mooncakePool, Play: mooncakeSGLang},
		{Engine: SGLang, Class: "mooncake_tcp", Unlisted: true, Library: transferEngineNamed, Play: Play{
			Exchange: ByRoom, Push: true,
			Resolve: func(p *Part) error {
				p.Transport, p.Devices = TCP, nil
				return nil
			},
		}},
	},
	// vLLM 0.13 to 0.33, mooncake_connector.py: it logs mooncake_protocol, which the transfer engine ignores.
	Lines: []Line{
		{Words: []string{"The Mooncake Transfer Engine is using"}, Says: Signal{Kind: Echo}},
		{Words: []string{"pulling kv_caches for", "failed"}, Says: Signal{Kind: Failed}},
		{Words: []string{"Timeout waiting for P side ready"}, Says: Signal{Kind: Failed}},
	},
}

func mooncakeBootstrap(m *Member) ([]PortNeed, error) {
	if !m.Produces() {
		return nil, nil
	}
	return one(m.Need(PortBootstrap, 1, 0, "VLLM_MOONCAKE_BOOTSTRAP_PORT"))
}

// mooncakeSideChannel plans one port per worker, as releases without a bootstrap server listen.
func mooncakeSideChannel(m *Member) ([]PortNeed, error) {
	if !m.Produces() {
		return nil, nil
	}
	return one(m.Need(PortBootstrap, m.Ranks(), 0, "VLLM_MOONCAKE_BOOTSTRAP_PORT"))
}

func mooncakeConfig(w *Writer) {
	failLoads(w)
	if w.member.Produces() {
		w.SetEnv("VLLM_MOONCAKE_BOOTSTRAP_PORT", w.Port(PortBootstrap).String())
	}
	if d := w.Devices(); d != "" && w.part.spec.Transport != TCP {
		w.Extra["device_name"] = d
	}
}

// resolveMooncake resolves what both protocols of V1 share.
func resolveMooncake(p *Part) (port int, err error) {
	p.Claim, p.Devices = cmp.Or(p.extra("mooncake_protocol"), RDMA), DeviceList(p.extra("device_name"))
	p.Transport = transferEngineChoice(p)
	return p.envPort("VLLM_MOONCAKE_BOOTSTRAP_PORT", 8998)
}

func mooncakeStart(p *Part, log Log) {
	log.Engine("INFO", "mooncake_connector.py:512", "The Mooncake Transfer Engine is using %s as its protocol.", p.Claim)
}

// mooncakePool makes SGLang's memory pool reachable over NVLink.
func mooncakePool(w *Writer) {
	if w.part.spec.Transport == NVLink {
		w.SetEnv("SGLANG_MOONCAKE_CUSTOM_MEM_POOL", "True")
	}
}

var mooncakeSGLang = Play{
	Exchange: ByRoom, Push: true,
	Resolve: func(p *Part) error {
		if p.Transport = transferEngineChoice(p); p.Transport == TCP {
			p.Claim = RDMA
		}
		return nil
	},
}

// mooncakeV0Config writes the configuration of vLLM 0.6.4 to 0.8: one file, the same on both sides.
func mooncakeV0Config(w *Writer) {
	v0Ranks(w, 2e9)
	fields := map[string]any{
		"prefill_url": w.in.address(w.peer(steps.RoleProducer).Name, PortKV),
		"decode_url":  w.in.address(w.peer(steps.RoleConsumer).Name, PortKV),
		"protocol":    v0Protocol(w.part.spec),
		"device_name": v0Devices(w),
	}
	maps.Copy(fields, w.layout.metadataServer(w.in))
	w.mooncakeFile(fields)
}

// pipePort plans the ports of a V0 pipe. Both ends listen on several ports from theirs on, up to 100 further if
// they share a machine.
func pipePort(m *Member) ([]PortNeed, error) { return one(m.Need(PortKV, 1, 200, "")) }

// resolveMooncakeV0 reads that file. Releases of that time honour the protocol in it.
func resolveMooncakeV0(p *Part) error {
	if err := resolveV0(p); err != nil {
		return err
	}
	f, err := p.readMooncakeFile()
	if err != nil {
		return err
	}
	if f.PrefillURL == "" || f.DecodeURL == "" || f.MetadataServer == "" {
		return Refused{"KeyError: mooncake.json needs prefill_url, decode_url and metadata_server"}
	}
	p.Transport, p.Devices = f.Protocol, DeviceList(f.DeviceName)
	if p.Transport != RDMA && p.Transport != TCP {
		return Refused{fmt.Sprintf("ValueError: Unsupported protocol %q in mooncake.json; use rdma or tcp", f.Protocol)}
	}
	return nil
}

// metadataServer returns the mooncake.json fields that tell peers where to find each other.
func (l *Layout) metadataServer(in Assigned) map[string]any {
	if s := l.service("etcd"); s != nil {
		return map[string]any{"metadata_server": in.address(s.spec.Name, PortHTTP), "metadata_backend": "etcd"}
	}
	if s := l.service("metadata"); s != nil {
		return map[string]any{"metadata_server": in.url(s.spec.Name, PortHTTP) + "/metadata"}
	}
	if s := l.service("mooncake_master"); s != nil {
		return map[string]any{"metadata_server": in.url(s.spec.Name, PortMetadata) + "/metadata"}
	}
	return nil
}
