package kv

import (
	"github.com/servegate/pipeline/steps"
)

// p2pNCCL was removed by vllm-project/vllm#44854 of June 2026. That 0.23 still has it and 0.24 does not is
// inferred from the dates.
var p2pNCCL = Connector{
	Name: "p2p_nccl", Doc: "vLLM's P2pNcclConnector, 0.9.2 until its removal after 0.23.",
	Transports: []string{NCCL, TCP, RDMA, NVLink},
	Forms: []Form{
		{Engine: VLLM, From: "0.9.2", To: "0.23", Class: "P2pNcclConnector", Protocols: []string{"p2p_nccl"}, Announce: PortKV, Buffer: true,
			Library: nccl, Config: p2pConfig,
			Ports: func(m *Member) ([]PortNeed, error) { return one(m.Need(PortKV, m.Ranks(), 0, "")) },
			Play: Play{Exchange: ByRequestID, Push: true, Resolve: func(p *Part) error {
				p.Transport, p.Devices = ncclChoice(p)
				return nil
			}},
		},
	},
}

// p2pConfig writes the configuration. This connector wants numbers as strings. Without proxy_ip, servers do not
// announce themselves; our router already knows them.
func p2pConfig(w *Writer) {
	w.Top["kv_port"] = w.Port(PortKV).String()
	w.Top["kv_buffer_size"] = "8e9"
	if w.part.spec.Buffer > 0 {
		w.Top["kv_buffer_size"] = text(w.part.spec.Buffer)
	}
	if w.member.role == steps.RoleProducer {
		w.Top["kv_buffer_size"] = "1e1" // a producer stores nothing
	}
	w.Extra["send_type"] = "PUT_ASYNC"
}

// pyNCCL is the first connector, for the V0 engine.
var pyNCCL = Connector{
	Name: "pynccl", Doc: "vLLM's PyNcclConnector of the V0 engine (0.6.4 to 0.10), one prefill and one decode server.",
	Transports: []string{NCCL, TCP, RDMA, NVLink},
	Forms: []Form{
		{Engine: VLLM, From: "0.6.4", To: "0.10", Class: "PyNcclConnector", Protocols: []string{"v0"}, Buffer: true, Pair: true, Library: nccl,
			Ports: pyncclPort, Config: pyncclConfig, Play: Play{
				Exchange: LookupBuffer, Resolve: resolvePyNCCL,
			}},
	},
}

// pyncclPort plans the producer's ports: two pipes per rank. The consumer connects.
func pyncclPort(m *Member) ([]PortNeed, error) {
	if !m.Produces() {
		return nil, nil
	}
	return one(m.Need(PortKV, 2*m.tensor, 0, ""))
}

func pyncclConfig(w *Writer) {
	v0Ranks(w, 5e9)
	producer := w.peer(steps.RoleProducer).Name
	w.Top["kv_ip"] = w.in.host(producer)
	w.Top["kv_port"] = value(w.in.at(producer, PortKV))
}

func resolvePyNCCL(p *Part) error {
	if err := resolveV0(p); err != nil {
		return err
	}
	p.Transport, p.Devices = ncclChoice(p)
	return nil
}
