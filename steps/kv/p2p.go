package kv

import (
	"github.com/servegate/pipeline/steps"
)

// p2pNCCL went with vllm-project/vllm#44854 of June 2026. That it is in 0.23 and not in 0.24
// is inferred from the dates.
var p2pNCCL = Connector{
	Name: "p2p_nccl", Doc: "vLLM's P2pNcclConnector, 0.9.2 until its removal after 0.23.",
	Transports: []string{NCCL, TCP, RDMA, NVLink},
	Forms: []Form{
		{Engine: VLLM, From: "0.9.2", To: "0.23", Class: "P2pNcclConnector", Protocols: []string{"p2p_nccl"}, Announce: PortKV, Buffer: true,
			Library: nccl, Config: p2pConfig,
			Ports: func(m *Member) ([]PortNeed, error) { return one(m.Need(PortKV, 14579, m.Ranks(), 0, "")) },
			Play: Play{Exchange: ByRequestID, Push: true, Resolve: func(p *Part) error {
				p.Transport, p.Devices = ncclChoice(p)
				return nil
			}},
		},
	},
}

// p2pConfig: numbers are texts in this connector's configuration. It gets no proxy_ip:
// then the servers do not announce themselves, and our router, which knows them, needs
// no ear for that.
func p2pConfig(w *Writer) {
	w.Top["kv_port"] = w.Port(PortKV).String()
	w.Top["kv_buffer_size"] = "8e9"
	if w.part.spec.Buffer > 0 {
		w.Top["kv_buffer_size"] = text(w.part.spec.Buffer)
	}
	if w.member.role == steps.RoleProducer {
		w.Top["kv_buffer_size"] = "1e1" // it sends and keeps nothing
	}
	w.Extra["send_type"] = "PUT_ASYNC"
}

// pyNCCL is the first connector, of the V0 engine.
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

// pyncclPort: the producer binds two pipes for each rank, the consumer connects.
func pyncclPort(m *Member) ([]PortNeed, error) {
	if !m.Produces() {
		return nil, nil
	}
	return one(m.Need(PortKV, 14579, 2*m.tensor, 0, ""))
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
