package kv

import "strings"

// fabric is the library below a connector that moves the bytes. It says which variables
// hold it to the declared transport and make it tell what it took.
type fabric int

const (
	noFabric      fabric = iota
	ucx                  // NIXL's default backend
	mooncake             // Mooncake's transfer engine; takes what it finds unless forced
	mooncakeNamed        // the same, where the engine's flag forces TCP (SGLang's mooncake_tcp)
	mooncakeV0           // the same of 2024, which takes the protocol from its file
	nccl
)

// setting is a variable that a transport wants.
type setting struct{ name, value string }

// settings by fabric and transport. "" holds for all transports.
//
// A transport is forced by leaving the others out, so that a device that is missing
// fails loudly. Sources: UCX 1.18 (ucx_info -f), NCCL 2.27's user guide, Mooncake's
// transfer engine of August 2026, which ignores the protocol in its configuration.
var settings = map[fabric]map[string][]setting{
	ucx: {
		"":     {{"UCX_LOG_LEVEL", "info"}},                  // prints the lanes of each connection
		TCP:    {{"UCX_TLS", "tcp,cuda_copy,self"}},          // no sm: it would replace TCP on one machine
		RDMA:   {{"UCX_TLS", "rc,cuda_copy,self"}},           // no cuda_ipc for the same reason
		NVLink: {{"UCX_TLS", "cuda_ipc,cuda_copy,tcp,self"}}, // TCP for control messages
	},
	mooncake: {
		"":     {{"MC_TE_METRIC", "1"}},
		TCP:    {{"MC_FORCE_TCP", "1"}, {"MC_TCP_ENABLE_CONNECTION_POOL", "1"}}, // without the pool ports run out in TIME_WAIT
		RDMA:   {{"MC_FORCE_HCA", "1"}},
		NVLink: {{"MC_FORCE_MNNVL", "1"}},
	},
	mooncakeNamed: {
		"":     {{"MC_TE_METRIC", "1"}},
		TCP:    {{"MC_TCP_ENABLE_CONNECTION_POOL", "1"}},
		RDMA:   {{"MC_FORCE_HCA", "1"}},
		NVLink: {{"MC_FORCE_MNNVL", "1"}},
	},
	mooncakeV0: {"": {{"MC_TE_METRIC", "1"}}}, // later builds for these releases know it
	nccl: {
		"":     {{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT,NET"}},
		TCP:    {{"NCCL_IB_DISABLE", "1"}},
		NVLink: {{"NCCL_P2P_LEVEL", "NVL"}},
	},
}

func (f fabric) write(w *writer) {
	t := w.p.spec.Transport
	for _, s := range settings[f][""] {
		w.setenv(s.name, s.value)
	}
	if t != "" {
		for _, s := range settings[f][t] {
			w.setenv(s.name, s.value)
		}
	}
	switch f {
	case ucx:
		ucxDevices(w)
	case nccl:
		ncclNetwork(w)
	}
}

// ucxDevices names network devices as UCX does: RDMA devices with their port.
func ucxDevices(w *writer) {
	if len(w.p.spec.Devices) == 0 || w.p.spec.Transport == NVLink {
		return
	}
	names := make([]string, len(w.p.spec.Devices))
	for i, d := range w.p.spec.Devices {
		if w.p.spec.Transport != TCP && !strings.Contains(d, ":") {
			d += ":1"
		}
		names[i] = d
	}
	w.setenv("UCX_NET_DEVICES", strings.Join(names, ","))
}

// ncclNetwork keeps NCCL off NVLink and shared memory where a network is declared. The
// variables hold for all of a process, so a server of several GPUs, whose own traffic
// they would move as well, is left alone; the proof then says what was taken.
func ncclNetwork(w *writer) {
	t := w.p.spec.Transport
	if (t == TCP || t == RDMA) && w.m.tensor*w.m.replicas == 1 {
		w.setenv("NCCL_P2P_DISABLE", "1")
		w.setenv("NCCL_SHM_DISABLE", "1")
	}
	switch {
	case w.devices() == "":
	case t == TCP:
		w.setenv("NCCL_SOCKET_IFNAME", w.devices())
	case t != NVLink:
		w.setenv("NCCL_IB_HCA", w.devices())
	}
}
